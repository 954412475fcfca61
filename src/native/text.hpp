#pragma once
// Texts to n-grams, and n-grams to weighted columns.
#include <cstddef>
#include <cstdint>

namespace dsnc {

constexpr int longest_gram = 32;  // items of an n-gram
constexpr uint32_t no_character = 0x110000;
enum Kind : uint8_t { is_break, is_mark, is_word };  // of characters

struct GramSizes {  // the shortest and the longest n-gram; 0 for none
    int shortest = 0;
    int longest = 0;
};

struct Grams {
    GramSizes words;
    GramSizes characters;
    uint32_t n_buckets = 0;  // a power of two
    bool sublinear = false;  // whether repetitions count less and less
};

// The code points of a text. Those before the first and behind the last may be written to as well,
// and there is `padding` more behind that can be read.
struct Text {
    uint32_t* points;
    size_t size;
    const uint8_t* kinds;  // of each code point that the text may have
};

constexpr size_t padding = 64;

// Which buckets have a column, and what a column weighs. Columns are in the order of the buckets, so
// that a column is the number of known buckets before its own: bits in a field take 128 kB where
// there are 2**20 buckets, and a table of column numbers would take 4 MB.
struct Columns {
    const uint64_t* known;   // a bit for each bucket
    const uint32_t* before;  // how many bits are set before each word of these
    const float* idf;
    size_t n;
    const double* repeated;  // what an n-gram counts that occurs so many times, for few times
};

constexpr uint32_t few_times = 64;

// In how many texts a bucket occurs, and the last of them.
struct Tally {
    int32_t count;
    int32_t last;
};

// What a thread needs while it works on a text.
struct TextScratch {
    uint8_t* left;     // for each point, see `read_word`
    uint32_t* room;    // for `room_for_grams` numbers, twice
    uint64_t* seen;    // a bit for each column that occurs; 0 before and after, as the next two
    uint64_t* blocks;  // a bit for each word of `seen` that is not 0
    uint32_t* counts;  // how often each column occurs
};

constexpr size_t room_for_grams = 4096;

// What is compiled for each level.
struct TextKernels {
    // Write the row of a text, of length 1, columns ascending; return the number of its columns.
    size_t (*weigh)(const Grams&, const Columns&, Text, const TextScratch&, int32_t* indices, float* data);
    // Count the text for each bucket that occurs in it; texts have numbers above 0.
    void (*count)(const Grams&, Text, const TextScratch&, Tally* tally, int32_t number);
};

}  // namespace dsnc
