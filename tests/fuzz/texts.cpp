// Texts to rows: each level gives the same row, of columns that ascend, of length 1.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <sstream>

#include "hashed_columns.hpp"
#include "levels.hpp"
#include "target.hpp"

using namespace dsnc;

namespace {

std::vector<uint8_t> make_kinds() {
    std::vector<uint8_t> kinds(no_character);
    for (uint32_t c = 0; c < no_character; ++c)
        kinds[c] = c >= 128 ? uint8_t(c % 3) : std::isalnum(int(c)) ? uint8_t{is_word} : uint8_t{is_break};
    return kinds;
}

// The sizes of n-grams, the buckets that have a column, and the text, from the octets of an input.
struct Case {
    Grams grams;
    std::vector<uint32_t> buckets, points;
    std::vector<float> idf;
};

GramSizes sizes_of(uint8_t octet) {
    const int shortest = octet % 8, more = octet / 8;
    return shortest == 0 ? GramSizes{0, 0} : GramSizes{shortest, std::min(shortest + more % 9, longest_gram)};
}

Case read(const uint8_t* input, size_t size) {
    Case made;
    const auto next = [&] { return size > 0 ? (--size, *input++) : uint8_t{0}; };
    made.grams.words = sizes_of(next());
    made.grams.characters = sizes_of(next());
    const uint8_t more = next();
    made.grams.n_buckets = 64u << more % 6;
    made.grams.sublinear = more & 64;
    const uint32_t step = 1 + next() % 5;
    for (uint32_t b = more % 7; b < made.grams.n_buckets; b += step) {
        made.buckets.push_back(b);
        made.idf.push_back(1 + float(b % 13));
    }
    while (size > 0) {
        const uint8_t c = next();
        made.points.push_back(c < 240 ? c : (uint32_t(c) * 4099 + 257u * next()) % no_character);
    }
    return made;
}

struct Found {
    std::vector<int32_t> columns;
    std::vector<float> data;
    std::vector<Tally> tally;
};

Found find(const Case& made) {
    static const std::vector<uint8_t> kinds = make_kinds();
    HashedColumns hashed(made.grams, made.buckets.data(), made.idf.data(), made.buckets.size());
    Found found;
    for (int time = 0; time < 2; ++time) {  // the second with room that was used before
        std::unique_ptr<TextRoom> room = hashed.take_room();
        room->block.clear();
        std::copy(made.points.begin(), made.points.end(), room->block.add(made.points.size(), kinds.data()));
        SparseRows rows;
        hashed.weigh(room->block, *room, rows);
        const size_t n = size_t(rows.starts.back());
        std::vector<int32_t> columns(rows.columns.data(), rows.columns.data() + n);
        expect(time == 0 || columns == found.columns, "room that was used gives the same row");
        found.columns = columns;
        found.data.assign(rows.data.data(), rows.data.data() + n);
        hashed.give_back(std::move(room));
    }
    TextRoom room(0);
    std::copy(made.points.begin(), made.points.end(), room.block.add(made.points.size(), kinds.data()));
    found.tally.resize(made.grams.n_buckets);
    count_texts(made.grams, room.block, room, found.tally.data(), 1);
    return found;
}

void check(const Case& made, const Found& found) {
    double total = 0;
    for (size_t i = 0; i < found.columns.size(); ++i) {
        const int32_t column = found.columns[i];
        expect(column >= 0 && size_t(column) < made.buckets.size(), "a column is one that there is");
        expect(i == 0 || found.columns[i - 1] < column, "columns ascend");
        expect(found.tally[made.buckets[size_t(column)]].count == 1, "a column's bucket is counted once");
        total += double(found.data[i]) * double(found.data[i]);
    }
    expect(found.columns.empty() || std::abs(total - 1) < 1e-4, "a row has length 1");
}

}  // namespace

std::vector<std::string> seeds() {
    return {std::string("\x01\x0a\x41\0hello world, again and again", 32),
            "\x09\x0a\x05\x01"
            "a\x1f"
            "b c\x1f d",
            "\x07\x27\x03\x02naive \xf0\x01\xfe\x02\xf3 caf\xff\x10 abcdefghijklmnopqrstuvwxyz",
            std::string("\x11\x12\x45\0", 4) + std::string(5000, 'a')};
}

void try_one(const uint8_t* input, size_t size) {
    const Case made = read(input, size);
    std::istringstream names(names_of_levels());
    Found first;
    bool is_first = true;
    for (std::string name; names >> name; is_first = false) {
        use_level(name);
        const Found found = find(made);
        check(made, found);
        if (is_first) first = found;
        expect(found.columns == first.columns && found.data == first.data, "levels agree");
    }
}
