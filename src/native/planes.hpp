#pragma once
// Distances of queries to codes that lie in planes.
//
// Octet p of 512 codes, a block, lies together: so one instruction works on as many codes as a
// register has octets, and distances are sums of octets. Two queries share each reading of a block; a
// single query goes through two blocks at once. Planes come in fours, and are added eight at a time:
// after that it is known whether any code of the block is still near enough for the rest to matter.
#include "simd.hpp"

namespace dsnc::LEVEL {

constexpr int block_size = 512;  // codes in a block
constexpr int sample = 2;        // blocks that tell how far the nearest codes are at most

// One of the two queries that are compared at the same time. `Distance` is uint8_t, where sums stay
// at 255, or uint16_t.
template <class Distance>
struct Side {
    const uint8_t* block;   // (n_planes, block_size)
    const uint8_t* octets;  // of the query: n_planes
    Distance* distances;    // block_size, which are written
    int64_t limit;          // the largest distance of interest
};

// The least distances of the two.
struct Least {
    int64_t a, b;
};

namespace planes {

template <int n>
DSNC_INLINE Octets distances(const uint8_t* column, const uint8_t* octets) {
    Octets sum = popcount(load(column) ^ all(octets[0]));
    for (int p = 1; p < n; ++p) sum = sum + popcount(load(column + p * block_size) ^ all(octets[p]));
    return sum;
}

// Write the distances in n planes from plane p on, or add them to what is there.
template <int n, bool adds>
DSNC_INLINE Least add(const Side<uint8_t>& a, const Side<uint8_t>& b, int p) {
    const uint8_t* const first = a.block + p * block_size;
    const uint8_t* const second = b.block + p * block_size;
    Octets low_a = all(uint8_t{255}), low_b = low_a;
    for (int g = 0; g < block_size; g += 64) {
        Octets sum_a = distances<n>(first + g, a.octets + p);
        Octets sum_b = distances<n>(second + g, b.octets + p);
        if (adds) {
            sum_a = add_saturated(sum_a, load(a.distances + g));
            sum_b = add_saturated(sum_b, load(b.distances + g));
        }
        store(a.distances + g, sum_a);
        store(b.distances + g, sum_b);
        low_a = smaller(low_a, sum_a);
        low_b = smaller(low_b, sum_b);
    }
    return {least(low_a), least(low_b)};
}

// Add octets to longer numbers; return the least of these.
DSNC_INLINE int64_t widen(const uint8_t* octets, uint16_t* distances, bool adds) {
    uint16_t low = 65535;
    for (int g = 0; g < block_size; ++g) {
        const uint16_t before = adds ? distances[g] : 0;
        distances[g] = static_cast<uint16_t>(before + octets[g]);
        low = distances[g] < low ? distances[g] : low;
    }
    return low;
}

template <int n, bool adds>
DSNC_INLINE Least add(const Side<uint16_t>& a, const Side<uint16_t>& b, int p) {
    uint8_t octets[2][block_size];
    add<n, false>(Side<uint8_t>{a.block, a.octets, octets[0], 0},
                  Side<uint8_t>{b.block, b.octets, octets[1], 0}, p);
    return {widen(octets[0], a.distances, adds), widen(octets[1], b.distances, adds)};
}

template <class Distance>
DSNC_INLINE Least measure(int n_planes, const Side<Distance>& a, const Side<Distance>& b) {
    int p = n_planes % 8 != 0 ? 4 : 8;
    Least low = p == 4 ? add<4, false>(a, b, 0) : add<8, false>(a, b, 0);
    for (; p < n_planes && (low.a <= a.limit || low.b <= b.limit); p += 8) low = add<8, true>(a, b, p);
    return low;
}

}  // namespace planes

// Write the distances of two queries to the codes of a block each, which may be the same block; of
// the first planes only where both queries' limits are exceeded by these.
template <class Distance>
static Least measure(int n_planes, Side<Distance> a, Side<Distance> b) {
    if (a.block != b.block) return planes::measure(n_planes, a, b);
    b.block = a.block;  // in so many words, so that it is read once
    return planes::measure(n_planes, a, b);
}

template <class Distance>
DSNC_INLINE auto load_64(const Distance* distances, int part) {
    return load(distances + 64 * part / static_cast<int>(sizeof(Distance)));
}

// Bit i is set where distance i of 64 is no larger than the limit.
template <class Distance>
DSNC_INLINE uint64_t near_enough(const Distance* distances, int64_t limit) {
    const auto most = static_cast<Distance>(limit);
    const uint64_t bits = up_to(load_64(distances, 0), most);
    if constexpr (sizeof(Distance) == 1) return bits;
    else return bits | up_to(load_64(distances, 1), most) << 32;
}

// Make what is not there the farthest of all; return the least distance.
template <class Distance>
static int64_t hide(Distance* distances, int64_t n_codes) {
    const size_t n = n_codes > 0 ? static_cast<size_t>(n_codes) : 0;
    std::memset(distances + n, 255, (block_size - n) * sizeof(Distance));
    auto low = load_64(distances, 0);
    constexpr int step = sizeof low / sizeof(Distance);
    for (int g = step; g < block_size; g += step) low = smaller(low, load(distances + g));
    Distance all[step];
    store(all, low);
    Distance least = all[0];
    for (int g = 1; g < step; ++g) least = all[g] < least ? all[g] : least;
    return least;
}

// Return the k-th distance of some blocks, or the most there is where there are fewer.
template <class Distance>
static int64_t kth(const Distance* distances, const int64_t* lows, int n_blocks, int k, int64_t most) {
    int64_t low = most, high = most;
    for (int x = 0; x < n_blocks; ++x) low = lows[x] < low ? lows[x] : low;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        int n = 0;
        for (int g = 0; g < n_blocks * block_size; g += 64)
            n += __builtin_popcountll(near_enough(distances + g, middle));
        if (n >= k) high = middle;
        else low = middle + 1;
    }
    return low;
}

}  // namespace dsnc::LEVEL
