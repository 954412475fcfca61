// Dense rows to logits.
//
//     logits[i, j] = bias[j] + sum_p row[i, p] * weight[p, j]
//
// added in this order, so that a row gives the same alone as among others. Some rows share each
// reading of the weights, and their sums stay in registers; of many features, some hundred at a time
// stay in the cache for all rows.
#include <algorithm>

#include "level.hpp"
#include "simd.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int rows_at_once = register_size == 64 ? 6 : 3;
constexpr int groups_at_once = register_size / 16;  // of sixteen bits
constexpr int64_t features_at_once = 512;

// Some features of rows that lie one behind the other.
struct Part {
    const float* rows;
    int64_t n_features;  // of a row
    int64_t first, last;
};

template <int n, int groups>
DSNC_INLINE void add_up(const Part& part, const Layer& layer, int column, float* logits) {
    Floats sums[n][groups];
    for (int r = 0; r < n; ++r)
        for (int g = 0; g < groups; ++g) sums[r][g] = load(logits + r * layer.n_bits + column + g * width);
    for (int64_t p = part.first; p < part.last; ++p) {
        const float* const weight = layer.weight + p * layer.n_bits + column;
        Floats weights[groups];
        for (int g = 0; g < groups; ++g) weights[g] = load(weight + g * width);
        for (int r = 0; r < n; ++r) {
            const Floats value = all(part.rows[r * part.n_features + p]);
            for (int g = 0; g < groups; ++g) sums[r][g] = sums[r][g] + value * weights[g];
        }
    }
    for (int r = 0; r < n; ++r)
        for (int g = 0; g < groups; ++g) store(logits + r * layer.n_bits + column + g * width, sums[r][g]);
}

// Of fewer than sixteen bits.
template <int n>
void add_up_few(const Part& part, const Layer& layer, float* logits) {
    for (int r = 0; r < n; ++r)
        for (int64_t p = part.first; p < part.last; ++p)
            for (int j = 0; j < layer.n_bits; ++j)
                logits[r * layer.n_bits + j] +=
                    part.rows[r * part.n_features + p] * layer.weight[p * layer.n_bits + j];
}

// The last bits from a column on, fewer than sixteen: those before them are put back.
template <int n>
DSNC_INLINE void add_up_last(const Part& part, const Layer& layer, int column, float* logits) {
    const int first = layer.n_bits - width;
    float before[n][width];
    for (int r = 0; r < n; ++r)
        std::memcpy(before[r], logits + r * layer.n_bits + first, (column - first) * sizeof(float));
    add_up<n, 1>(part, layer, first, logits);
    for (int r = 0; r < n; ++r)
        std::memcpy(logits + r * layer.n_bits + first, before[r], (column - first) * sizeof(float));
}

template <int n>
void add_up_all(const Part& part, const Layer& layer, float* logits) {
    constexpr int groups = n == 1 ? 4 : groups_at_once;
    if (layer.n_bits < width) return add_up_few<n>(part, layer, logits);
    int j = 0;
    for (; j + groups * width <= layer.n_bits; j += groups * width) add_up<n, groups>(part, layer, j, logits);
    for (; j + width <= layer.n_bits; j += width) add_up<n, 1>(part, layer, j, logits);
    if (j < layer.n_bits) add_up_last<n>(part, layer, j, logits);
}

void encode_dense(const float* rows, int64_t n, const Layer& layer, float* logits) {
    for (int64_t i = 0; i < n; ++i) std::copy_n(layer.bias, layer.n_bits, logits + i * layer.n_bits);
    Part part{rows, layer.n_features, 0, 0};
    for (; part.first < part.n_features; part.first = part.last) {
        part.last = std::min(part.first + features_at_once, part.n_features);
        int64_t i = 0;
        for (; i + rows_at_once <= n; i += rows_at_once) {
            part.rows = rows + i * part.n_features;
            add_up_all<rows_at_once>(part, layer, logits + i * layer.n_bits);
        }
        for (; i < n; ++i) {
            part.rows = rows + i * part.n_features;
            add_up_all<1>(part, layer, logits + i * layer.n_bits);
        }
    }
}

}  // namespace

void add_encode_dense(SearchKernels& kernels) { kernels.encode_dense = encode_dense; }

}  // namespace dsnc::LEVEL
