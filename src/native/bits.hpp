#pragma once
// Signs of floats as bits.
#include <cstdint>

#include "simd.hpp"

namespace dsnc::LEVEL {

// Write the signs of a row of logits as bits of words; tell whether one of them is not a number.
DSNC_INLINE bool pack_row(const float* logits, int n_bits, uint64_t* words) {
    bool bad = false;
    for (int j = 0; j < n_bits; ++j) bad |= logits[j] != logits[j];
    for (int first = 0; first < n_bits; first += 64) {
        const int last = n_bits < first + 64 ? n_bits : first + 64;
        uint64_t word = 0;
        int j = first;
        for (; j + width <= last; j += width)
            word |= static_cast<uint64_t>(above_zero(load(logits + j))) << (j - first);
        for (; j < last; ++j) word |= static_cast<uint64_t>(logits[j] > 0) << (j - first);
        words[first / 64] = word;
    }
    return bad;
}

}  // namespace dsnc::LEVEL
