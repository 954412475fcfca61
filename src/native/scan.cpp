// Exhaustive search over planes of bytes.
//
// Byte p of 512 codes, a block, lies together: so one instruction works on as many codes as a register
// has bytes, and distances are sums of bytes. Two queries share each reading of a block; a single query
// goes through two blocks at once. Planes come in fours, and are added eight at a time: after that it is
// known whether any code of the block is still near enough for the rest to matter.
//
// All queries go through some blocks (a tile) while these are in the cache. A sorted list would move its
// entries again and again; but a distance is a small integer. So what can still enter a list is noted
// down in the order of rows, and how many owners there are at each distance tells what can: once k of
// them are at distance d or nearer, no further code at d may enter, for of equal distances the earlier
// rows count. At the end, a counting sort puts what was noted in its place.
#include "bits.hpp"
#include "level.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr int lanes = 64;  // codes that are looked at together
constexpr int sample = 2;  // blocks that tell how far the first codes may be that are noted down

// One of the two queries that are compared at the same time. `Distance` is uint8_t, where sums stay
// at 255, or uint16_t.
template <class Distance>
struct Side {
    const uint8_t* block;  // (n_planes, block_size)
    const uint8_t* query;  // n_planes bytes
    Distance* distances;   // block_size, which are written
    int64_t limit;         // the largest distance of interest
};

// The least distances of the two.
struct Least {
    int64_t a, b;
};

template <int n>
DSNC_INLINE Octets distances_of(const uint8_t* column, const uint8_t* query) {
    Octets sum = popcount(load(column) ^ all(query[0]));
    for (int p = 1; p < n; ++p) sum = sum + popcount(load(column + p * block_size) ^ all(query[p]));
    return sum;
}

// Write the distances in n planes from plane p on, or add them to what is there.
template <int n, bool adds>
DSNC_INLINE Least add(const Side<uint8_t>& a, const Side<uint8_t>& b, int p) {
    const uint8_t* const first = a.block + p * block_size;
    const uint8_t* const second = b.block + p * block_size;
    Octets low_a = all(uint8_t{255}), low_b = low_a;
    for (int g = 0; g < block_size; g += lanes) {
        Octets sum_a = distances_of<n>(first + g, a.query + p);
        Octets sum_b = distances_of<n>(second + g, b.query + p);
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

// Add bytes to longer numbers; return the least of these.
DSNC_INLINE int64_t widen(const uint8_t* bytes, uint16_t* distances, bool adds) {
    uint16_t low = 65535;
    for (int g = 0; g < block_size; ++g) {
        const uint16_t before = adds ? distances[g] : 0;
        distances[g] = static_cast<uint16_t>(before + bytes[g]);
        low = distances[g] < low ? distances[g] : low;
    }
    return low;
}

template <int n, bool adds>
DSNC_INLINE Least add(const Side<uint16_t>& a, const Side<uint16_t>& b, int p) {
    uint8_t bytes[2][block_size];
    add<n, false>(Side<uint8_t>{a.block, a.query, bytes[0], 0}, Side<uint8_t>{b.block, b.query, bytes[1], 0},
                  p);
    return {widen(bytes[0], a.distances, adds), widen(bytes[1], b.distances, adds)};
}

template <class Distance>
DSNC_INLINE Least add_up(int n_planes, const Side<Distance>& a, const Side<Distance>& b) {
    int p = n_planes % 8 != 0 ? 4 : 8;
    Least low = p == 4 ? add<4, false>(a, b, 0) : add<8, false>(a, b, 0);
    for (; p < n_planes && (low.a <= a.limit || low.b <= b.limit); p += 8) low = add<8, true>(a, b, p);
    return low;
}

// Write the distances of two queries to the codes of a block each, which may be the same block; of
// the first planes only where both queries' limits are exceeded by these.
template <class Distance>
Least measure(int n_planes, Side<Distance> a, Side<Distance> b) {
    if (a.block != b.block) return add_up(n_planes, a, b);
    b.block = a.block;  // in so many words, so that it is read once
    return add_up(n_planes, a, b);
}

// Bit i is set where distance i of 64 is no larger than the limit.
DSNC_INLINE uint64_t near_enough(const uint8_t* distances, int64_t limit) {
    return up_to(load(distances), static_cast<uint8_t>(limit));
}

DSNC_INLINE uint64_t near_enough(const uint16_t* distances, int64_t limit) {
    uint8_t beyond[lanes];
    for (int g = 0; g < lanes; ++g) beyond[g] = distances[g] > limit;
    return up_to(load(beyond), 0);
}

// Make what is not there the farthest of all; return the least distance.
template <class Distance>
int64_t hide(Distance* distances, int64_t n_codes) {
    const size_t n = n_codes > 0 ? static_cast<size_t>(n_codes) : 0;
    std::memset(distances + n, 255, (block_size - n) * sizeof(Distance));
    Distance low = distances[0];
    for (int g = 1; g < block_size; ++g) low = distances[g] < low ? distances[g] : low;
    return low;
}

// What is known of a query while it goes through the blocks.
struct Notes {
    int64_t limit;    // the largest distance that may enter
    int32_t* counts;  // owners by distance
    int64_t* noted;   // keys
    int64_t* best;    // the least key of each owner, where there are labels
    int64_t n;        // how many are noted,
    int64_t within;   // and owners that are not beyond the limit
};

template <class Distance>
class Scanner {
 public:
    explicit Scanner(const Scan& task);
    void run();

 private:
    void measure_both(int i, int j);
    void measure_alone(int i);
    void measure_two(int side, int x, int i, int other_side, int y, int j);
    int64_t hidden(int x, Distance* distances, int64_t low) const;
    int64_t kth(int side) const;
    void note_tile(int side, Notes& found) const;
    void note_block(int side, int x, Notes& notes) const;
    int64_t drop(Notes notes) const;
    void sort(const Notes& notes, int64_t* keys) const;

    const Scan& task_;
    const Planes& planes_;
    const int64_t most_;  // the largest distance that is told from others
    Notes notes_[queries_at_once];
    Distance* distances_[2];
    int64_t* lows_[2];
    int64_t start_ = 0;  // the first block of the tile
    int size_ = 0;       // how many it has
};

template <class Distance>
Scanner<Distance>::Scanner(const Scan& task)
    : task_(task), planes_(task.planes), most_(task.is_wide ? planes_.n_bits : smaller(planes_.n_bits, 254)) {
    const ScanSpace& space = task.space;
    auto* const distances = static_cast<Distance*>(space.distances);
    for (int side = 0; side < 2; ++side) {
        distances_[side] = distances + side * space.tile * block_size;
        lows_[side] = space.lows + side * space.tile;
    }
    for (int q = 0; q < task.n_queries; ++q) {
        int32_t* const counts = space.counts + q * (planes_.n_bits + int64_t{1});
        notes_[q] = {most_, counts, space.noted + q * space.n_noted, space.best + q * space.n_owners, 0, 0};
        std::memset(counts, 0, (planes_.n_bits + size_t{1}) * sizeof *counts);
    }
}

template <class Distance>
void Scanner<Distance>::measure_both(int i, int j) {
    for (int x = 0; x < size_; ++x) measure_two(0, x, i, 1, x, j);
}

template <class Distance>
void Scanner<Distance>::measure_alone(int i) {
    const int steps = (size_ + 1) / 2;
    const int side = size_ > 1 ? 0 : 1;  // distances to two blocks must not be in the same place
    for (int x = 0; x < steps; ++x) measure_two(0, x, i, side, x + steps < size_ ? x + steps : size_ - 1, i);
}

// Measure query i in block x and query j in block y of the tile.
template <class Distance>
void Scanner<Distance>::measure_two(int side, int x, int i, int other_side, int y, int j) {
    const auto block = [&](int z) { return planes_.bytes + (start_ + z) * planes_.n_planes * block_size; };
    const Side<Distance> a{block(x), task_.queries[i], distances_[side] + x * block_size, notes_[i].limit};
    const Side<Distance> b{block(y), task_.queries[j], distances_[other_side] + y * block_size,
                           notes_[j].limit};
    const Least low = measure(planes_.n_planes, a, b);
    lows_[side][x] = hidden(x, a.distances, low.a);
    lows_[other_side][y] = hidden(y, b.distances, low.b);
}

template <class Distance>
int64_t Scanner<Distance>::hidden(int x, Distance* distances, int64_t low) const {
    const int64_t n = planes_.n_codes - (start_ + x) * block_size;
    return n < block_size ? hide(distances, n) : low;
}

// Return the k-th distance of the first blocks, or the most there is where they have fewer codes.
template <class Distance>
int64_t Scanner<Distance>::kth(int side) const {
    const int n_blocks = task_.k == 1 || size_ < sample ? size_ : sample;
    int64_t low = most_, high = most_;
    for (int x = 0; x < n_blocks; ++x) low = smaller(low, lows_[side][x]);
    while (low < high && task_.k > 1) {
        const int64_t middle = (low + high) / 2;
        int64_t n = 0;
        for (int g = 0; g < n_blocks * block_size; g += lanes)
            n += __builtin_popcountll(near_enough(distances_[side] + g, middle));
        if (n >= task_.k) high = middle;
        else low = middle + 1;
    }
    return low;
}

// Note down what may enter the list, of a block.
template <class Distance>
DSNC_INLINE void Scanner<Distance>::note_block(int side, int x, Notes& notes) const {
    const Distance* const distances = distances_[side] + x * block_size;
    const int64_t* const labels = task_.labels;
    const int64_t first = (start_ + x) * block_size, k = task_.k;
    for (int g = 0; g < block_size && notes.limit >= 0; g += lanes) {
        uint64_t near = near_enough(distances + g, notes.limit);
        if (near != 0 && notes.n + lanes > task_.space.n_noted) notes.n = drop(notes);
        for (; near != 0; near &= near - 1) {
            const int place = g + __builtin_ctzll(near);
            const int64_t distance = distances[place];
            if (distance > notes.limit) continue;  // it is lower than it was
            const int64_t key = (distance << row_bits) + first + place;
            if (labels) {
                int64_t& best = notes.best[labels[key & row_mask]];
                const int64_t before = best >> row_bits;
                if (before <= distance) continue;
                if (best != nothing) --notes.counts[before];
                notes.within += before > notes.limit;
                best = key;
            } else {
                ++notes.within;
            }
            ++notes.counts[distance];
            notes.noted[notes.n++] = key;
            while (notes.within >= k) notes.within -= notes.counts[notes.limit--];
        }
    }
}

template <class Distance>
void Scanner<Distance>::note_tile(int side, Notes& found) const {
    Notes notes = found;  // a copy, which no writing of a number may change
    // Of owners with several codes, so many codes may be fewer owners.
    if (start_ == task_.first && !task_.labels) notes.limit = kth(side);
    for (int x = 0; x < size_; ++x)
        if (lows_[side][x] <= notes.limit) note_block(side, x, notes);
    found = notes;
}

// Drop what is beyond the limit, and what is not its owner's nearest; return how many are left, which are
// fewer than 2 k.
template <class Distance>
int64_t Scanner<Distance>::drop(Notes notes) const {
    int64_t kept = 0;
    for (int64_t x = 0; x < notes.n; ++x) {
        const int64_t key = notes.noted[x];
        bool stays = key >> row_bits <= notes.limit + 1;
        if (task_.labels) {
            int64_t& best = notes.best[task_.labels[key & row_mask]];
            if (best != key) stays = false;
            else if (!stays) best = nothing;
        }
        notes.noted[kept] = key;
        kept += stays;
    }
    return kept;
}

// Put what was noted down in its place, by distance; leave out what is beyond the last one.
template <class Distance>
void Scanner<Distance>::sort(const Notes& notes, int64_t* keys) const {
    if (task_.k == 1 && notes.n > 0) {  // each was nearer than those before
        keys[0] = notes.noted[notes.n - 1];
        return;
    }
    const int64_t limit = smaller(notes.limit + 1, planes_.n_bits);
    int64_t filled = 0;
    for (int64_t distance = 0; distance <= limit; ++distance) {  // where each distance begins
        const int32_t count = notes.counts[distance];
        notes.counts[distance] = static_cast<int32_t>(filled);
        filled += count;
    }
    for (int64_t x = 0; x < notes.n; ++x) {
        const int64_t key = notes.noted[x], distance = key >> row_bits;
        if (distance > limit || (task_.labels && notes.best[task_.labels[key & row_mask]] != key)) continue;
        const int64_t place = notes.counts[distance]++;
        if (place < task_.k) keys[place] = key;
    }
    for (int64_t place = filled; place < task_.k; ++place) keys[place] = nothing;
    for (int64_t x = 0; task_.labels && x < notes.n; ++x)
        notes.best[task_.labels[notes.noted[x] & row_mask]] = nothing;
}

template <class Distance>
void Scanner<Distance>::run() {
    for (start_ = task_.first; start_ < task_.last; start_ += task_.space.tile) {
        size_ = static_cast<int>(smaller(task_.last - start_, task_.space.tile));
        for (int q = 0; q < task_.n_queries; q += 2) {
            const bool alone = q + 1 == task_.n_queries;
            if (alone) measure_alone(q);
            else measure_both(q, q + 1);
            note_tile(0, notes_[q]);
            if (!alone) note_tile(1, notes_[q + 1]);
        }
    }
    for (int q = 0; q < task_.n_queries; ++q) sort(notes_[q], task_.keys[q]);
}

void fill_planes(const Codes& codes, int n_planes, uint8_t* planes) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(codes.words);
    for (int64_t row = 0; row < codes.n; ++row) {
        uint8_t* const place = planes + row / block_size * n_planes * block_size + row % block_size;
        for (int p = 0; p < n_planes; ++p) place[p * block_size] = bytes[row * 8 * codes.n_words + p];
    }
}

}  // namespace

void scan(const Scan& task) {
    if (task.is_wide) Scanner<uint16_t>(task).run();
    else Scanner<uint8_t>(task).run();
}

void add_scan(SearchKernels& kernels) {
    kernels.fill_planes = fill_planes;
    kernels.scan = scan;
}

}  // namespace dsnc::LEVEL
