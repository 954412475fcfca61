// Texts to hashed n-grams, and n-grams to weighted columns.
//
// The hash of a sequence is FNV-1a's rule over whole items in place of octets, modulo 2**32,
//
//     h = seed;  h = (h ^ item) * 0x01000193 for each item,
//
// and the finalizer of MurmurHash3 (`mixed`) on top, which makes every bit depend on all.
//
// - n characters: the items are their code points, the word's borders are spaces;
// - a word: the items are its code points;
// - n words: the items are the hashes of the words, the last one first, so that one pass backwards
//   gives all n.
//
// A text may have fields, with `field` between them: in the k-th, counted from 0, k times `of_a_field`
// is mixed into the seeds of words and characters, and no n-gram crosses a border. The bucket is the
// hash modulo the number of buckets. Model files hold buckets: none of this may ever change.
//
// First, the words of a field are found, and what separates them becomes spaces. Then the n-grams of
// characters that begin at sixteen places in a row are hashed together, the shortest first, and of
// each size those are kept that end where their word does or before.
#include "text.hpp"

#include <cmath>

#include "simd.hpp"

namespace dsnc::LEVEL {
namespace {

constexpr uint32_t prime = 0x01000193;
constexpr uint32_t of_characters = 0x811C9DC5, of_a_word = 0x9AE16A3B, of_words = 0xC3A5C85C;
constexpr uint32_t of_a_field = 0x9E3779B1, field = 0x1F, space = ' ';

constexpr uint32_t first_mix = 0x85EBCA6B, second_mix = 0xC2B2AE35;

DSNC_INLINE uint32_t step(uint32_t h, uint32_t item) { return (h ^ item) * prime; }

DSNC_INLINE uint32_t mixed(uint32_t h) {
    h = (h ^ (h >> 16)) * first_mix;
    h = (h ^ (h >> 13)) * second_mix;
    return h ^ (h >> 16);
}

// Sixteen at once.

DSNC_INLINE Uints step(Uints h, Uints items) { return (h ^ items) * all(prime); }

DSNC_INLINE Uints mixed(Uints h) {
    h = (h ^ (h >> 16)) * all(first_mix);
    h = (h ^ (h >> 13)) * all(second_mix);
    return h ^ (h >> 16);
}

// Finds the n-grams of a text and hands their buckets on, some thousand at a time.
class Reader {
 public:
    Reader(const Grams& grams, Text text, const TextScratch& scratch)
        : grams_(grams), text_(text), scratch_(scratch), mask_(grams.n_buckets - 1) {}

    const Columns* columns = nullptr;  // to be noted in the scratch, where they are asked for
    Tally* tally = nullptr;            // or else what counts texts
    int32_t number = 0;                // of the text

    void read();

 private:
    void begin_field();
    size_t read_word(size_t start);
    void note_word(uint32_t word);
    void measure_word(size_t start, size_t stop);
    void note_characters(size_t first, size_t end);
    void hand_on();
    void count_buckets();
    void note_columns();

    void note(uint32_t h) { scratch_.room[n_++] = mixed(h) & mask_; }
    void make_room() {
        if (n_ + room_at_once > room_for_grams) hand_on();
    }

    static constexpr size_t room_at_once = width * longest_gram + longest_gram;

    const Grams& grams_;
    const Text text_;
    const TextScratch& scratch_;
    const uint32_t mask_;
    uint32_t salt_ = 0;  // of the field
    size_t n_words_ = 0;
    size_t n_ = 0;  // buckets that are noted
    uint32_t words_[longest_gram];
};

void Reader::read() {
    uint32_t* const points = text_.points;
    points[-1] = space;
    if (grams_.characters.longest) std::memset(scratch_.left, 0, text_.size + padding);
    size_t first = 0;  // of the field
    for (size_t place = 0; place < text_.size; ++place) {
        if (text_.kinds[points[place]] == is_word) place = read_word(place);
        // Here is what separates; a mark without a letter does, too.
        const bool is_border = place < text_.size && points[place] == field;
        points[place] = space;
        if (!is_border) continue;
        note_characters(first, place);
        first = place + 1;
        salt_ += of_a_field;
        n_words_ = 0;
    }
    note_characters(first, text_.size);
    hand_on();
}

// Read the word that starts here; return where it ends.
size_t Reader::read_word(size_t start) {
    uint32_t h = of_a_word ^ salt_;
    size_t stop = start;
    for (; stop < text_.size && text_.kinds[text_.points[stop]] != is_break; ++stop)
        h = step(h, text_.points[stop]);
    make_room();
    if (grams_.characters.longest) measure_word(start, stop);
    if (grams_.words.longest) note_word(mixed(h));
    return stop;
}

// Note the n-grams of words that end with this one.
void Reader::note_word(uint32_t word) {
    words_[n_words_ % longest_gram] = word;
    ++n_words_;
    uint32_t h = of_words;
    for (size_t size = 1; size <= size_t(grams_.words.longest) && size <= n_words_; ++size) {
        h = step(h, words_[(n_words_ - size) % longest_gram]);
        if (size >= size_t(grams_.words.shortest)) note(h);
    }
}

// Write in `left`, for the border before the word and each of its characters, how many there are up
// to the border after it, both included: that long is the longest n-gram that begins here.
//
// `left` is one ahead of the points. The border after a word may also be that before the next, so
// that the n-gram that begins with it, and is no longer, is noted here.
void Reader::measure_word(size_t start, size_t stop) {
    constexpr size_t most = 255;
    uint8_t* const left = scratch_.left + start;
    const size_t size = stop - start + 2;
    const size_t shortest = grams_.characters.shortest;
    for (size_t i = 0; i + 1 < size; ++i) left[i] = size - i < most ? size - i : most;
    if (shortest == 1) note(step(of_characters ^ salt_, space));
    if (size >= shortest) return;
    uint32_t h = step(of_characters ^ salt_, space);  // a short word is one n-gram
    for (size_t place = start; place < stop; ++place) h = step(h, text_.points[place]);
    note(step(h, space));
}

// Note the n-grams of characters of a field.
//
// Those that begin at sixteen places in a row are hashed together, the shortest first; of each size
// those are kept that end within their word.
void Reader::note_characters(size_t first, size_t end) {
    const int shortest = grams_.characters.shortest, longest = grams_.characters.longest;
    for (size_t start = first; start <= end && longest; start += width) {
        const uint8_t* const left = scratch_.left + start;
        const uint32_t* const points = text_.points + start - 1;
        uint64_t halves[2];
        std::memcpy(halves, left, width);
        if (!(halves[0] | halves[1])) continue;
        make_room();
        Uints h = all(of_characters ^ salt_);
        for (int size = 1; size <= longest; ++size) {
            h = step(h, load(points + size - 1));
            if (size < shortest) continue;
            uint32_t buckets[width];
            store(buckets, mixed(h) & all(mask_));
            for (int i = 0; i < width; ++i) {
                scratch_.room[n_] = buckets[i];
                n_ += left[i] >= size;
            }
        }
    }
}

// Use the buckets that were found, and forget them.
void Reader::hand_on() {
    if (columns) note_columns();
    else count_buckets();
    n_ = 0;
}

void Reader::count_buckets() {
    for (size_t i = 0; i < n_; ++i) __builtin_prefetch(&tally[scratch_.room[i]], 1);
    for (size_t i = 0; i < n_; ++i) {
        Tally& one = tally[scratch_.room[i]];
        one.count += one.last != number;
        one.last = number;
    }
}

void Reader::note_columns() {
    uint32_t* const found = scratch_.room + room_for_grams;
    size_t n_found = 0;
    for (size_t i = 0; i < n_; ++i) {
        const uint32_t bucket = scratch_.room[i];
        const uint64_t known = columns->known[bucket >> 6];
        const uint64_t above = known >> (bucket & 63);
        const uint32_t column = columns->before[(bucket >> 6) + 1] - uint32_t(__builtin_popcountll(above));
        __builtin_prefetch(&columns->idf[column]);
        __builtin_prefetch(&scratch_.counts[column], 1);
        found[n_found] = column;
        n_found += above & 1;
    }
    for (size_t i = 0; i < n_found; ++i) {
        const uint32_t column = found[i];
        ++scratch_.counts[column];
        scratch_.seen[column >> 6] |= uint64_t{1} << (column & 63);
        scratch_.blocks[column >> 12] |= uint64_t{1} << (column >> 6 & 63);
    }
}

double times(const Grams& grams, const Columns& columns, uint32_t count) {
    if (count < few_times) return columns.repeated[count];
    return grams.sublinear ? 1 + std::log(double(count)) : double(count);
}

size_t weigh(const Grams& grams, const Columns& columns, Text text, const TextScratch& scratch,
             int32_t* indices, float* data) {
    Reader reader(grams, text, scratch);
    reader.columns = &columns;
    reader.read();
    size_t n = 0;
    double total = 0;
    for (size_t block = 0; block < (columns.n + 4095) / 4096; ++block) {
        uint64_t words = scratch.blocks[block];
        scratch.blocks[block] = 0;
        for (; words; words &= words - 1) {
            const size_t word = 64 * block + __builtin_ctzll(words);
            uint64_t bits = scratch.seen[word];
            scratch.seen[word] = 0;
            for (; bits; bits &= bits - 1) {
                const size_t column = 64 * word + __builtin_ctzll(bits);
                const double value = columns.idf[column] * times(grams, columns, scratch.counts[column]);
                scratch.counts[column] = 0;
                total += value * value;
                indices[n] = int32_t(column);
                data[n++] = float(value);
            }
        }
    }
    const double scale = total > 0 ? 1 / std::sqrt(total) : 0;
    for (size_t i = 0; i < n; ++i) data[i] = float(data[i] * scale);
    return n;
}

void count(const Grams& grams, Text text, const TextScratch& scratch, Tally* tally, int32_t number) {
    Reader reader(grams, text, scratch);
    reader.tally = tally;
    reader.number = number;
    reader.read();
}

}  // namespace

void add_text(TextKernels& table) { table = {weigh, count}; }

}  // namespace dsnc::LEVEL
