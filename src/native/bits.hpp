#pragma once
// Bits of codes, and signs of floats as bits.
#include <cstdint>

#include "simd.hpp"

namespace dsnc::LEVEL {

DSNC_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Up to 64 bits of a code from bit `start`; bits past its last word are 0.
DSNC_INLINE uint64_t bits_of(const uint64_t* code, int n_words, int start, int width) {
    const int word = start >> 6, shift = start & 63;
    uint64_t value = 0;
    if (word < n_words) {
        value = code[word] >> shift;
        if (shift > 0 && word + 1 < n_words) value |= code[word + 1] << (64 - shift);
    }
    return width < 64 ? value & ((uint64_t{1} << width) - 1) : value;
}

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
