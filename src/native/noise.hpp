#pragma once
// Random numbers that a seed and a place decide: no state, so that any thread may draw any of them.
#include <cstdint>

namespace dsnc {

// Return 32 random bits for a place.
inline __attribute__((always_inline)) uint32_t hash_of(uint64_t seed, uint64_t place) {
    uint64_t x = seed + place * 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return static_cast<uint32_t>(x >> 32);
}

// Return a number in [0, 1).
inline __attribute__((always_inline)) float chance(uint32_t seed, uint32_t place) {
    uint32_t x = seed + place * 0x9E3779B9;
    x = (x ^ (x >> 16)) * 0x7FEB352D;
    x = (x ^ (x >> 15)) * 0x846CA68B;
    x ^= x >> 16;
    return static_cast<float>(x >> 8) * 0x1p-24f;
}

}  // namespace dsnc
