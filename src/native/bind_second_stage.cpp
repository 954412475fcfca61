// The second stage: vectors of classes that put candidates in order.
#include <algorithm>
#include <memory>

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include "bound.hpp"

namespace dsnc {
namespace {

template <class T>
using Numbers = Array<const T, 1>;

// FeatureRows as Python gives them: dense, or indptr, indices and data of a CSR matrix.
using DenseArray = Array<const float, 2>;
using CsrArrays = std::tuple<AnyArray, Numbers<int32_t>, AnyArray>;
using RowArrays = std::variant<DenseArray, CsrArrays>;

// FeatureRows that were checked, and where they start.
struct GivenRows {
    FeatureRows rows;
    size_t n = 0;
    std::vector<int64_t> starts;
    OrderedRows ordered;
};

void read_dense(const DenseArray& array, size_t n_features, GivenRows& given) {
    require(array.shape(1) == n_features, "rows have not as many features as the vectors");
    given.rows.dense = array.data();
    given.n = array.shape(0);
}

void read_csr(const CsrArrays& arrays, GivenRows& given) {
    const auto& [indptr, indices, data] = arrays;
    const size_t n = indptr.shape(0);
    if (const auto* starts = numbers_of<int32_t>(indptr)) given.starts.assign(starts, starts + n);
    else if (const auto* long_starts = numbers_of<int64_t>(indptr))
        given.starts.assign(long_starts, long_starts + n);
    given.rows.floats = numbers_of<float>(data);
    given.rows.doubles = numbers_of<double>(data);
    if (given.starts.empty() || !(given.rows.floats || given.rows.doubles))
        throw nb::type_error("indptr or data of rows are of another type");
    const int64_t size = int64_t(std::min(indices.shape(0), data.shape(0)));
    require(are_runs(given.starts.data(), n - 1, size_t(size)),
            "indptr does not ascend, or leads outside of the arrays");
    given.rows.starts = given.starts.data();
    given.rows.features = indices.data();
    given.n = n - 1;
    given.rows = given.ordered.of(given.n, given.rows);
}

// Arrays of `dsnc.rerank.ClassVectors` that stay, and what is made of them.
class VectorsOfClasses {
 public:
    VectorsOfClasses(Numbers<int64_t> firsts, Numbers<int64_t> starts, Numbers<uint32_t> features,
                     Numbers<int8_t> weights, Numbers<float> scales, Numbers<float> bias, size_t n_features,
                     bool unit_rows);

    void look(const RowArrays& rows, const Array<int64_t, 2>& classes, const Array<float, 2>& scores,
              float mix, float reach, const Array<int64_t, 1>& inside);
    void margins(const RowArrays& rows, const Array<int64_t, 2>& classes, const Array<float, 2>& out);
    ClassVectors& vectors() { return *vectors_; }

 private:
    void read(const RowArrays& rows, size_t n, GivenRows& given) const;

    Numbers<int64_t> firsts_, starts_;
    Numbers<uint32_t> features_;
    Numbers<int8_t> weights_;
    Numbers<float> scales_, bias_;
    std::unique_ptr<ClassVectors> vectors_;
};

VectorsOfClasses::VectorsOfClasses(Numbers<int64_t> firsts, Numbers<int64_t> starts,
                                   Numbers<uint32_t> features, Numbers<int8_t> weights, Numbers<float> scales,
                                   Numbers<float> bias, size_t n_features, bool unit_rows)
    : firsts_(std::move(firsts)),
      starts_(std::move(starts)),
      features_(std::move(features)),
      weights_(std::move(weights)),
      scales_(std::move(scales)),
      bias_(std::move(bias)) {
    const size_t n = bias_.shape(0), n_firsts = firsts_.shape(0), n_weights = weights_.shape(0);
    require(scales_.has(n) && starts_.has(n + 1) && features_.has(n_weights) &&
                size_t(starts_(n)) == n_weights && (!n_firsts || size_t(firsts_(n_firsts - 1)) == n),
            "arrays of class vectors do not fit each other");
    vectors_ = std::make_unique<ClassVectors>(
        VectorArrays{n_firsts ? firsts_.data() : nullptr, starts_.data(), features_.data(), weights_.data(),
                     scales_.data(), bias_.data(), n_firsts ? n_firsts - 1 : n, n, n_features, unit_rows});
}

void VectorsOfClasses::read(const RowArrays& rows, size_t n, GivenRows& given) const {
    if (const auto* array = std::get_if<DenseArray>(&rows))
        read_dense(*array, vectors_->arrays.n_features, given);
    else read_csr(std::get<CsrArrays>(rows), given);
    require(given.n == n, "there are not as many rows as rows of candidates");
}

Candidates candidates_of(const Array<int64_t, 2>& classes, const Array<float, 2>& scores) {
    require(scores.has(classes.n(), classes.width()), "there are not as many scores as classes");
    return {classes.data(), scores.data(), classes.shape(0), classes.shape(1)};
}

void VectorsOfClasses::look(const RowArrays& rows, const Array<int64_t, 2>& classes,
                            const Array<float, 2>& scores, float mix, float reach,
                            const Array<int64_t, 1>& inside) {
    const Candidates candidates = candidates_of(classes, scores);
    GivenRows given;
    read(rows, candidates.n_rows, given);
    require(inside.has(given.n), "inside has not as many numbers as rows");
    vectors_->look(given.rows, candidates, {mix, reach}, inside.data());
}

void VectorsOfClasses::margins(const RowArrays& rows, const Array<int64_t, 2>& classes,
                               const Array<float, 2>& out) {
    const Candidates candidates = candidates_of(classes, out);
    GivenRows given;
    read(rows, candidates.n_rows, given);
    vectors_->margins(given.rows, candidates);
}

}  // namespace

ClassVectors& vectors_of(nb::handle vectors) { return nb::cast<VectorsOfClasses&>(vectors).vectors(); }

void bind_second_stage(nb::module_& m) {
    using Self = VectorsOfClasses;
    nb::class_<Self>(m, "ClassVectors")
        .def(nb::init<Numbers<int64_t>, Numbers<int64_t>, Numbers<uint32_t>, Numbers<int8_t>, Numbers<float>,
                      Numbers<float>, size_t, bool>())
        .def("look", &Self::look, free_of_gil())
        .def("margins", &Self::margins, free_of_gil());
}

}  // namespace dsnc
