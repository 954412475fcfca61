#pragma once
// Lists that grow by insertion: see search.hpp for what they are.
#include "search.hpp"
#include "simd.hpp"

namespace dsnc::LEVEL {

DSNC_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// The key from which on nothing enters a query's list: its last one, or what is farther than the first
// by more than the slack.
DSNC_INLINE int64_t bound_of(const Lists& lists, int64_t query) {
    const int64_t* keys = lists.keys_of(query);
    return smaller(keys[lists.k - 1], ((keys[0] >> row_bits) + lists.slack + 1) << row_bits);
}

// The number of differing bits of two codes.
DSNC_INLINE int64_t distance(const uint64_t* a, const uint64_t* b, int n_words) {
    int64_t bits = 0;
    for (int w = 0; w < n_words; ++w) bits += __builtin_popcountll(a[w] ^ b[w]);
    return bits;
}

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

// Put a key that is below the list's last one in its place; drop it if its owner has less.
inline void insert(const Lists& lists, int64_t query, int64_t key) {
    int64_t* const keys = lists.keys_of(query);
    int64_t* const owners = lists.owners_of(query);
    int64_t owner = key & row_mask;
    int64_t end = lists.k - 1;  // of what moves; behind it most lists are free
    int64_t place = 0;
    if (lists.labels != nullptr) {
        owner = lists.labels[owner];
        for (int64_t entry = 0; entry < lists.k; ++entry) {
            if (owners[entry] == owner) {
                if (keys[entry] <= key) return;
                end = entry;
                break;
            }
            if (keys[entry] == nothing) {
                end = entry;
                break;
            }
        }
        while (place < end && keys[place] < key) ++place;
    } else {
        while (keys[place] < key) ++place;
        if (keys[place] == key) return;  // a code that was found before
        int64_t entry = place;
        while (entry < end && keys[entry] != nothing) ++entry;
        end = entry;
    }
    for (int64_t entry = end; entry > place; --entry) {
        keys[entry] = keys[entry - 1];
        owners[entry] = owners[entry - 1];
    }
    keys[place] = key;
    owners[place] = owner;
}

}  // namespace dsnc::LEVEL
