// What trains the second stage: support vector machines of classes, and centers of their rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "python.hpp"

namespace dsnc {
namespace {

template <class T>
using Numbers = Array<const T, 1>;
template <class T>
using Table = Array<const T, 2>;

// Which rows the problem of each class has; problem k those from `starts[k]` to `starts[k + 1]`.
struct Problems {
    Numbers<int64_t> starts, rows;
    Numbers<bool> positive;
    size_t first_class;  // the number of problem 0; the others follow
};

// Weights that were found, and room for more.
struct Found {
    Array<int32_t, 1> classes, features;
    Array<float, 1> values;
    size_t n = 0;

    // Take the weights of a class from its vector, which is left empty; leave out those below `least`.
    void take(const TrainingRows& rows, const Problems& problems, size_t k, float least, float* vector) {
        const auto one = [&](int32_t feature) {
            const float value = vector[feature];
            vector[feature] = 0;
            classes.data()[n] = int32_t(problems.first_class + k);
            features.data()[n] = feature;
            values.data()[n] = value;
            n += std::abs(value) >= least;  // which is above 0
        };
        if (!rows.starts)
            for (size_t j = 0; j < rows.n_features; ++j) one(int32_t(j));
        else
            for (int64_t t = problems.starts(k); t < problems.starts(k + 1); ++t)
                for (int64_t i = rows.starts[problems.rows(t)]; i < rows.starts[problems.rows(t) + 1]; ++i)
                    one(rows.features[i]);
    }
};

// The features of some rows: CSR arrays, of which the first two are empty where rows are dense.
using Csr = std::tuple<Numbers<int64_t>, Numbers<int32_t>, Numbers<float>>;

TrainingRows training_rows(const Csr& given, const Numbers<float>& squares, size_t n_features) {
    const auto& [indptr, indices, values] = given;
    const size_t n = squares.shape(0);
    if (indptr.shape(0) == 0) {
        require(values.has(n * n_features), "rows have not as many features as vectors");
        return {nullptr, nullptr, values.data(), squares.data(), values.shape(0), n_features};
    }
    require(are_runs(indptr, n, std::min(indices.size(), values.size())),
            "indptr does not ascend, or leads outside of the arrays");
    require(are_within(indices, 0, int64_t(n_features)), "rows have features that vectors do not have");
    return {indptr.data(), indices.data(), values.data(), squares.data(), values.shape(0), n_features};
}

// Solve problems from `first` on while there is room for the weights of one more; return the next one,
// and how many weights were found.
std::pair<size_t, size_t> solve(size_t first, Numbers<int64_t> starts, Numbers<int64_t> rows,
                                Numbers<bool> positive, size_t first_class, Csr features,
                                Numbers<float> squares, Numbers<float> penalty, size_t n_features,
                                nb::dict settings, Array<float, 1> bias,
                                std::tuple<Array<int32_t, 1>, Array<int32_t, 1>, Array<float, 1>> room) {
    const size_t n = bias.shape(0), n_rows = squares.shape(0);
    require(are_runs(starts, n, rows.size()), "rows of problems lead outside");
    require(are_within(rows, 0, int64_t(n_rows)), "a problem has what is no row");
    require(positive.has(rows.n()) && penalty.has(n_rows) && first <= n,
            "arrays of problems do not fit each other");
    const TrainingRows training = training_rows(features, squares, n_features);
    const auto real = [&](const char* name) { return nb::cast<float>(settings[name]); };
    const MachineSettings machine{penalty.data(), real("offset"), real("tolerance"), real("lean"),
                                  nb::cast<int>(settings["n_passes"])};
    const auto seed = nb::cast<uint64_t>(settings["seed"]);
    const float least = real("least");
    require(least > 0, "least is not above 0");
    const Problems problems{starts, rows, positive, first_class};
    Found found{std::get<0>(room), std::get<1>(room), std::get<2>(room)};
    const size_t size = std::min({found.classes.shape(0), found.features.shape(0), found.values.shape(0)});
    require(size > n_features, "there is no room for the weights of a class");
    const nb::gil_scoped_release release;
    size_t longest = 0;
    for (size_t k = first; k < n; ++k) longest = std::max(longest, size_t(starts(k + 1) - starts(k)));
    std::vector<float> vector(n_features), center(n_features), alpha(longest);
    std::vector<int64_t> order(longest);
    size_t k = first;
    for (; k < n && found.n + n_features < size; ++k) {
        const int64_t start = starts(k);
        const Machine task{rows.data() + start, reinterpret_cast<const uint8_t*>(positive.data() + start),
                           size_t(starts(k + 1) - start), seed + (uint64_t(first_class + k) << 32)};
        bias(k) = kernels->second_stage.solve(training, machine, task,
                                              {vector.data(), center.data(), alpha.data(), order.data()});
        found.take(training, problems, k, least, vector.data());
    }
    return {k, found.n};
}

// Write the centers of each class; return the weighted sum of squared distances to them.
double find_centers(const Table<float>& rows, const Numbers<float>& weight, const Numbers<int64_t>& starts,
                    const Numbers<int64_t>& firsts, uint32_t seed, int n_passes,
                    const Array<float, 2>& centers) {
    const size_t n = rows.shape(0), width = rows.shape(1);
    const size_t n_classes = std::max<size_t>(starts.size(), 1) - 1;
    require(are_runs(starts, n_classes, n), "rows of classes lead outside");
    require(are_runs(firsts, n_classes, centers.shape(0)), "centers of classes lead outside");
    require(weight.has(n) && centers.has(centers.n(), width), "arrays do not fit each other");
    std::vector<int64_t> owner(n);
    std::vector<float> distance(n);
    std::vector<double> sums;
    double total = 0;
    for (size_t k = 0; k < n_classes; ++k) {
        const size_t start = size_t(starts(k)), first = size_t(firsts(k));
        const size_t n_rows = size_t(starts(k + 1)) - start, n_centers = size_t(firsts(k + 1)) - first;
        if (n_rows == 0) continue;
        require(n_centers > 0 && n_centers <= n_rows, "a class has more centers than rows, or none");
        sums.resize(std::max(sums.size(), n_centers * (width + 1)));
        total += kernels->centers.find({rows.data() + start * width, weight.data() + start, n_rows, width},
                                       {centers.data() + first * width, n_centers}, n_passes,
                                       seed + uint32_t(k), {owner.data(), distance.data(), sums.data()});
    }
    return total;
}

void move_centers(const Table<float>& rows, const Numbers<int64_t>& own, const Numbers<float>& weight,
                  const Table<int32_t>& candidates, const Numbers<int64_t>& firsts, float first_rate,
                  float last_rate, float spread, uint32_t seed, size_t n_movable,
                  const Array<float, 2>& centers) {
    const size_t n = rows.shape(0), width = rows.shape(1);
    require(own.has(n) && weight.has(n) && candidates.has(n, candidates.width()) &&
                centers.has(centers.n(), width),
            "arrays do not fit each other");
    const size_t n_classes = std::max<size_t>(firsts.size(), 1) - 1;
    require(are_runs(firsts, n_classes, centers.shape(0)), "centers of classes lead outside");
    for (size_t k = 0; k < n_classes; ++k) require(firsts(k) < firsts(k + 1), "a class has no center");
    require(are_within(candidates, -1, int64_t(n_classes)), "a candidate is no class");
    std::vector<float> moved(width), share(candidates.shape(1));
    std::vector<int64_t> nearest(candidates.shape(1));
    kernels->centers.move(
        {rows.data(), own.data(), weight.data(), candidates.data(), n, width, candidates.shape(1)},
        {centers.data(), firsts.data(), n_movable}, {first_rate, last_rate, spread, seed},
        {moved.data(), nearest.data(), share.data()});
}

}  // namespace

void bind_learning(nb::module_& m) {
    m.def("solve", solve);
    m.def("find_centers", find_centers, free_of_gil());
    m.def("move_centers", move_centers, free_of_gil());
}

}  // namespace dsnc
