// Sparse rows to logits and bits, in one pass.
//
//     logits[i, j] = bias[j] + sum_p data[p] * weight[indices[p], j]   for p in row i
//
// in float32, added in this order. Bit j is set where the logit is above 0. The sums of some bits stay
// in registers while all entries of a row are added.
#include <cmath>

#include "bits.hpp"
#include "level.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int64_t ahead = 6;  // entries: their weights come from beyond the second cache

// The entries of one row.
template <class Value>
struct Row {
    const int32_t* features;
    const Value* data;
    int64_t start, stop, last;  // the last of all rows
    double norm;                // that values are divided by; 0: they are not

    DSNC_INLINE float value(int64_t p) const {
        const float value = static_cast<float>(data[p]);
        return norm > 0 ? static_cast<float>(value / norm) : value;
    }
};

// Write the logits of `groups` times sixteen bits.
template <int groups, class Value>
DSNC_INLINE void add_up(const Row<Value>& row, const Layer& layer, int first, float* logits) {
    Floats sums[groups];
    for (int g = 0; g < groups; ++g) sums[g] = load(layer.bias + first + g * width);
    const float* weight = layer.weight + first;
    for (int64_t p = row.start; p < row.stop; ++p) {
        const int64_t later = row.features[p + ahead < row.last ? p + ahead : row.last];
        for (int g = 0; g < groups; ++g) __builtin_prefetch(weight + later * layer.n_bits + g * width);
        const float* vector = weight + int64_t{row.features[p]} * layer.n_bits;
        const Floats value = all(row.value(p));
        for (int g = 0; g < groups; ++g) sums[g] = sums[g] + value * load(vector + g * width);
    }
    for (int g = 0; g < groups; ++g) store(logits + first + g * width, sums[g]);
}

// Write one logit.
template <class Value>
DSNC_INLINE void add_up_one(const Row<Value>& row, const Layer& layer, int j, float* logits) {
    float sum = layer.bias[j];
    for (int64_t p = row.start; p < row.stop; ++p)
        sum += row.value(p) * layer.weight[int64_t{row.features[p]} * layer.n_bits + j];
    logits[j] = sum;
}

template <class Value>
void encode_row(const Row<Value>& row, const Layer& layer, float* logits) {
    int j = 0;
    for (; j + 4 * width <= layer.n_bits; j += 4 * width) add_up<4>(row, layer, j, logits);
    if (j + 2 * width <= layer.n_bits) {
        add_up<2>(row, layer, j, logits);
        j += 2 * width;
    }
    if (j + width <= layer.n_bits) {
        add_up<1>(row, layer, j, logits);
        j += width;
    }
    for (; j < layer.n_bits; ++j) add_up_one(row, layer, j, logits);
}

// The norm of a row, 1 of a row of zeros, or -1 where its indices do not ascend.
template <class Value>
double norm_of(const Row<Value>& row) {
    double total = 0;
    for (int64_t p = row.start; p < row.stop; ++p) {
        if (p > row.start && row.features[p] <= row.features[p - 1]) return -1;
        const double value = static_cast<float>(row.data[p]);
        total += value * value;
    }
    return total > 0 ? std::sqrt(total) : 1;
}

template <class Value>
Encoding encode_rows(const CsrRows& rows, const Value* data, const Layer& layer, bool unit, float* logits,
                     uint64_t* words) {
    const int n_words = (layer.n_bits + 63) / 64;
    Row<Value> row{rows.features, data, 0, 0, rows.n_entries - 1, 0};
    bool bad = false;
    for (int64_t i = 0; i < rows.n; ++i) {
        row.start = rows.starts[i], row.stop = rows.starts[i + 1];
        if (row.start < 0 || row.start > row.stop || row.stop > rows.n_entries) return Encoding::outside;
        for (int64_t p = row.start; p < row.stop; ++p)
            if (row.features[p] < 0 || row.features[p] >= layer.n_features) return Encoding::outside;
        if (unit) {
            row.norm = norm_of(row);
            if (row.norm < 0) return Encoding::scattered;
        }
        encode_row(row, layer, logits + i * layer.n_bits);
        bad |= pack_row(logits + i * layer.n_bits, layer.n_bits, words + i * n_words);
    }
    return bad ? Encoding::not_a_number : Encoding::fine;
}

// Write the logits, and the bits.
//
// With `unit` each row counts as divided by its norm; where the features of a row do not ascend then, so
// that an entry may be in several pieces, it says `scattered` and stops. Where a row is not within the
// entries, or a feature not within the weights, it says `outside` and stops. Otherwise it tells whether
// there was a logit that is not a number.
Encoding encode(const CsrRows& rows, const Layer& layer, bool unit, float* logits, uint64_t* words) {
    return rows.doubles ? encode_rows(rows, rows.doubles, layer, unit, logits, words)
                        : encode_rows(rows, rows.floats, layer, unit, logits, words);
}

bool pack(const float* logits, int64_t n, int n_bits, uint64_t* words) {
    const int n_words = (n_bits + 63) / 64;
    bool bad = false;
    for (int64_t i = 0; i < n; ++i) bad |= pack_row(logits + i * n_bits, n_bits, words + i * n_words);
    return bad;
}

}  // namespace

void add_encode(SearchKernels& kernels) {
    kernels.encode = encode;
    kernels.pack = pack;
}

}  // namespace dsnc::LEVEL
