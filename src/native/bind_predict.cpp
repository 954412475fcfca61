// A whole prediction as one call: what rows are, and arrays of answers.
#include <algorithm>
#include <cstring>

#include <nanobind/stl/vector.h>

#include "bound.hpp"
#include "new_arrays.hpp"
#include "predict.hpp"

namespace dsnc {
namespace {

constexpr int64_t worth_a_release = 8;  // of the GIL: rows
constexpr int64_t doubles_at_once = 1024;  // rows

// Of `dsnc.decoders.confidence.Confidence`.
Confidence confidence_of(nb::handle numbers) {
    const auto number = [&](size_t i) { return nb::cast<double>(numbers[i]); };
    const nb::object curve = numbers[8];
    Confidence found{number(0), number(1), number(2), number(3), number(4),
                     number(5), number(6), number(7), {},        {}};
    found.knots = nb::cast<std::vector<double>>(nb::list(curve[0]));
    found.heights = nb::cast<std::vector<double>>(nb::list(curve[1]));
    require(found.knots.size() >= 2 && found.knots.size() == found.heights.size(),
            "a curve needs as many knots as odds: 2 at least");
    return found;
}

void shares(nb::handle confidence, Array<const float, 2> scores, Array<const int64_t, 1> counts,
            Array<const int64_t, 1> others, Array<float, 2> found, Array<float, 1> rest) {
    const size_t n = scores.shape(0), width = scores.shape(1);
    require(counts.has(n) && others.has(n) && found.has(n, width) && rest.has(n),
            "the shapes of scores, counts, others, shares and rest do not fit");
    const Confidence own = confidence_of(confidence);
    for (size_t i = 0; i < n; ++i) {
        const int64_t count = std::min(std::max<int64_t>(counts(i), 1), int64_t(width));
        float* const row = found.data() + i * width;
        rest(i) = own.shares(scores.data() + i * width, count, others(i), row);
        std::fill(row + count, row + width, 0.0f);
    }
}

void surest(nb::handle confidence, Array<const double, 1> odds, Array<const double, 1> lead,
            Array<double, 1> found) {
    require(odds.has(found.n()) && lead.has(found.n()),
            "the shapes of odds, lead and found do not fit each other");
    const Confidence own = confidence_of(confidence);
    for (size_t i = 0; i < found.shape(0); ++i) found(i) = own.top(odds(i), lead(i), false);
}

// The memory of an array, if it is one in C order.
class Buffer {
 public:
    explicit Buffer(nb::handle array, int flags = 0)
        : is_there_(PyObject_GetBuffer(array.ptr(), &view_, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | flags) == 0) {
        if (!is_there_) PyErr_Clear();
    }
    ~Buffer() {
        if (is_there_) PyBuffer_Release(&view_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    int64_t size(int axis = 0) const { return view_.shape[axis]; }
    bool has_axes(int n) const { return is_there_ && view_.ndim == n; }

    // The numbers, if they are of the type that one of the characters stands for.
    template <class T>
    T* numbers(const char* types) const {
        const char* const format = is_there_ ? view_.format : nullptr;
        const bool fits =
            format && format[0] && !format[1] && std::strchr(types, format[0]) && view_.itemsize == sizeof(T);
        return fits ? static_cast<T*>(view_.buf) : nullptr;
    }

 private:
    Py_buffer view_{};
    bool is_there_;
};

enum class Wanted { classes, scores, shares };

// Arrays of answers to n rows: classes, and scores or probabilities if they are wanted.
struct NewAnswers {
    NewAnswers(int64_t n, int64_t k, Wanted wanted) : answers{k, {}, {}, {}} {
        const nb::object shape =
            wanted == Wanted::classes ? nb::object(nb::int_(n)) : nb::object(nb::make_tuple(n, k));
        classes = new_array<int64_t>(shape);
        answers.classes = Buffer(classes, PyBUF_WRITABLE).numbers<int64_t>("lq");
        if (wanted != Wanted::classes) {
            numbers = new_array<float>(shape);
            answers.scores = Buffer(numbers, PyBUF_WRITABLE).numbers<float>("f");
        }
        if (wanted == Wanted::shares) answers.shares = answers.scores;
        if (wanted == Wanted::scores) return;
        scores.resize(static_cast<size_t>(n * k));
        answers.scores = scores.data();
    }

    Answers from(int64_t row) const {
        const int64_t place = row * answers.k;
        return {answers.k, answers.classes + place, answers.scores + place,
                answers.shares ? answers.shares + place : nullptr};
    }

    nb::object classes, numbers;
    std::vector<float> scores;  // that nobody asks for
    Answers answers;
};

SecondStage second_stage_of(const std::optional<nb::object>& given, int64_t most) {
    if (!given) return {nullptr, {}, 0, {}};
    const nb::handle parts = *given;
    const auto size = nb::cast<int64_t>(parts[3]);
    return {&vectors_of(parts[0]),
            {nb::cast<float>(parts[1]), nb::cast<float>(parts[2])},
            std::min(size, most),
            confidence_of(parts[4])};
}

// `Predictor` of Python.
class BoundPredictor {
 public:
    BoundPredictor(Array<const float, 2> weight, Array<const float, 1> bias, bool unit, nb::object ranker,
                   int64_t n_classes, int64_t size, nb::handle confidence, std::optional<nb::object> second,
                   std::optional<nb::object> columns)
        : kept_(nb::make_tuple(weight.cast(), bias.cast(), ranker, second)),
          columns_(std::move(columns)),
          predictor_({{weight.data(), bias.data(), int64_t(weight.shape(0)), int(weight.shape(1))},
                      unit,
                      &shortlist_of(ranker),
                      n_classes,
                      size,
                      confidence_of(confidence),
                      second_stage_of(second, size)}) {
        const ClassVectors* const vectors = predictor_.parts().second.vectors;
        require(bias.has(weight.width()) && size >= 1 && size <= n_classes &&
                    shortlist_of(ranker).n_bits() == weight.width() &&
                    (!vectors || vectors->arrays.n_features == weight.shape(0)),
                "the parts of a predictor do not fit each other");
    }

    nb::object predict(nb::handle rows) const { return answer(rows, 1, Wanted::classes); }
    nb::object top_k(nb::handle rows, int64_t k, bool with_shares) const {
        return answer(rows, k, with_shares ? Wanted::shares : Wanted::scores);
    }

 private:
    nb::object answer(nb::handle rows, int64_t k, Wanted wanted) const;
    bool answer_texts(nb::list texts, const NewAnswers& found) const;
    bool answer_dense(const Buffer& rows, const NewAnswers& found) const;
    bool answer_sparse(const Buffer& indptr, const Buffer& indices, const Buffer& data,
                       const NewAnswers& found) const;
    bool answer_free(int64_t n, const FeatureRows& rows, const NewAnswers& found) const;

    nb::object kept_;  // what the predictor refers to
    std::optional<nb::object> columns_;
    Predictor predictor_;
};

// Without the GIL, if that takes long.
bool BoundPredictor::answer_free(int64_t n, const FeatureRows& rows, const NewAnswers& found) const {
    if (n < worth_a_release) return predictor_.answer(n, rows, found.answers);
    const nb::gil_scoped_release free;
    return predictor_.answer(n, rows, found.answers);
}

bool BoundPredictor::answer_texts(nb::list texts, const NewAnswers& found) const {
    const auto n = static_cast<int64_t>(texts.size());
    SparseRows made;
    int64_t done = 0;
    bool fine = true;
    const auto use = [&] {
        const auto some = static_cast<int64_t>(made.starts.size()) - 1;
        FeatureRows rows;
        rows.starts = made.starts.data();
        rows.features = made.columns.data();
        rows.floats = made.data.data();
        fine = fine && done + some <= n && predictor_.answer(some, rows, found.from(done));
        done += some;
        made.starts.resize(1);
    };
    try {
        read_texts(*columns_, std::move(texts), made, use);
    } catch (nb::python_error& error) {
        if (!error.matches(PyExc_TypeError)) throw;
        return false;  // one of them is no text
    }
    return fine && done == n;
}

bool BoundPredictor::answer_dense(const Buffer& array, const NewAnswers& found) const {
    const int64_t n = array.size(), width = array.size(1);
    FeatureRows rows;
    rows.dense = array.numbers<float>("f");
    if (rows.dense) return answer_free(n, rows, found);
    const double* const doubles = array.numbers<double>("d");
    if (!doubles) return false;
    const nb::gil_scoped_release free;
    std::vector<float> floats;
    bool fine = true;
    for (int64_t first = 0; fine && first < n; first += doubles_at_once) {
        const int64_t some = std::min(doubles_at_once, n - first);
        floats.assign(doubles + first * width, doubles + (first + some) * width);
        rows.dense = floats.data();
        fine = predictor_.answer(some, rows, found.from(first));
    }
    return fine;
}

bool BoundPredictor::answer_sparse(const Buffer& indptr, const Buffer& indices, const Buffer& data,
                                   const NewAnswers& found) const {
    FeatureRows rows;
    const int32_t* const starts = indptr.numbers<const int32_t>("il");
    rows.features = indices.numbers<const int32_t>("il");
    rows.floats = data.numbers<const float>("f");
    rows.doubles = data.numbers<const double>("d");
    if (!starts || !rows.features || !(rows.floats || rows.doubles)) return false;
    const std::vector<int64_t> own(starts, starts + indptr.size());
    const int64_t n_entries = std::min(indices.size(), data.size());
    if (own.front() < 0 || own.back() > n_entries || !std::is_sorted(own.begin(), own.end())) return false;
    rows.starts = own.data();
    return answer_free(indptr.size() - 1, rows, found);
}

// Answer texts, an array, or (indptr, indices, data) of a CSR matrix: return classes, or these and their
// scores or probabilities. None where rows are not plain: others are to look at them.
nb::object BoundPredictor::answer(nb::handle rows, int64_t k, Wanted wanted) const {
    require(k >= 1 && k <= predictor_.n_classes(), "k is no number of classes");
    const auto answered = [&](int64_t n, auto answer_all) -> nb::object {
        if (n < 1) return nb::none();
        const NewAnswers found(n, k, wanted);
        if (!answer_all(found)) return nb::none();
        if (wanted == Wanted::classes) return found.classes;
        return nb::make_tuple(found.classes, found.numbers);
    };
    if (PyList_CheckExact(rows.ptr())) {
        if (!columns_) return nb::none();
        auto texts = nb::borrow<nb::list>(rows);
        return answered(int64_t(texts.size()),
                        [&](const NewAnswers& found) { return answer_texts(texts, found); });
    }
    if (PyTuple_CheckExact(rows.ptr())) {
        const Buffer indptr(rows[0]), indices(rows[1]), data(rows[2]);
        if (!(indptr.has_axes(1) && indices.has_axes(1) && data.has_axes(1))) return nb::none();
        return answered(indptr.size() - 1,
                        [&](const NewAnswers& found) { return answer_sparse(indptr, indices, data, found); });
    }
    const Buffer array(rows);
    if (!array.has_axes(2) || array.size(1) != predictor_.n_features()) return nb::none();
    return answered(array.size(), [&](const NewAnswers& found) { return answer_dense(array, found); });
}

}  // namespace

void bind_predict(nb::module_& m) {
    m.def("shares", shares);
    m.def("surest", surest);
    nb::class_<BoundPredictor>(m, "Predictor")
        .def(nb::init<Array<const float, 2>, Array<const float, 1>, bool, nb::object, int64_t, int64_t,
                      nb::handle, std::optional<nb::object>, std::optional<nb::object>>())
        .def("predict", &BoundPredictor::predict)
        .def("top_k", &BoundPredictor::top_k);
}

}  // namespace dsnc
