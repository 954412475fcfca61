#pragma once
// The nearest of codes that change in place.
//
// The codes lie in planes, where writing one is a few octets. One query or two go through some blocks
// (a tile) while these are in the cache. What can still enter a query's list is noted down in the
// order of rows, and how many were noted at each distance tells what can: once k codes are at
// distance d or nearer, no further code at d may enter, for of equal distances the earlier rows count.
// At the end, a counting sort puts what was noted in its place.
#include "planes.hpp"
#include "training.hpp"

namespace dsnc::LEVEL {
namespace nearest {

// What is known of a query while it goes through the blocks.
struct Notes {
    int64_t limit;    // the largest distance that may enter
    int k, n = 0;     // entries of the list, and of what is noted
    int within = 0;   // of these, not beyond the limit
    int32_t* counts;  // by distance
    uint64_t* noted;  // distance << 32 | row
    int n_noted;      // how many there is room for
};

// Drop what is beyond the limit: fewer than 2 k are left.
static void drop(Notes& notes) {
    int kept = 0;
    for (int x = 0; x < notes.n; ++x) {
        notes.noted[kept] = notes.noted[x];
        kept += static_cast<int64_t>(notes.noted[x] >> 32) <= notes.limit + 1;
    }
    notes.n = kept;
}

// Note down what may enter the list, of a block whose first code has this number.
template <class Distance>
static void note(const Distance* distances, int64_t first, Notes& notes) {
    for (int g = 0; g < block_size && notes.limit >= 0; g += 64) {
        uint64_t near = near_enough(distances + g, notes.limit);
        if (near != 0 && notes.n + 64 > notes.n_noted) drop(notes);
        for (; near != 0; near &= near - 1) {
            const int place = g + __builtin_ctzll(near);
            const int64_t distance = distances[place];
            if (distance > notes.limit) continue;  // it is lower than it was
            ++notes.counts[distance];
            notes.noted[notes.n++] = static_cast<uint64_t>(distance) << 32 | (first + place);
            ++notes.within;
            while (notes.within >= notes.k) notes.within -= notes.counts[notes.limit--];
        }
    }
}

// Put what was noted down in its place, by distance; leave out what is beyond the last one.
static void sort(const Notes& notes, int n_bits, int32_t* near) {
    const int64_t limit = notes.limit < n_bits ? notes.limit + 1 : n_bits;
    int filled = 0;
    for (int64_t distance = 0; distance <= limit; ++distance) {  // where each distance begins
        const int count = notes.counts[distance];
        notes.counts[distance] = filled;
        filled += count;
    }
    for (int x = 0; x < notes.n; ++x) {
        const auto distance = static_cast<int64_t>(notes.noted[x] >> 32);
        if (distance > limit) continue;
        const int place = notes.counts[distance]++;
        if (place < notes.k) near[place] = static_cast<int32_t>(notes.noted[x]);
    }
    for (int place = filled; place < notes.k; ++place) near[place] = -1;
}

// Distances to the codes of a tile, of two queries, or of one that goes through two blocks at once.
template <class Distance>
struct Tile {
    const ClassCodes& codes;
    Distance* distances[2];
    int64_t* lows[2];
    int64_t start;  // its first block
    int size;

    void measure_both(const uint8_t* const* octets, const Notes* notes) {
        for (int x = 0; x < size; ++x) measure(0, x, octets[0], notes[0], 1, x, octets[1], notes[1]);
    }

    void measure_alone(const uint8_t* octets, const Notes& notes) {
        const int steps = (size + 1) / 2;
        const int side = size > 1 ? 0 : 1;  // distances to two blocks must not be in the same place
        for (int x = 0; x < steps; ++x) {
            const int y = x + steps < size ? x + steps : size - 1;
            measure(0, x, octets, notes, side, y, octets, notes);
        }
    }

 private:
    void measure(int i, int x, const uint8_t* a, const Notes& notes_a,  //
                 int j, int y, const uint8_t* b, const Notes& notes_b) {
        const Side<Distance> first{block(x), a, distances[i] + x * block_size, notes_a.limit};
        const Side<Distance> second{block(y), b, distances[j] + y * block_size, notes_b.limit};
        const Least low = LEVEL::measure(codes.n_planes, first, second);
        lows[i][x] = hidden(x, first.distances, low.a);
        lows[j][y] = hidden(y, second.distances, low.b);
    }

    const uint8_t* block(int x) const { return codes.planes + (start + x) * codes.n_planes * block_size; }

    int64_t hidden(int x, Distance* of_block, int64_t low) const {
        const int64_t n = codes.n_codes - (start + x) * block_size;
        return n < block_size ? hide(of_block, n) : low;
    }
};

template <class Distance>
static void find(const ClassCodes& codes, int64_t first, int64_t last, int n_queries,
                 const uint8_t* const* octets, int k, int32_t* const* near, const SearchSpace& space) {
    Notes notes[2];
    auto* const distances = static_cast<Distance*>(space.distances);
    Tile<Distance> tile{codes,
                        {distances, distances + space.tile * block_size},
                        {space.lows, space.lows + space.tile},
                        first,
                        0};
    for (int q = 0; q < 2; ++q) {
        notes[q].limit = codes.n_bits;
        notes[q].k = k;
        notes[q].counts = space.counts + q * (codes.n_bits + 1);
        notes[q].noted = space.noted + q * static_cast<int64_t>(space.n_noted);
        notes[q].n_noted = space.n_noted;
        std::memset(notes[q].counts, 0, (codes.n_bits + 1) * sizeof(int32_t));
    }
    for (; tile.start < last; tile.start += space.tile) {
        tile.size = static_cast<int>(last - tile.start < space.tile ? last - tile.start : space.tile);
        if (n_queries == 2) tile.measure_both(octets, notes);
        else tile.measure_alone(octets[0], notes[0]);
        for (int q = 0; q < n_queries; ++q) {
            const int some = tile.size < sample ? tile.size : sample;
            if (tile.start == first)
                notes[q].limit = kth(tile.distances[q], tile.lows[q], some, k, codes.n_bits);
            for (int x = 0; x < tile.size; ++x)
                if (tile.lows[q][x] <= notes[q].limit)
                    note(tile.distances[q] + x * block_size, (tile.start + x) * block_size, notes[q]);
        }
    }
    for (int q = 0; q < n_queries; ++q) sort(notes[q], codes.n_bits, near[q]);
}

}  // namespace nearest

static void find_nearest(const ClassCodes& codes, int64_t first, int64_t last, int n_queries,
                         const uint8_t* const* octets, int k, int32_t* const* near,
                         const SearchSpace& space) {
    const auto find = are_distances_short(codes.n_bits) ? nearest::find<uint8_t> : nearest::find<uint16_t>;
    find(codes, first, last, n_queries, octets, k, near, space);
}

}  // namespace dsnc::LEVEL
