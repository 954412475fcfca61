// The nearest code of every code at once: a separable min-plus transform.
//
// A number of the table is `distance << label_bits | label`; the smaller of two numbers is the nearer
// code, then the smaller label. With T[v] = label at the codes and "nothing" elsewhere,
//
//     T[v] = min(T[v], T[v ^ 1 << bit] + (1 << label_bits))   for all v, bit after bit,
//
// leaves at v the least number over all codes: after some bits, the least over the codes that differ
// from v in these bits only.
//
// Each bit costs one reading and writing of the table unless several are done while a part of it is
// in the cache: the low bits in contiguous pieces, the others in groups, a tile of few columns at a
// time, which goes through scratch space because rows at multiples of a power of two fall on the same
// few lines of the cache. The loops are such as compilers make vectors of, but for the lowest bits.
#include "table.hpp"

#include <cstring>

#include "level.hpp"

namespace dsnc::LEVEL {
namespace {

typedef uint32_t Four __attribute__((vector_size(16)));

constexpr int piece_bits = 14;  // that are worked on in the cache at most: 64 KB
constexpr int group_bits = 6;   // that a later pass over the table is about
constexpr int column_bits = 7;  // of a tile: 128 columns, 32 KB
constexpr uint32_t one_farther = uint32_t{1} << label_bits;

template <class T>
inline T smaller(T a, T b) {
    return a < b ? a : b;
}

// Transform the lowest two bits.
void spread_two(uint32_t* numbers, size_t size) {
    for (uint32_t* place = numbers; place < numbers + size; place += 4) {
        Four four;
        std::memcpy(&four, place, sizeof four);
        four = smaller(four, __builtin_shufflevector(four, four, 1, 0, 3, 2) + one_farther);
        four = smaller(four, __builtin_shufflevector(four, four, 2, 3, 0, 1) + one_farther);
        std::memcpy(place, &four, sizeof four);
    }
}

// Transform the bits from `first` on up to `last`.
void spread_bits(uint32_t* numbers, size_t size, int first, int last) {
    for (int bit = first; bit < last; ++bit) {
        const size_t step = size_t{1} << bit;
        for (uint32_t* low = numbers; low < numbers + size; low += 2 * step) {
            uint32_t* const __restrict high = low + step;
            for (size_t i = 0; i < step; ++i) {
                const uint32_t a = low[i], b = high[i];
                low[i] = smaller(a, b + one_farther);
                high[i] = smaller(b, a + one_farther);
            }
        }
    }
}

// Transform a group of bits from `first` on.
void spread_group(uint32_t* table, size_t size, int first) {
    constexpr size_t n_rows = size_t{1} << group_bits, n_columns = size_t{1} << column_bits;
    alignas(64) uint32_t tile[n_rows * n_columns];
    const size_t row = size_t{1} << first;
    for (uint32_t* top = table; top < table + size; top += n_rows * row)
        for (uint32_t* start = top; start < top + row; start += n_columns) {
            for (size_t r = 0; r < n_rows; ++r)
                std::memcpy(tile + r * n_columns, start + r * row, n_columns * sizeof *tile);
            spread_bits(tile, n_rows * n_columns, column_bits, column_bits + group_bits);
            for (size_t r = 0; r < n_rows; ++r)
                std::memcpy(start + r * row, tile + r * n_columns, n_columns * sizeof *tile);
        }
}

void spread(uint32_t* table, int n_bits) {
    const size_t size = size_t{1} << n_bits;
    int first = n_bits;
    while (first > piece_bits) first -= group_bits;
    const size_t piece = size_t{1} << first;
    for (uint32_t* start = table; start < table + size; start += piece) {
        spread_two(start, piece);
        spread_bits(start, piece, 2, first);
    }
    for (; first < n_bits; first += group_bits) spread_group(table, size, first);
}

}  // namespace

void add_table(TableKernels& table) { table = {spread}; }

}  // namespace dsnc::LEVEL
