// Training.
#include <string>

#include <nanobind/stl/tuple.h>

#include "python.hpp"
#include "trainer.hpp"

namespace dsnc {
namespace {

constexpr int most_threads = 1024;

// A field of a named tuple, as an array of a type and number of dimensions.
template <class T, int N>
Array<T, N> field(nb::handle tuple, const char* name) {
    Array<T, N> array;
    if (!nb::try_cast(tuple.attr(name), array))
        throw std::invalid_argument(std::string(name) + " is an array of another type or shape");
    return array;
}

// Of `dsnc.fast.steps.Plan`, whose fields are in the same order.
Plan plan_of(nb::handle given) {
    using Fields = std::tuple<int, int, float, float, int, int, float, float, float, bool, bool>;
    const Plan plan = std::apply([](auto... each) { return Plan{each...}; }, nb::cast<Fields>(given));
    require(plan.n_bits > 0 && plan.n_bits <= 1 << 15, "n_bits is out of range");
    require(plan.n_draws >= 0 && plan.n_draws < 1 << 14 && plan.n_uniform >= 0 && plan.n_uniform < 1 << 20 &&
                plan.window > 0,
            "the numbers of draws, of classes or of blocks are out of range");
    return plan;
}

// Arrays of what is learned, or (of one dimension) of its sums of squares.
template <int N>
struct GivenWeights {
    Array<float, N> encoder, bias, classes;
    Array<float, 1> class_bias;

    explicit GivenWeights(nb::handle given)
        : encoder(field<float, N>(given, "encoder")),
          bias(field<float, N>(given, "bias")),
          classes(field<float, N>(given, "classes")),
          class_bias(field<float, 1>(given, "class_bias")) {
        require(bias.shape(0) == 1 && class_bias.shape(0) == classes.shape(0),
                "the weights do not fit each other");
    }

    Weights weights() const { return {encoder.data(), bias.data(), classes.data(), class_bias.data()}; }
};

struct GivenRows {
    Array<const int64_t, 1> indptr, starts;
    Array<const int32_t, 1> indices, classes;
    Array<const float, 1> values, gains, weight;
    Array<int32_t, 2> near;

    GivenRows(nb::handle given, int n_nearest)
        : indptr(field<const int64_t, 1>(given, "indptr")),
          starts(field<const int64_t, 1>(given, "starts")),
          indices(field<const int32_t, 1>(given, "indices")),
          classes(field<const int32_t, 1>(given, "classes")),
          values(field<const float, 1>(given, "values")),
          gains(field<const float, 1>(given, "gains")),
          weight(field<const float, 1>(given, "weight")),
          near(field<int32_t, 2>(given, "near")) {
        const size_t n = weight.size();
        require(near.has(n, n_nearest) && indices.has(values.n()) && classes.has(gains.n()),
                "the parts of rows are not equally many");
        require(are_runs(indptr, n, values.size()) && are_runs(starts, n, classes.size()),
                "rows have other entries or classes than there are");
    }

    void check(const Sizes& sizes, bool searches) const {
        require(are_within(indices, 0, sizes.n_features),
                "there are features that the encoder does not have");
        require(are_within(classes, 0, sizes.n_classes), "there are classes that the model does not have");
        require(searches || are_within(near, -1, sizes.n_classes),
                "there are nearest classes that the model does not have");
    }

    Rows rows() const {
        return {weight.n(),     indptr.data(), indices.data(), values.data(), starts.data(),
                classes.data(), gains.data(),  weight.data(),  near.data()};
    }
};

Sizes sizes_of(const Plan& plan, const GivenWeights<2>& weights, int n_nearest) {
    Sizes sizes{};
    sizes.n_features = weights.encoder.n();
    sizes.n_classes = weights.classes.n();
    sizes.width = static_cast<int>(weights.encoder.width());
    sizes.n_inputs = plan.n_draws + (plan.soft_share > 0);
    sizes.n_nearest = n_nearest;
    require(sizes.width >= plan.n_bits && sizes.width < plan.n_bits + 16 && sizes.width % 16 == 0 &&
                weights.bias.width() == sizes.width && weights.classes.width() == sizes.width,
            "the weights are not as wide as codes are long, padded");
    require(sizes.n_features < int64_t{1} << 31 && sizes.n_classes < int64_t{1} << 31,
            "there are too many features or classes");
    return sizes;
}

// A trainer, and the arrays that it moves.
class PythonTrainer {
 public:
    PythonTrainer(nb::handle weights, nb::handle squares, nb::handle plan, int64_t batch_size, int n_nearest,
                  int n_threads)
        : weights_(weights),
          squares_(squares),
          plan_(plan_of(plan)),
          trainer_(plan_, checked(sizes_of(plan_, weights_, n_nearest), batch_size, n_threads),
                   weights_.weights(), squares_.weights(), batch_size, n_threads) {}

    void read_codes() { trainer_.read_codes(); }

    double run(nb::handle given, Array<const float, 2> rates, uint64_t seed, int64_t place, bool searches) {
        const GivenRows rows(given, trainer_.sizes().n_nearest);
        rows.check(trainer_.sizes(), searches);
        require(rates.has(2, 2), "rates are two by two");
        const float* const r = rates.data();
        const nb::gil_scoped_release release;
        return trainer_.run(rows.rows(), {{r[0], r[1]}, {r[2], r[3]}}, seed, place, searches);
    }

 private:
    Sizes checked(const Sizes& sizes, int64_t batch_size, int n_threads) const {
        require(squares_.encoder.shape(0) == weights_.encoder.shape(0) &&
                    squares_.classes.shape(0) == weights_.classes.shape(0),
                "there are not as many sums of squares as weights");
        require(batch_size > 0 && sizes.n_nearest > 0, "a batch or the nearest classes are none");
        require(n_threads > 0 && n_threads <= most_threads, "the number of threads is out of range");
        return sizes;
    }

    GivenWeights<2> weights_;
    GivenWeights<1> squares_;
    Plan plan_;
    Trainer trainer_;
};

}  // namespace

void bind_training(nb::module_& m) {
    nb::class_<PythonTrainer>(m, "Trainer")
        .def(nb::init<nb::handle, nb::handle, nb::handle, int64_t, int, int>())
        .def("read_codes", &PythonTrainer::read_codes)
        .def("run", &PythonTrainer::run);
}

}  // namespace dsnc
