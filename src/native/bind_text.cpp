// Python's texts to rows: strings are read in blocks that fit the cache.
//
// A text of ASCII is read as it is. Others are normalized by Python, those of a block together.
#include <algorithm>
#include <limits>

#include <nanobind/stl/pair.h>

#include "bound.hpp"
#include "new_arrays.hpp"

namespace dsnc {
namespace {

constexpr size_t points_at_once = size_t{1} << 15;
constexpr size_t worth_a_release = size_t{1} << 12;  // of the GIL: points
constexpr uint32_t of_ascii = 128, newline = '\n';

struct AsciiKinds {
    uint8_t kinds[of_ascii] = {};
    constexpr AsciiKinds() {
        for (uint32_t c = 0; c < of_ascii; ++c) {
            const bool is_letter = (c | 32) - 'a' < 26;
            if (is_letter || c - '0' < 10 || c == '_') kinds[c] = is_word;
        }
    }
};

constexpr AsciiKinds ascii;

struct TextSettings {
    Grams grams;
    bool lowercase;
};

GramSizes sizes_of(nb::handle pair) {
    const auto [shortest, longest] = nb::cast<std::pair<int, int>>(pair);
    const bool is_none = shortest == 0 && longest == 0;
    require(is_none || (shortest >= 1 && longest >= shortest && longest <= longest_gram),
            "sizes of n-grams do not ascend from 1 to 32");
    return {shortest, longest};
}

// Of `dsnc.features.grams.Grams`.
TextSettings settings_of(nb::handle grams) {
    TextSettings settings;
    settings.grams.words = sizes_of(grams.attr("words"));
    settings.grams.characters = sizes_of(grams.attr("characters"));
    settings.grams.n_buckets = nb::cast<uint32_t>(grams.attr("n_hashes"));
    settings.grams.sublinear = nb::cast<bool>(grams.attr("sublinear"));
    settings.lowercase = nb::cast<bool>(grams.attr("lowercase"));
    const uint32_t n = settings.grams.n_buckets;
    require(n >= 64 && !(n & (n - 1)), "n_hashes is not a power of two");
    return settings;
}

// Reads texts from a list.
class ListReader {
 public:
    // `others` normalizes texts that are not ASCII: see `dsnc.features.points.read_others`.
    ListReader(nb::list texts, bool lowercase, nb::object others)
        : texts_(std::move(texts)), others_(std::move(others)), lowercase_(lowercase) {}

    // Read texts into the block while there are any and it has room; return whether there are.
    bool read(Block& block);

 private:
    bool read_ascii(nb::handle text, size_t size, Block& block);
    void read_others(nb::list texts, const std::vector<size_t>& places, Block& block);

    using Kinds = Array<const uint8_t, 1>;

    nb::list texts_;
    nb::object others_;
    Kinds kinds_;  // of all characters, once there are others
    bool lowercase_;
    size_t next_ = 0;
};

bool ListReader::read(Block& block) {
    block.clear();
    nb::list others;
    std::vector<size_t> places;
    for (; next_ < texts_.size() && block.n_points() < points_at_once; ++next_) {
        nb::handle text = texts_[next_];
        const Py_ssize_t size = PyUnicode_GetLength(text.ptr());
        if (size < 0) throw nb::python_error();  // it is no text
        if (block.n_texts() && block.n_points() + size_t(size) > points_at_once) break;
        if (read_ascii(text, size_t(size), block)) continue;
        places.push_back(block.n_texts() - 1);
        others.append(text);
    }
    if (!places.empty()) read_others(others, places, block);
    return block.n_texts() > 0;
}

// Read a text; return whether it is ASCII, as it has to be.
bool ListReader::read_ascii(nb::handle text, size_t size, Block& block) {
    uint32_t* const points = block.add(size, ascii.kinds);
    if (size && !PyUnicode_AsUCS4(text.ptr(), points, Py_ssize_t(size), 0)) throw nb::python_error();
    uint32_t bits = 0;
    for (size_t i = 0; i < size; ++i) bits |= points[i];
    if (lowercase_)
        for (size_t i = 0; i < size; ++i) points[i] |= uint32_t(points[i] - 'A' < 26) << 5;
    return bits < of_ascii;
}

void ListReader::read_others(nb::list texts, const std::vector<size_t>& places, Block& block) {
    nb::object joined;
    std::tie(joined, kinds_) = nb::cast<std::pair<nb::object, Kinds>>(others_(texts, lowercase_));
    const Py_ssize_t size = PyUnicode_GetLength(joined.ptr());
    if (size < 0) throw nb::python_error();
    // The newline behind each text is the border before the next.
    uint32_t* const points = block.add_points(size_t(size) + 1);
    if (!PyUnicode_AsUCS4(joined.ptr(), points, size + 1, 1)) throw nb::python_error();
    require(kinds_.size() >= no_character, "kinds of characters are missing");
    const uint32_t *start = points, *const end = points + size;
    for (size_t place : places) {
        const uint32_t* const stop = std::find(start, end, newline);
        require(stop != end, "normalized texts are missing");
        block.change(place, start, size_t(stop - start), kinds_.data());
        start = stop + 1;
    }
}

// Work on a block, without the GIL if that takes long; and let Ctrl-C end what takes longer.
template <class Work>
void work_on(const Block& block, Work work) {
    if (block.n_points() < worth_a_release) return work();
    {
        nb::gil_scoped_release release;
        work();
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// `HashedColumns` of Python.
class TextColumns {
 public:
    TextColumns(nb::handle grams, nb::object others, Array<const uint32_t, 1> buckets,
                Array<const float, 1> idf)
        : settings_(settings_of(grams)), others_(std::move(others)), columns_(make(buckets, idf)) {}

    nb::tuple rows(nb::list texts);
    void read(nb::list texts, SparseRows& rows, const std::function<void()>& use);

 private:
    std::unique_ptr<HashedColumns> make(const Array<const uint32_t, 1>& buckets,
                                        const Array<const float, 1>& idf) const;

    TextSettings settings_;
    nb::object others_;
    std::unique_ptr<HashedColumns> columns_;
};

std::unique_ptr<HashedColumns> TextColumns::make(const Array<const uint32_t, 1>& buckets,
                                                 const Array<const float, 1>& idf) const {
    const size_t n = buckets.shape(0);
    require(idf.has(n), "there are not as many weights as buckets");
    for (size_t i = 0; i < n; ++i)
        require(buckets(i) < settings_.grams.n_buckets && (!i || buckets(i - 1) < buckets(i)),
                "buckets do not ascend, or are not below n_hashes");
    return std::make_unique<HashedColumns>(settings_.grams, buckets.data(), idf.data(), n);
}

void TextColumns::read(nb::list texts, SparseRows& rows, const std::function<void()>& use) {
    std::unique_ptr<TextRoom> room = columns_->take_room();
    ListReader reader(std::move(texts), settings_.lowercase, others_);
    while (reader.read(room->block))
        work_on(room->block, [&] {
            columns_->weigh(room->block, *room, rows);
            use();
        });
    columns_->give_back(std::move(room));
}

nb::tuple TextColumns::rows(nb::list texts) {
    SparseRows rows;
    read(std::move(texts), rows, [] {});
    const size_t n = size_t(rows.starts.back());
    const bool is_short = n <= size_t(std::numeric_limits<int32_t>::max());
    std::vector<int32_t> starts;
    if (is_short) starts.assign(rows.starts.begin(), rows.starts.end());
    nb::object indptr =
        is_short ? copied(starts.data(), starts.size()) : copied(rows.starts.data(), rows.starts.size());
    return nb::make_tuple(indptr, given_away(rows.columns, n), given_away(rows.data, n));
}

// Count texts for each bucket, from the number `first` on; return how many there are.
size_t count_list(nb::list texts, nb::handle grams, nb::object others, Array<int32_t, 2> tally,
                  int32_t first) {
    const TextSettings settings = settings_of(grams);
    require(tally.has(settings.grams.n_buckets, 2), "tally is not of shape (n_hashes, 2)");
    Tally* const counts = reinterpret_cast<Tally*>(tally.data());
    TextRoom room(0);
    ListReader reader(std::move(texts), settings.lowercase, std::move(others));
    size_t done = 0;
    while (reader.read(room.block)) {
        work_on(room.block,
                [&] { count_texts(settings.grams, room.block, room, counts, first + int32_t(done)); });
        done += room.block.n_texts();
    }
    return done;
}

}  // namespace

void read_texts(nb::handle columns, nb::list texts, SparseRows& rows, const std::function<void()>& use) {
    nb::cast<TextColumns&>(columns).read(std::move(texts), rows, use);
}

void bind_text(nb::module_& m) {
    nb::class_<TextColumns>(m, "TextColumns")
        .def(nb::init<nb::handle, nb::object, Array<const uint32_t, 1>, Array<const float, 1>>())
        .def("rows", &TextColumns::rows);
    m.def("count_texts", count_list);
}

}  // namespace dsnc
