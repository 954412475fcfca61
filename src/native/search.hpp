#pragma once
// Exact search among binary codes, and the classes of the nearest ones scored on soft bits.
//
// The nearest found so far are a sorted row of keys for each query. A key is `distance << row_bits |
// row`: keys ascend as neighbors are ordered, by distance and then by row, so that exactness in ties
// is one comparison of integers. Each entry has an owner, the class of its row or the row itself; an
// owner has one entry, its nearest. A free entry is `nothing`, owned by -1.
#include <cstddef>
#include <cstdint>

namespace dsnc {

constexpr int row_bits = 40;  // of a key, for the row
constexpr int64_t row_mask = (int64_t{1} << row_bits) - 1;
constexpr int64_t nothing = (int64_t{1} << 62) - 1;

// Codes, 64 bits to a word: bit j of a code is bit j % 64 of its word j / 64.
struct Codes {
    const uint64_t* words;
    int64_t n;
    int n_bits;
    int n_words;

    const uint64_t* operator[](int64_t row) const { return words + row * n_words; }
};

// The lists of some queries, and what may enter them.
struct Lists {
    const int64_t* labels;  // the owner of each code; null where each owns itself
    int64_t k;
    int64_t* keys;
    int64_t* owners;

    int64_t* keys_of(int64_t query) const { return keys + query * k; }
    int64_t* owners_of(int64_t query) const { return owners + query * k; }
    int64_t owner_of(int64_t key) const {
        if (key == nothing) return -1;
        return labels != nullptr ? labels[key & row_mask] : key & row_mask;
    }
};

// Some consecutive bits of the codes.
struct Chunk {
    int start;
    int width;
    int64_t base;  // place of its offsets
};

// What it costs to look near codes up, in nanoseconds on a typical machine.
//
// They are fixed, so that the same queries are looked up in every run, however busy the machine:
// twice or half as much makes most searches hardly slower.
struct LookupCosts {
    double lookup = 12, bucket = 16, candidate = 3, check = 36;
};

// A multi-index: for each chunk a table from its value to the rows that have it.
struct MultiIndex {
    int64_t n;    // codes in the tables; those that came later are compared one by one
    int n_parts;  // words of a signature
    int n_chunks;
    const Chunk* chunks;
    const uint32_t* offsets;     // of each value of each chunk: where its rows begin
    const uint32_t* ids;         // rows, by chunk and value
    const uint64_t* signatures;  // of these rows
    const uint32_t* masks;       // values by their number of bits: those of r bits, for chunks
    const int64_t* mask_starts;  // `width` wide, begin at [width * (n_radii_listed + 1) + r]
    int n_mask_starts;           // of a width
    int n_radii;
    double scan_cost;     // of a query
    const double* ahead;  // [r * (n_bits + 2) + d]: going on from radius r to distance d costs so
                          // much; the last of each r: radius r alone
};

struct ProbeCounts {
    int64_t lookups = 0, candidates = 0, checks = 0;
};

// Scratch space of one thread.
struct ProbeSpace {
    int64_t* values;   // (probes_at_once, n_chunks)
    uint64_t* signs;   // (n_chunks, 2)
    int64_t* buckets;  // (probes_at_once, 2)
};

constexpr int probes_at_once = 64;  // queries whose first lookups, and values whose buckets, are
                                    // asked for together

// A set of the cheapest bits of a chunk: one that came before, and a bit of higher rank.
struct Flip {
    uint16_t before;
    uint8_t rank;
};

// A search for likely codes: see likely.cpp.
struct LikelyCodes {
    Codes codes;
    MultiIndex index;
    const Flip* flips;  // the sets of bits that are tried in each chunk, the empty one first
    int64_t n_flips;
    int64_t most;    // codes that are found
    int64_t* found;  // (most,)
    // Scratch space.
    int64_t* rows;      // (most,)
    int64_t* buckets;   // (n_flips, 2)
    uint32_t* values;   // (n_chunks, n_flips)
    uint32_t* bits;     // (n_bits,)
    uint32_t* costs;    // (8 * n_words, 256)
};

constexpr int block_size = 512;  // codes whose bytes lie side by side
constexpr int queries_at_once = 64;  // that go through the codes together

// Codes in planes: byte p of each code of a block side by side. Zeros fill up the last block, and planes
// to a multiple of four.
struct Planes {
    uint8_t* bytes;  // (n_blocks, n_planes, block_size)
    int64_t n_codes, n_blocks;
    int n_bits, n_planes;
};

constexpr int most_bits_of_planes = 65534;  // a distance that nothing has fits two bytes, too

constexpr int planes_of(int n_bits) { return 4 * ((n_bits + 31) / 32); }

// What a thread needs for a scan.
struct ScanSpace {
    int tile;         // blocks that queries go through while these are in the cache
    void* distances;  // (2, tile, block_size), of one byte, or of two where distances are wide
    int64_t* lows;    // (2, tile)
    int32_t* counts;  // (n_queries, n_bits + 1)
    int64_t* noted;   // (n_queries, n_noted)
    int64_t n_noted;
    int64_t* best;  // (n_queries, n_owners): `nothing` before and after; where codes have labels
    int64_t n_owners;
};

// A scan of some blocks of codes, which makes the lists of some queries.
struct Scan {
    Planes planes;
    int64_t first, last;            // blocks
    const uint8_t* const* queries;  // the bytes of each, as many as there are planes
    int64_t* const* keys;           // the list of each, whatever it holds
    int n_queries;
    int64_t k;
    const int64_t* labels;  // as those of lists; null where k is 1
    bool is_wide;  // whether distances above 254 are told apart; else a code that far is not found
    ScanSpace space;
};

// How the classes of the nearest codes are scored:
//
//     score[k] = bias[k] + sum_j soft[j] * weight[k, j] - closeness * doubt[k]
//
// soft[j] is tanh(half * logit[j]); with 0.5, the expected value of a bit. doubt[k] sums abs(logit[j])
// over the bits in which the query's code differs from the nearest one of class k.
struct Scoring {
    const float* weight;
    const float* bias;
    float closeness;
    float half;
};

// Classes of queries to put in order.
struct Ranking {
    Codes codes;
    const uint64_t* queries;
    const float* logits;
    bool hard;  // logits are signs, and the bits count for what they are
    Lists lists;
    int64_t size;    // the first so many classes are candidates,
    int64_t beyond;  // those with smaller keys
    Scoring scoring;
    int64_t n;
    int64_t k;
    int64_t* classes;  // (n, k): -1 where there are fewer
    float* scores;     // (n, k)
    int64_t* inside;   // (n,): how many candidates there are
    float* soft;       // (n_bits,): scratch space
};

// Rows of a CSR matrix, and a linear layer.
struct CsrRows {
    int64_t n;
    int64_t n_entries;
    const int64_t* starts;  // where the entries of each row begin; one more at the end
    const int32_t* features;
    const float* floats;    // their values, in one of two types
    const double* doubles;
};

struct Layer {
    const float* weight;  // (n_features, n_bits)
    const float* bias;
    int64_t n_features;
    int n_bits;
};

enum class Encoding { fine, not_a_number, scattered, outside };

struct SearchKernels {
    void (*fill_planes)(const Codes&, int n_planes, uint8_t* planes);
    void (*scan)(const Scan&);
    void (*fill_buckets)(const Codes&, const Chunk*, int n_chunks, int n_parts, uint32_t* offsets,
                         uint32_t* ids, uint64_t* signatures);
    ProbeCounts (*probe)(const Codes&, const MultiIndex&, const uint64_t* queries, int64_t n_queries,
                         const Lists&, bool* done, const ProbeSpace&);
    int64_t (*find_likely)(const LikelyCodes&, const uint64_t* query, const float* logits);
    bool (*pack)(const float* logits, int64_t n, int n_bits, uint64_t* words);
    void (*rank)(const Ranking&);
    void (*multiply)(const float* soft, const float* weight, const int64_t* classes, int64_t n, int64_t width,
                     int n_bits, float* products);
    void (*doubt)(const Codes&, const uint64_t* queries, const int64_t* rows, const float* logits, int64_t n,
                  int64_t width, float* doubts);
    void (*line_up)(const float* scores, int64_t n, int64_t n_classes, int64_t first, int64_t k,
                    int64_t* classes, float* best);
    Encoding (*encode)(const CsrRows&, const Layer&, bool unit, float* logits, uint64_t* words);
    void (*encode_dense)(const float* rows, int64_t n, const Layer&, float* logits);
};

}  // namespace dsnc
