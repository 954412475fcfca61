// Multi-index hashing: search by looking near codes up instead of going through all of them.
//
// Bits are cut into m chunks, and every chunk has a table from its value to the rows that have it. A
// code within distance d of the query is within d / m of it in some chunk. So the values of each chunk
// are tried in the order of their distance r to the query's: when all chunks have been tried up to
// r - 1 and the first j up to r, whatever was not found is at distance m * r + j at least.
//
// M. Norouzi, A. Punjani, D. Fleet: Fast exact search in Hamming space with multi-index hashing, 2014.
#include "bits.hpp"
#include "level.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int64_t long_bucket = 32;  // from here on, a bucket's least distance is found before its
                                     // rows are looked at
constexpr double give_up = 1.2;  // of the scan's cost: what is ahead shrinks with all that is found
constexpr double explore_far = 0.1, explore_near = 0.3;  // share of it that may be spent without
                                                         // hope of an end
constexpr int64_t pilot = 64, skipped = 960;  // where almost no pilot gets through, so many are
                                              // scanned at once
constexpr LookupCosts costs;

// The number of differing bits of two codes.
DSNC_INLINE int64_t distance(const uint64_t* a, const uint64_t* b, int n_words) {
    int64_t bits = 0;
    for (int w = 0; w < n_words; ++w) bits += __builtin_popcountll(a[w] ^ b[w]);
    return bits;
}

// Put a key that is below the list's last one in its place; drop it if its owner has less.
void insert(const Lists& lists, int64_t query, int64_t key) {
    int64_t* const keys = lists.keys_of(query);
    int64_t* const owners = lists.owners_of(query);
    const int64_t owner = lists.owner_of(key);
    int64_t end = lists.k - 1;  // of what moves; behind it most lists are free
    int64_t place = 0;
    if (lists.labels != nullptr) {
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

// A word that stands beside the rows of a chunk, to judge them without their codes.
//
// Codes of one or two words stand there whole, word by word. Of longer ones it is 64 bits outside the
// chunk (those that follow it, then the first ones): their distance and the chunk's add up to a lower
// bound of the codes'.
DSNC_INLINE uint64_t signature(const uint64_t* code, int n_words, int n_bits, const Chunk& chunk, int part) {
    if (n_words <= 2) return code[part];
    const int end = chunk.start + chunk.width;
    const int behind = n_bits - end < 64 ? n_bits - end : 64;
    uint64_t value = bits_of(code, n_words, end, behind);
    if (behind < 64) {
        const int before = 64 - behind < chunk.start ? 64 - behind : chunk.start;
        value |= bits_of(code, n_words, 0, before) << behind;
    }
    return value;
}

// Sort the rows of every chunk by its value: counting sort, rows ascending in a bucket.
void fill_buckets(const Codes& codes, const Chunk* chunks, int n_chunks, int n_parts, uint32_t* offsets,
                  uint32_t* ids, uint64_t* signatures) {
    for (int j = 0; j < n_chunks; ++j) {
        const Chunk& chunk = chunks[j];
        uint32_t* const ends = offsets + chunk.base;
        const int64_t n_values = int64_t{1} << chunk.width;
        const auto value_of = [&](int64_t row) {
            return bits_of(codes[row], codes.n_words, chunk.start, chunk.width);
        };
        for (int64_t value = 0; value <= n_values; ++value) ends[value] = 0;
        for (int64_t row = 0; row < codes.n; ++row) ++ends[value_of(row) + 1];
        for (int64_t value = 0; value < n_values; ++value) ends[value + 1] += ends[value];
        for (int64_t row = 0; row < codes.n; ++row) {
            const int64_t place = j * codes.n + ends[value_of(row)]++;
            ids[place] = static_cast<uint32_t>(row);
            for (int part = 0; part < n_parts; ++part)
                signatures[n_parts * place + part] =
                    signature(codes[row], codes.n_words, codes.n_bits, chunk, part);
        }
        for (int64_t value = n_values; value > 0; --value) ends[value] = ends[value - 1];
        ends[0] = 0;
    }
}

// The search of some queries, one after the other.
struct Probe {
    const Codes& codes;
    const MultiIndex& index;
    const uint64_t* queries;
    const Lists& lists;
    const ProbeSpace& space;
    ProbeCounts counts;

    const uint64_t* query(int64_t i) const { return queries + i * codes.n_words; }
    // The last key of a list: from there on nothing enters it.
    int64_t last_of(int64_t i) const { return lists.keys_of(i)[lists.k - 1]; }
    int64_t* values_of(int64_t i) const { return space.values + i % probes_at_once * index.n_chunks; }

    void set_values(int64_t first, int64_t last);
    void set_signs(int64_t i, int64_t last);
    void compare_later(int64_t i);
    bool search(int64_t i);
    double try_chunk(int64_t i, int j, int r);
    int64_t list_buckets(int j, int64_t value, int64_t start, int64_t stop);
    void visit(int64_t i, int j, int r, int64_t n_buckets, int64_t& candidates, int64_t& checks);
    bool visit_nearest(int64_t i, int j, int64_t low, int64_t high, int64_t bound);
    int64_t least(int64_t low, int64_t high, uint64_t sign) const;
};

// Write the values of the queries' chunks, and ask for where their rows begin.
DSNC_INLINE void Probe::set_values(int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
        for (int j = 0; j < index.n_chunks; ++j) {
            const Chunk& chunk = index.chunks[j];
            const int64_t value =
                static_cast<int64_t>(bits_of(query(i), codes.n_words, chunk.start, chunk.width));
            values_of(i)[j] = value;
            __builtin_prefetch(index.offsets + chunk.base + value);
        }
    }
}

// Write the signatures of a query, and ask for those of the rows that the next one finds.
DSNC_INLINE void Probe::set_signs(int64_t i, int64_t last) {
    if (i + 1 < last) {
        for (int j = 0; j < index.n_chunks; ++j) {
            const int64_t bucket = index.chunks[j].base + values_of(i + 1)[j];
            const int64_t start = j * index.n + index.offsets[bucket];
            __builtin_prefetch(index.signatures + index.n_parts * start);
        }
    }
    for (int j = 0; j < index.n_chunks; ++j)
        for (int part = 0; part < index.n_parts; ++part)
            space.signs[2 * j + part] =
                signature(query(i), codes.n_words, codes.n_bits, index.chunks[j], part);
}

// Compare a query with the codes that came after the tables were made.
DSNC_INLINE void Probe::compare_later(int64_t i) {
    for (int64_t row = index.n; row < codes.n; ++row) {
        const int64_t key = (distance(codes[row], query(i), codes.n_words) << row_bits) + row;
        if (key < last_of(i)) insert(lists, i, key);
    }
}

// Search one query by growing radius; return whether its list is complete.
DSNC_INLINE bool Probe::search(int64_t i) {
    const int m = index.n_chunks, n_ahead = codes.n_bits + 2;
    const auto last_distance = [&] { return (last_of(i) - 1) >> row_bits; };
    double spent = 0;
    for (int r = 0; r < index.n_radii; ++r) {
        const int64_t end = smaller(last_distance(), n_ahead - 2);
        // Where the end is not in sight, a little may still be spent, for what it may find; more
        // where one radius further might do.
        const double explore = end < m * (r + 2) ? explore_near : explore_far;
        const double* ahead = index.ahead + r * n_ahead;
        if (r > 0 && spent + ahead[end] > give_up * index.scan_cost &&
            spent + ahead[n_ahead - 1] > explore * index.scan_cost)
            return false;
        for (int j = 0; j < m; ++j) {
            if (m * r + j > last_distance()) return true;
            spent += try_chunk(i, j, r);
            if (spent > index.scan_cost) return false;
        }
    }
    return false;
}

// Try the values of a chunk at distance r; return what that has cost.
DSNC_INLINE double Probe::try_chunk(int64_t i, int j, int r) {
    const int64_t* starts = index.mask_starts + index.chunks[j].width * index.n_mask_starts + r;
    double spent = 0;
    for (int64_t start = starts[0]; start < starts[1]; start += probes_at_once) {
        const int64_t stop = smaller(starts[1], start + probes_at_once);
        const int64_t n_buckets = list_buckets(j, values_of(i)[j], start, stop);
        int64_t candidates = 0, checks = 0;
        visit(i, j, r, n_buckets, candidates, checks);
        counts.lookups += stop - start;
        counts.candidates += candidates;
        counts.checks += checks;
        spent +=
            costs.lookup * static_cast<double>(stop - start) + costs.bucket * static_cast<double>(n_buckets) +
            costs.candidate * static_cast<double>(candidates) + costs.check * static_cast<double>(checks);
    }
    return spent;
}

// List where the rows begin and end of the values that some masks give; return how many there are.
DSNC_INLINE int64_t Probe::list_buckets(int j, int64_t value, int64_t start, int64_t stop) {
    int64_t n_buckets = 0;
    for (int64_t x = start; x < stop; ++x) {  // without branches: most buckets may be empty
        const int64_t place = index.chunks[j].base + (value ^ static_cast<int64_t>(index.masks[x]));
        const int64_t low = j * index.n + index.offsets[place];
        const int64_t high = j * index.n + index.offsets[place + 1];
        space.buckets[2 * n_buckets] = low;
        space.buckets[2 * n_buckets + 1] = high;
        __builtin_prefetch(index.signatures + index.n_parts * low);
        n_buckets += high > low;
    }
    return n_buckets;
}

// The least distance of the first words of some signatures.
DSNC_INLINE int64_t Probe::least(int64_t low, int64_t high, uint64_t sign) const {
    int64_t bits = 64;
    for (int64_t place = low; place < high; ++place)
        bits = smaller(bits, __builtin_popcountll(index.signatures[index.n_parts * place] ^ sign));
    return bits;
}

// Look for the one nearest code in a bucket, whose rows are likely near: no branch could be foretold.
DSNC_INLINE bool Probe::visit_nearest(int64_t i, int j, int64_t low, int64_t high, int64_t bound) {
    const uint64_t sign = space.signs[2 * j], second = space.signs[2 * j + 1];
    int64_t best = bound;
    for (int64_t place = low; place < high; ++place) {
        const uint64_t* words = index.signatures + index.n_parts * place;
        int64_t bits = __builtin_popcountll(words[0] ^ sign);
        if (index.n_parts == 2) bits += __builtin_popcountll(words[1] ^ second);
        best = smaller(best, (bits << row_bits) + index.ids[place]);
    }
    if (best >= bound) return false;
    lists.keys_of(i)[0] = best;
    lists.owners_of(i)[0] = lists.owner_of(best);
    return true;
}

// Look at the rows of some buckets; tell how many there are, and how many seemed near.
DSNC_INLINE void Probe::visit(int64_t i, int j, int r, int64_t n_buckets, int64_t& candidates,
                              int64_t& checks) {
    const bool exact = codes.n_words <= 2, two = index.n_parts == 2;
    const int64_t extra = exact ? 0 : r;  // the chunk's own share of the distance
    const uint64_t sign = space.signs[2 * j], second = space.signs[2 * j + 1];
    for (int64_t b = 0; b < n_buckets; ++b) {
        const int64_t low = space.buckets[2 * b], high = space.buckets[2 * b + 1];
        candidates += high - low;
        int64_t bound = last_of(i);
        if (high - low >= long_bucket && least(low, high, sign) + extra > bound >> row_bits) continue;
        if (r == 0 && exact && lists.k == 1) {
            visit_nearest(i, j, low, high, bound);
            continue;
        }
        for (int64_t place = low; place < high; ++place) {
            const uint64_t* words = index.signatures + index.n_parts * place;
            int64_t bits = __builtin_popcountll(words[0] ^ sign) + extra;
            if (two) bits += __builtin_popcountll(words[1] ^ second);
            if (bits > bound >> row_bits) continue;
            const int64_t row = index.ids[place];
            if (!exact) {
                ++checks;
                bits = distance(codes[row], query(i), codes.n_words);
            }
            const int64_t key = (bits << row_bits) + row;
            if (key < bound) {
                insert(lists, i, key);
                bound = last_of(i);
            }
        }
    }
}

// Bring the lists up to date, and set `done` where they are complete.
//
// The others cost less to scan: their lists hold true neighbors, not yet all of them.
ProbeCounts probe(const Codes& codes, const MultiIndex& index, const uint64_t* queries, int64_t n_queries,
                  const Lists& lists, bool* done, const ProbeSpace& space) {
    Probe one{codes, index, queries, lists, space, {}};
    int64_t failed = 0, tried = 0, skip = 0;
    for (int64_t first = 0; first < n_queries; first += probes_at_once) {
        const int64_t last = smaller(n_queries, first + probes_at_once);
        for (int64_t i = first; i < last; ++i) done[i] = false;
        if (skip > 0) {
            skip -= last - first;
            continue;
        }
        one.set_values(first, last);
        for (int64_t i = first; i < last; ++i) {
            one.compare_later(i);
            one.set_signs(i, last);
            done[i] = one.search(i);
            ++tried;
            failed += !done[i];
        }
        if (tried >= pilot) {
            if (static_cast<double>(failed) >= 0.95 * static_cast<double>(tried)) skip = skipped;
            failed = tried = 0;
        }
    }
    return one.counts;
}

}  // namespace

void add_multi_index(SearchKernels& kernels) {
    kernels.fill_buckets = fill_buckets;
    kernels.probe = probe;
}

}  // namespace dsnc::LEVEL
