#pragma once
// Operations on rows of floats, sixteen at a time.
//
// Rows are so many numbers wide, or a multiple of that: whoever makes the arrays pads them with zeros.
#include "simd.hpp"

namespace dsnc::LEVEL {

constexpr int padded(int n) { return (n + width - 1) / width * width; }

// Ask for a row to be brought into the cache: to be read, or into that of this core alone.

DSNC_INLINE void fetch(const float* row, int n) {
    for (int j = 0; j < n; j += width) __builtin_prefetch(row + j, 0, 3);
}

DSNC_INLINE void claim(const float* row, int n) {
    for (int j = 0; j < n; j += width) __builtin_prefetch(row + j, 1, 3);
}

DSNC_INLINE float dot(const float* x, const float* y, int n) {
    Floats total{};
    for (int j = 0; j < n; j += width) total = total + load(x + j) * load(y + j);
    return sum(total);
}

DSNC_INLINE void scale(float* x, int n, float factor) {
    for (int j = 0; j < n; j += width) store(x + j, load(x + j) * all(factor));
}

DSNC_INLINE void add_scaled(float* out, const float* x, int n, float factor) {
    for (int j = 0; j < n; j += width) store(out + j, all(factor) * load(x + j) + load(out + j));
}

// Add a row, scaled; tell whether a number has come above zero, or was.
//
// That seldom happens, and to look takes less time than to pack the bits.
DSNC_INLINE bool move(float* out, const float* x, int n, float factor) {
    uint32_t flips = 0;
    for (int j = 0; j < n; j += width) {
        const Floats before = load(out + j);
        const Floats after = all(factor) * load(x + j) + before;
        store(out + j, after);
        flips |= above_zero(before) ^ above_zero(after);
    }
    return flips != 0;
}

// Write which numbers are above zero, lowest bit first, as octets.
DSNC_INLINE void pack(uint8_t* octets, const float* x, int n) {
    for (int j = 0; j < n; j += width) {
        const auto bits = static_cast<uint16_t>(above_zero(load(x + j)));
        octets[j / 8] = static_cast<uint8_t>(bits);
        octets[j / 8 + 1] = static_cast<uint8_t>(bits >> 8);
    }
}

// e^x for numbers of 0 or less, -80 at least; of any that are less still, about e^-80.
//
// 2^r for r in [0, 1] is the polynomial whose largest error is least: less than one in 10^7.
DSNC_INLINE Floats exp(Floats x) {
    x = larger(x, all(-80.0f)) * all(1.44269504f);
    const Ints cut = to_ints(x);
    const Ints whole = cut + (Ints)(to_floats(cut) > x);  // the comparison is -1 where it holds
    const Floats rest = x - to_floats(whole);
    Floats power = all(0.000216129199f);
    power = power * rest + all(0.00124678451f);
    power = power * rest + all(0.00967545169f);
    power = power * rest + all(0.0554852806f);
    power = power * rest + all(0.240229306f);
    power = power * rest + all(0.693147044f);
    power = power * rest + all(1.0f);
    return power * taken_as<Floats>((whole + all(int32_t{127})) << 23);
}

DSNC_INLINE Floats sigmoid(Floats x) {
    const Floats odds = exp(-larger(x, -x));
    const Floats likely = all(1.0f) / (all(1.0f) + odds);
    return select(x > all(0.0f), likely, odds * likely);
}

constexpr uint32_t numbers[width] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Random numbers in [0, 1), at sixteen places that are so far apart: see `chance` in noise.hpp.
DSNC_INLINE Floats noise(uint32_t seed, uint32_t place, uint32_t apart) {
    const Uints places = all(place) + read<Uints>(numbers) * all(apart);
    Uints x = all(seed) + places * all(uint32_t{0x9E3779B9});
    x = (x ^ (x >> 16)) * all(uint32_t{0x7FEB352D});
    x = (x ^ (x >> 15)) * all(uint32_t{0x846CA68B});
    x = x ^ (x >> 16);
    return to_floats(taken_as<Ints>(x >> 8)) * all(0x1p-24f);
}

// Bit i is set where comparison i holds.
DSNC_INLINE uint32_t bits_of(Ints holds) {
    return above_zero(taken_as<Floats>(holds & taken_as<Ints>(all(1.0f))));
}

// Bits: +1 with a chance, otherwise -1.
DSNC_INLINE void draw(float* out, const float* chances, int n, uint32_t seed, uint32_t place) {
    for (int j = 0; j < n; j += width) {
        const Floats lot = noise(seed, place + j, 1);
        store(out + j, select(lot < load(chances + j), all(1.0f), all(-1.0f)));
    }
}

DSNC_INLINE float largest(const float* x, int n) {
    Floats most = all(-3e38f);
    for (int j = 0; j < n; j += width) most = larger(most, load(x + j));
    return largest(most);
}

// x = exp(x - top), of numbers up to `top`; return the sum.
DSNC_INLINE float exponentials(float* x, int n, float top) {
    Floats total{};
    for (int j = 0; j < n; j += width) {
        const Floats value = exp(load(x + j) - all(top));
        store(x + j, value);
        total = total + value;
    }
    return sum(total);
}

// x = sigmoid(sharpness * logits)
DSNC_INLINE void probabilities(float* out, const float* x, int n, float sharpness) {
    for (int j = 0; j < n; j += width) store(out + j, sigmoid(all(sharpness) * load(x + j)));
}

}  // namespace dsnc::LEVEL
