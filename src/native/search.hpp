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
constexpr int64_t no_slack = 1 << 20;  // farther than any code: only its length limits a list

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
    int64_t slack;          // bits beyond a list's first from which on nothing enters
    int64_t k;
    int64_t* keys;
    int64_t* owners;

    int64_t* keys_of(int64_t query) const { return keys + query * k; }
    int64_t* owners_of(int64_t query) const { return owners + query * k; }
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

// A scan of all codes for some of the queries.
struct Scan {
    Codes codes;
    const uint8_t* planes;  // (n_blocks, n_planes, block): byte p of so many codes side by side
    int64_t n_blocks;
    int n_planes;
    const uint64_t* queries;
    const int64_t* rows;  // the numbers of the queries to serve
    int64_t n_rows;
    Lists lists;
    int64_t tile;    // blocks whose distances are kept until the nearest of them is known
    uint8_t* sums;   // (2, tile, block): scratch space
    int64_t* lows;   // (2, tile): scratch space
    // Scratch space of lists that are made by counting; null where lists grow by insertion.
    int64_t* counts;  // (8 * n_planes + 1,): owners at each distance
    int64_t* noted;   // (codes.n,): rows
    int64_t* best;    // (n_owners,): the nearest key of each; `nothing` before and after
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
    const void* indptr;
    const void* indices;
    const void* data;
    bool wide_indices;  // 64 bits; of indptr as well
    bool wide_data;     // double
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
    void (*scan_words)(const Codes&, const uint64_t* queries, const int64_t* rows, int64_t n_rows,
                       const Lists&);
    // Write the key of the nearest code of each owner; `best` is `nothing` before.
    void (*nearest_of_owners)(const Codes&, const uint64_t* query, const int64_t* labels, int64_t* best);
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
