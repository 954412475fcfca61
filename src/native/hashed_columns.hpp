#pragma once
// Texts to rows: what `TextFeatures` knows after `fit`, and room to work in.
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "growing.hpp"
#include "text.hpp"

namespace dsnc {

// Some texts, read to be worked on: their code points, and where each begins.
class Block {
 public:
    // Add a text of so many code points; return where to write them, until there are more.
    uint32_t* add(size_t size, const uint8_t* kinds);
    // Make room for code points of texts that are there; return where to write them.
    uint32_t* add_points(size_t size);
    // Let a text have other points than before, of those that were written.
    void change(size_t i, const uint32_t* points, size_t size, const uint8_t* kinds);
    void clear();

    size_t n_texts() const { return texts_.size(); }
    size_t n_points() const { return end_; }
    size_t longest() const { return longest_; }
    Text text(size_t i);

 private:
    struct Place {
        size_t start, size;
        const uint8_t* kinds;
    };
    std::vector<uint32_t> points_;
    std::vector<Place> texts_;
    size_t end_ = 0;
    size_t longest_ = 0;
};

// What a thread needs; `n_columns` are 0 where texts are only counted.
struct TextRoom {
    explicit TextRoom(size_t n_columns);
    TextScratch scratch_for(size_t longest);  // points of a text
    bool is_large() const;                    // too large to be kept

    Block block;
    std::vector<uint8_t> left;
    std::vector<uint32_t> room, counts;
    std::vector<uint64_t> seen, blocks;
};

// Rows of a sparse matrix: CSR.
struct SparseRows {
    std::vector<int64_t> starts{0};
    Growing<int32_t> columns;
    Growing<float> data;
};

class HashedColumns {
 public:
    // `buckets` are those of the columns, ascending.
    HashedColumns(const Grams& grams, const uint32_t* buckets, const float* idf, size_t n);

    // Append the rows of the texts of a block.
    void weigh(Block& block, TextRoom& room, SparseRows& rows) const;

    // Room that no other thread is using; it is to be given back.
    std::unique_ptr<TextRoom> take_room();
    void give_back(std::unique_ptr<TextRoom> room);

 private:
    Grams grams_;
    std::vector<uint64_t> known_;
    std::vector<uint32_t> before_;
    std::vector<float> idf_;
    std::vector<double> repeated_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<TextRoom>> spare_;
};

// Count for each bucket in how many of the texts it occurs; the first has the number `first`.
void count_texts(const Grams& grams, Block& block, TextRoom& room, Tally* tally, int32_t first);

}  // namespace dsnc
