// Exhaustive search over planes of bytes (see planes.hpp), unless codes are far.
//
// A list of one or two is kept sorted while codes come. A longer one would move its entries again and
// again; but a distance is a small integer. So, with all distances at hand, codes are gone through in
// the order of their rows: how many owners there are at each distance tells which codes can still enter
// the list, these are noted down, and one counting sort puts them in their places. Equal distances stay
// in the order of their rows.
#include "level.hpp"
#include "lists.hpp"
#include "planes.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int group = 32;  // distances that are looked at together where a block has something near
constexpr int lanes = 64;  // that `up_to` tells together

void fill_planes(const Codes& codes, int n_planes, uint8_t* planes) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(codes.words);
    for (int64_t row = 0; row < codes.n; ++row) {
        uint8_t* const place = planes + row / block_size * n_planes * block_size + row % block_size;
        for (int p = 0; p < n_planes; ++p) place[p * block_size] = bytes[row * 8 * codes.n_words + p];
    }
}

// The distances of one query to the codes of a tile.
struct Tile {
    const Codes& codes;
    const Lists& lists;
    int64_t query;
    int64_t first;         // block
    int64_t size;          // blocks
    const uint8_t* sums;   // (size, block_size)
    const int64_t* lows;   // (size,): the least of each block; one beyond the limit is not looked at
    int64_t limit;         // nothing enters the list that is farther

    int64_t distance(int64_t row) const { return sums[row - first * block_size]; }
    int64_t owner(int64_t row) const { return lists.labels ? lists.labels[row] : row; }
};

// Put the codes of a block that are no farther than the limit into the query's list.
void insert_block(const Tile& tile, int64_t x) {
    const uint8_t* const distances = tile.sums + x * block_size;
    const int64_t start = (tile.first + x) * block_size;
    const int64_t n = smaller(block_size, tile.codes.n - start);
    const int64_t limit = (tile.limit + 1) << row_bits;
    int64_t bound = smaller(bound_of(tile.lists, tile.query), limit);
    for (int64_t begin = 0; begin < n; begin += group) {
        uint8_t low = 255;
        for (int g = 0; g < group; ++g) low = distances[begin + g] < low ? distances[begin + g] : low;
        if ((static_cast<int64_t>(low) << row_bits) + start + begin >= bound) continue;
        const int64_t end = smaller(begin + group, n);
        for (int64_t g = begin; g < end; ++g) {
            const int64_t key = (static_cast<int64_t>(distances[g]) << row_bits) + start + g;
            if (key < bound) {
                insert(tile.lists, tile.query, key);
                bound = smaller(bound_of(tile.lists, tile.query), limit);
            }
        }
    }
}

// A list that is made by counting: see `Scan` for its scratch space.
struct Counting {
    int64_t largest;  // distance
    int64_t* counts;
    int64_t* noted;
    int64_t* best;
    int64_t n = 0;  // rows noted down
};

// Note down each row that is its owner's nearest so far and may enter the list.
//
// Once k owners have something at distance d or nearer, no further code at d may enter: of equal
// distances, the earlier rows count.
void note(const Tile& tile, Counting& found) {
    const int64_t* const labels = tile.lists.labels;
    int64_t limit = smaller(tile.limit, smaller(found.largest, 255)), within = 0;
    if (labels == nullptr)  // k codes are k owners
        limit = smaller(limit, kth(tile.sums, tile.lows, static_cast<int>(smaller(tile.size, sample)),
                                   static_cast<int>(tile.lists.k), limit));
    for (int64_t distance = 0; distance <= found.largest; ++distance) found.counts[distance] = 0;
    for (int64_t x = 0; x < tile.size; ++x) {
        if (tile.lows[x] > limit) continue;
        for (int first = 0; first < block_size; first += lanes) {
            const uint8_t* const distances = tile.sums + x * block_size + first;
            uint64_t near = limit < 0 ? 0 : up_to(load(distances), static_cast<uint8_t>(limit));
            for (; near != 0; near &= near - 1) {
                const int64_t row = (tile.first + x) * block_size + first + __builtin_ctzll(near);
                if (row >= tile.codes.n) break;
                const int64_t distance = tile.distance(row);
                if (distance > limit) continue;  // it is lower than it was
                bool is_new = true;
                if (labels != nullptr) {
                    int64_t& best = found.best[labels[row]];
                    const int64_t before = best >> row_bits;
                    if (before <= distance) continue;
                    if (best != nothing) --found.counts[before];
                    is_new = before > limit;
                    best = (distance << row_bits) + row;
                }
                ++found.counts[distance];
                found.noted[found.n++] = row;
                within += is_new;
                while (within >= tile.lists.k) within -= found.counts[limit--];
            }
        }
    }
}

// Put what was noted down in its place, by distance; leave out what is beyond the last one.
void sort(const Tile& tile, Counting& found) {
    int64_t* const keys = tile.lists.keys_of(tile.query);
    int64_t* const owners = tile.lists.owners_of(tile.query);
    int64_t filled = 0;
    for (int64_t distance = 0; distance <= found.largest; ++distance) {  // where each begins
        const int64_t here = found.counts[distance];
        found.counts[distance] = filled;
        filled += here;
    }
    for (int64_t x = 0; x < found.n; ++x) {
        const int64_t row = found.noted[x], distance = tile.distance(row);
        const int64_t key = (distance << row_bits) + row;
        if (tile.lists.labels != nullptr && found.best[tile.lists.labels[row]] != key)
            continue;  // its owner has something nearer
        const int64_t place = found.counts[distance]++;
        if (place < tile.lists.k) {
            keys[place] = key;
            owners[place] = tile.owner(row);
        }
    }
    for (int64_t place = filled; place < tile.lists.k; ++place) {
        keys[place] = nothing;
        owners[place] = -1;
    }
}

// Write the list of a query, whatever it held, from the distances to all codes.
void count(const Tile& tile, Counting found) {
    note(tile, found);
    sort(tile, found);
    if (tile.lists.labels == nullptr) return;
    for (int64_t x = 0; x < found.n; ++x) found.best[tile.lists.labels[found.noted[x]]] = nothing;
}

// A tile for a pair of queries, or for one alone, which then goes through two blocks at once.
struct Pass {
    const Scan& task;
    int64_t first, size;  // blocks
    int64_t query[2];
    int64_t limit[2];  // the largest distance that would still enter the list, or is in it
    bool alone;

    const uint8_t* bytes(int64_t i) const {
        return reinterpret_cast<const uint8_t*>(task.queries + i * task.codes.n_words);
    }
    Side<uint8_t> side(int which, int64_t x) const {
        const int row = alone ? 0 : which;
        return {task.planes + (first + x) * task.n_planes * block_size, bytes(query[which]),
                task.sums + (row * task.tile + x) * block_size, limit[which]};
    }
    void measure_all();
    void measure_pair(int64_t x, int64_t y, int64_t beyond);
    void fill(int which) const;
};

void Pass::measure_pair(int64_t x, int64_t y, int64_t beyond) {
    const Side<uint8_t> a = side(0, x), b = side(1, y);
    const Least least = measure(task.n_planes, a, b);
    const int64_t n = task.codes.n - first * block_size;
    const int64_t low_a = n < (x + 1) * block_size ? hide(a.distances, n - x * block_size) : least.a;
    const int64_t low_b = n < (y + 1) * block_size ? hide(b.distances, n - y * block_size) : least.b;
    task.lows[x] = low_a;
    task.lows[(alone ? 0 : task.tile) + y] = low_b;
    limit[0] = smaller(limit[0], low_a + beyond);
    limit[1] = smaller(limit[1], low_b + beyond);
}

void Pass::measure_all() {
    const int64_t beyond = task.lists.k > 1 ? task.lists.slack : 0;
    if (!alone) {
        for (int64_t x = 0; x < size; ++x) measure_pair(x, x, beyond);
        return;
    }
    const int64_t steps = (size + 1) / 2;
    for (int64_t x = 0; x < steps; ++x) measure_pair(x, smaller(x + steps, size - 1), beyond);
    limit[0] = smaller(limit[0], limit[1]);
}

// Put what is near enough into the list of one of the queries.
void Pass::fill(int which) const {
    const int64_t place = which * task.tile;
    const Tile tile{task.codes,        task.lists,  query[which], first, size, task.sums + place * block_size,
                    task.lows + place, limit[which]};
    if (task.counts != nullptr) {
        count(tile, {8 * task.n_planes, task.counts, task.noted, task.best});
        return;
    }
    for (int64_t x = 0; x < size; ++x)
        if (tile.lows[x] <= tile.limit) insert_block(tile, x);
}

// Bring the lists of some queries up to date with all codes.
//
// Only when the least distance of a whole tile is known, what is near enough is put into the lists.
// Lists that are made by counting need a tile of all codes.
void scan(const Scan& task) {
    const bool alone = task.n_rows == 1;
    for (int64_t first = 0; first < task.n_blocks; first += task.tile) {
        const int64_t size = smaller(task.n_blocks - first, task.tile);
        const int64_t seen = task.counts != nullptr ? 0 : first * block_size + 1;
        for (int64_t pair = 0; pair < task.n_rows; pair += 2) {
            const int64_t i = task.rows[pair];
            const int64_t j = task.rows[smaller(pair + 1, task.n_rows - 1)];
            Pass pass{
                task,
                first,
                size,
                {i, j},
                {(bound_of(task.lists, i) - seen) >> row_bits, (bound_of(task.lists, j) - seen) >> row_bits},
                alone && size > 1};
            pass.measure_all();
            pass.fill(0);
            if (i != j) pass.fill(1);
        }
    }
}

// Bring the lists of some queries up to date with all codes, word by word: for codes so long that
// distances do not fit a byte.
void scan_words(const Codes& codes, const uint64_t* queries, const int64_t* rows, int64_t n_rows,
                const Lists& lists) {
    for (int64_t first = 0; first < codes.n; first += block_size) {
        for (int64_t r = 0; r < n_rows; ++r) {
            const int64_t i = rows[r];
            int64_t bound = bound_of(lists, i);
            for (int64_t row = first; row < smaller(first + block_size, codes.n); ++row) {
                const uint64_t* const query = queries + i * codes.n_words;
                const int64_t key = (distance(codes[row], query, codes.n_words) << row_bits) + row;
                if (key < bound) {
                    insert(lists, i, key);
                    bound = bound_of(lists, i);
                }
            }
        }
    }
}

void nearest_of_owners(const Codes& codes, const uint64_t* query, const int64_t* labels, int64_t* best) {
    for (int64_t row = 0; row < codes.n; ++row) {
        const int64_t key = (distance(codes[row], query, codes.n_words) << row_bits) + row;
        int64_t& mine = best[labels != nullptr ? labels[row] : row];
        mine = smaller(mine, key);
    }
}

}  // namespace

void add_scan(SearchKernels& kernels) {
    kernels.fill_planes = fill_planes;
    kernels.scan = scan;
    kernels.scan_words = scan_words;
    kernels.nearest_of_owners = nearest_of_owners;
}

}  // namespace dsnc::LEVEL
