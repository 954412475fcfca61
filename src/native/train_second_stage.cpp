// A support vector machine for one class, by dual coordinate descent.
//
// Squared hinge and a bias, one row at a time, leaving out rows that do not matter for a while (C.-J.
// Hsieh, K.-W. Chang, C.-J. Lin, S. Keerthi, S. Sundararajan, "A dual coordinate descent method for
// large-scale linear SVM", ICML 2008). A row that is next is fetched while another is worked on.
#include <cmath>
#include <utility>

#include "second_stage.hpp"
#include "simd.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr float any = 1e30F;  // no gradient is as large
alignas(64) constexpr int32_t numbers[width] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Return a random number: a hash, by the last steps of splitmix64.
DSNC_INLINE uint64_t mixed(uint64_t x) {
    x *= 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

struct Solver {
    const TrainingRows& rows;
    const MachineSettings& settings;
    const Machine& machine;
    const MachineScratch& scratch;
    uint64_t drawn = 0;
    float bias = 0;

    // Find the vector; return the bias.
    float descend() {
        const size_t n = machine.n;
        int64_t* const order = scratch.order;
        for (size_t t = 0; t < n; ++t) {
            scratch.alpha[t] = 0;
            order[t] = int64_t(t);
        }
        drawn = machine.seed;
        size_t active = n;
        float bound = any;
        for (int pass = 0; pass < settings.n_passes; ++pass) {
            float highest = -any, lowest = any;
            shuffle(active);
            for (size_t place = 0; place < active;) {
                if (place + 1 < active) fetch(size_t(order[place + 1]));
                const size_t t = size_t(order[place]);
                float gradient = slope(t);
                if (scratch.alpha[t] == 0) {
                    if (gradient > bound) {  // right by far: not to be looked at for now
                        --active;
                        std::swap(order[place], order[active]);
                        continue;
                    }
                    gradient = gradient < 0 ? gradient : 0;
                }
                highest = gradient > highest ? gradient : highest;
                lowest = gradient < lowest ? gradient : lowest;
                if (gradient != 0) move(t, gradient);
                ++place;
            }
            if (highest - lowest <= settings.tolerance) {
                if (active == n) break;
                active = n;
                bound = any;
            } else {
                bound = highest > 0 ? highest : any;
            }
        }
        return bias * settings.offset;
    }

    void shuffle(size_t n) {
        for (size_t place = n; place-- > 1;) {
            const size_t other = size_t(mixed(++drawn) % (place + 1));
            std::swap(scratch.order[place], scratch.order[other]);
        }
    }

    void fetch(size_t t) const {
        if (!rows.starts) return;  // which the processor sees itself
        constexpr int64_t most = 256;
        const int64_t row = machine.rows[t];
        const int64_t start = rows.starts[row];
        const int64_t stop = rows.starts[row + 1] < start + most ? rows.starts[row + 1] : start + most;
        for (int64_t i = start; i < stop; i += width) {
            __builtin_prefetch(rows.features + i);
            __builtin_prefetch(rows.values + i);
        }
    }

    // The gradient of a row of the problem.
    float slope(size_t t) const {
        const size_t row = size_t(machine.rows[t]);
        const float z = bias * settings.offset + product(row);
        const float said = machine.positive[t] ? z : -z;
        return said - 1 + settings.penalty[row] * scratch.alpha[t];
    }

    void move(size_t t, float slope) {
        const size_t row = size_t(machine.rows[t]);
        const float curve = rows.squares[row] + settings.offset * settings.offset + settings.penalty[row];
        const float wished = scratch.alpha[t] - slope / curve;
        const float moved = wished > 0 ? wished : 0;
        const float step = moved - scratch.alpha[t];
        const float change = machine.positive[t] ? step : -step;
        scratch.alpha[t] = moved;
        bias += change * settings.offset;
        add(row, change, scratch.vector);
    }

    float product(size_t row) const { return rows.starts ? sparse_product(row) : dense_product(row); }

    float dense_product(size_t row) const {
        const size_t n = rows.n_features;
        const float* const values = rows.values + row * n;
        const float* const vector = scratch.vector;
        Floats even{}, odd{};
        size_t i = 0;
        for (; i + 2 * width <= n; i += 2 * width) {
            even = even + load(vector + i) * load(values + i);
            odd = odd + load(vector + i + width) * load(values + i + width);
        }
        float result = sum(even + odd);
        for (; i < n; ++i) result += vector[i] * values[i];
        return result;
    }

    float sparse_product(size_t row) const {
        const size_t stop = size_t(rows.starts[row + 1]);
        const float* const vector = scratch.vector;
        Floats total{};
        size_t i = size_t(rows.starts[row]);
        for (; i + width <= stop; i += width)
            total = total + gather(vector, rows.features + i) * load(rows.values + i);
        if (i == stop) return sum(total);
        const Ints left = all(int32_t(stop - i));
        if (i + width <= rows.n_values) {  // more than are left: those of the next row do not count
            const Floats products = gather(vector, rows.features + i) * load(rows.values + i);
            return sum(total + select(load(numbers) < left, products, Floats{}));
        }
        int32_t features[width] = {};
        float values[width] = {};
        for (size_t lane = 0; i + lane < stop; ++lane) {
            features[lane] = rows.features[i + lane];
            values[lane] = rows.values[i + lane];
        }
        const Floats products = gather(vector, features) * load(values);
        return sum(total + select(load(numbers) < left, products, Floats{}));
    }

    // Add a row, times a number, to a vector.
    void add(size_t row, float scale, float* vector) const {
        if (rows.starts) {
            for (int64_t i = rows.starts[row]; i < rows.starts[row + 1]; ++i)
                vector[rows.features[i]] += scale * rows.values[i];
            return;
        }
        const size_t n = rows.n_features;
        const float* const values = rows.values + row * n;
        size_t i = 0;
        for (; i + width <= n; i += width)
            store(vector + i, load(vector + i) + all(scale) * load(values + i));
        for (; i < n; ++i) vector[i] += scale * values[i];
    }

    // Add the direction of the mean of its own rows to the vector of a class, where rows are sparse.
    void lean() {
        float* const center = scratch.center;
        const auto each_own = [&](auto use) {
            for (size_t t = 0; t < machine.n; ++t) {
                if (!machine.positive[t]) continue;
                const int64_t row = machine.rows[t];
                for (int64_t i = rows.starts[row]; i < rows.starts[row + 1]; ++i)
                    use(rows.features[i], rows.values[i]);
            }
        };
        double total = 0;
        each_own([&](int32_t feature, float value) { center[feature] += value; });
        each_own([&](int32_t feature, float value) { total += double(value) * double(center[feature]); });
        const float scale = total > 0 ? float(settings.lean / std::sqrt(total)) : 0;
        each_own([&](int32_t feature, float) {
            scratch.vector[feature] += scale * center[feature];
            center[feature] = 0;
        });
    }
};

float solve(const TrainingRows& rows, const MachineSettings& settings, const Machine& machine,
            const MachineScratch& scratch) {
    Solver solver{rows, settings, machine, scratch};
    const float bias = solver.descend();
    if (settings.lean > 0 && rows.starts) solver.lean();
    return bias;
}

}  // namespace

void add_machines(SecondStageKernels& table) { table.solve = solve; }

}  // namespace dsnc::LEVEL
