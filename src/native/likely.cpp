// Search for the codes that a row most likely has, by looking near ones up: no exact search.
//
// A row knows which of its bits are unsure: it costs |logit| to flip one, and a code is the likelier
// the less the bits cost in which it differs. A multi-index has a table for every chunk of the bits,
// from its value to the rows that have it. In each chunk those values are tried in which the cheapest
// bits are flipped, so that a likely code is missed only if it is unlikely in every single chunk.
//
// Which bits are the cheapest depends on the row; which sets of them are tried does not. With bits
// numbered by rank, sets go by the sum of their ranks, since costs grow about evenly near 0. Counting
// what the sets of each row cost instead was tried: it takes longer, and finds no more.
//
// Q. Lv, W. Josephson, Z. Wang, M. Charikar, K. Li: Multi-probe LSH, 2007.
#include "bits.hpp"
#include "level.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr float sure = 1e6f;      // no bit costs more
constexpr float whole = 1 << 20;  // what all bits of a row cost together, rounded to integers
constexpr int64_t codes_ahead = 8;  // that are asked for before they are compared

// One query: what its bits cost, and what has been found.
struct Probe {
    const LikelyCodes& task;
    const uint64_t* query;
    int64_t n_found = 0;

    void set_costs(const float* logits);
    void list_values(int j);
    void look_up(int j);
    void compare_beside(int64_t low, int64_t high);
    void compare_listed(int64_t n);
    uint32_t cost(const uint64_t* code) const;
    void add(const uint64_t* code, int64_t row) {
        task.found[n_found++] = (static_cast<int64_t>(cost(code)) << row_bits) + row;
    }
    bool is_full(int64_t more) const { return n_found + more > task.most; }
};

// What each value of a byte of differing bits costs, so that a code takes a lookup for each byte.
DSNC_INLINE void Probe::set_costs(const float* logits) {
    const int n_bits = task.codes.n_bits;
    float total = 0;
    for (int j = 0; j < n_bits; ++j) {
        const float size = __builtin_fabsf(logits[j]);
        total += size < sure ? size : sure;
    }
    const float scale = total > 0 ? whole / total : 0;
    for (int j = 0; j < 64 * task.codes.n_words; ++j) {
        const float size = j < n_bits ? __builtin_fabsf(logits[j]) : 0;
        const auto own = static_cast<uint32_t>((size < sure ? size : sure) * scale + 0.5f);
        if (j < n_bits) task.bits[j] = own;
        uint32_t* const costs = task.costs + 256 * (j / 8);
        const int bit = 1 << j % 8;
        if (bit == 1) costs[0] = 0;
        for (int value = 0; value < bit; ++value) costs[bit + value] = costs[value] + own;
    }
}

DSNC_INLINE uint32_t Probe::cost(const uint64_t* code) const {
    uint32_t total = 0;
    for (int w = 0; w < task.codes.n_words; ++w) {
        const uint64_t differing = code[w] ^ query[w];
        const uint32_t* costs = task.costs + 2048 * w;
        for (int byte = 0; byte < 8; ++byte, costs += 256) total += costs[differing >> 8 * byte & 255];
    }
    return total;
}

// Write the values of a chunk that are tried.
DSNC_INLINE void Probe::list_values(int j) {
    const Chunk& chunk = task.index.chunks[j];
    const uint32_t* const costs = task.bits + chunk.start;
    uint32_t bits[32];  // the cheapest first
    for (int bit = 0; bit < chunk.width; ++bit) {
        int place = bit;
        for (; place > 0 && costs[__builtin_ctz(bits[place - 1])] > costs[bit]; --place)
            bits[place] = bits[place - 1];
        bits[place] = uint32_t{1} << bit;
    }
    uint32_t* const values = task.values + j * task.n_flips;
    for (int64_t x = 0; x < task.n_flips; ++x) {
        const Flip& flip = task.flips[x];
        if (x == 0)
            values[x] = static_cast<uint32_t>(bits_of(query, task.codes.n_words, chunk.start, chunk.width));
        else  // the first value again, where the chunk is too narrow
            values[x] = flip.rank < chunk.width ? values[flip.before] ^ bits[flip.rank] : values[0];
        __builtin_prefetch(task.index.offsets + chunk.base + values[x]);
    }
}

// Compare the rows of a bucket, whose codes stand beside them.
DSNC_INLINE void Probe::compare_beside(int64_t low, int64_t high) {
    const int n_words = task.codes.n_words;
    for (int64_t place = low; place < high; ++place)
        add(task.index.signatures + n_words * place, task.index.ids[place]);
}

// Compare the rows that have been listed.
DSNC_INLINE void Probe::compare_listed(int64_t n) {
    for (int64_t x = 0; x < n; ++x) {
        if (x + codes_ahead < n) __builtin_prefetch(task.codes[task.rows[x + codes_ahead]]);
        add(task.codes[task.rows[x]], task.rows[x]);
    }
}

// Look the values of a chunk up, and compare what they find.
DSNC_INLINE void Probe::look_up(int j) {
    const MultiIndex& index = task.index;
    const bool beside = task.codes.n_words <= 2;
    const uint32_t* const offsets = index.offsets + index.chunks[j].base;
    const uint32_t* const values = task.values + j * task.n_flips;
    int64_t n = 0, n_rows = 0;
    for (int64_t x = 0; x < task.n_flips; ++x) {  // without branches: many buckets may be empty
        const int64_t low = j * index.n + offsets[values[x]];
        const int64_t high = j * index.n + offsets[values[x] + 1];
        __builtin_prefetch(index.ids + low);
        if (beside) __builtin_prefetch(index.signatures + index.n_parts * low);
        task.buckets[2 * n] = low;
        task.buckets[2 * n + 1] = high;
        n += high > low && (x == 0 || values[x] != values[0]);
    }
    for (int64_t b = 0; b < n; ++b) {
        const int64_t low = task.buckets[2 * b], high = task.buckets[2 * b + 1];
        if (is_full(n_rows + high - low)) break;
        if (beside) {
            compare_beside(low, high);
            continue;
        }
        for (int64_t place = low; place < high; ++place) task.rows[n_rows++] = index.ids[place];
    }
    compare_listed(n_rows);
}

// Write the keys of the codes that were found, in no order, some more than once; return how many.
// What a key has for a distance is the cost of the bits that differ.
int64_t find_likely(const LikelyCodes& task, const uint64_t* query, const float* logits) {
    Probe probe{task, query};
    probe.set_costs(logits);
    for (int j = 0; j < task.index.n_chunks; ++j) probe.list_values(j);
    // Codes that came after the tables were made are compared one by one.
    for (int64_t row = task.index.n; row < task.codes.n; ++row) probe.add(task.codes[row], row);
    for (int j = 0; j < task.index.n_chunks; ++j) probe.look_up(j);
    return probe.n_found;
}

}  // namespace

void add_likely(SearchKernels& kernels) { kernels.find_likely = find_likely; }

}  // namespace dsnc::LEVEL
