#pragma once
// Exact nearest neighbors in Hamming space, in the way that is faster for each query.
#include <memory>
#include <mutex>
#include <vector>

#include "room.hpp"

namespace dsnc {

// Cut the bits into chunks of about log2(n_codes): one code for each value of a chunk.
std::vector<Chunk> make_chunks(int n_bits, int64_t n_codes);

// The tables of a multi-index, and the memory that they lie in.
class Tables {
 public:
    // Make them of codes.
    explicit Tables(const Codes& codes);
    // Take those of a file, which are checked: a message says what is wrong. `owner` keeps them.
    Tables(const Codes& codes, const uint32_t* offsets, const uint32_t* ids, const uint64_t* signatures,
           std::shared_ptr<void> owner);

    // As kernels see them; `n_codes` has those that came later, too.
    MultiIndex view() const { return index_; }
    // How many numbers the arrays have.
    static int64_t n_offsets(const Codes& codes);
    static int n_chunks(const Codes& codes);
    static int n_parts(const Codes& codes) { return codes.n_words == 2 ? 2 : 1; }

 private:
    void lay_out(const Codes& codes);
    void check(const Codes& codes) const;

    std::vector<Chunk> chunks_;
    std::vector<uint32_t> offsets_, ids_, masks_;
    std::vector<uint64_t> signatures_;
    std::vector<int64_t> mask_starts_;
    std::vector<double> ahead_;
    std::shared_ptr<void> owner_;
    MultiIndex index_{};
};

enum class Method { automatic, scan, multi_index };

class Index {
 public:
    Index(const Codes& codes, Method method);
    // An index of more codes: those of another one, followed by others.
    Index(const Codes& codes, const Index& before);

    const Codes& codes() const { return codes_; }
    // Complete lists that are free.
    void search(const uint64_t* queries, int64_t n, const Lists& lists, int64_t n_owners) const;
    // Look up what is cheaper so, and tell of which queries the lists are complete.
    ProbeCounts probe(const uint64_t* queries, int64_t n, const Lists& lists, bool* done) const;
    // Make the tables now, so that no search has to do it later.
    void prepare() const;
    std::shared_ptr<const Tables> tables() const;
    void use(std::shared_ptr<const Tables> tables) const;
    // Of the planes.
    int64_t n_bytes() const { return planes_.n_blocks * planes_.n_planes * block_size; }

 private:
    void lay_out(int64_t n_done);
    bool is_long(int64_t k) const;  // whether lists hold so much that looking it up is no faster
    void may_prepare(int64_t n_queries, int64_t k) const;
    void scan(const uint64_t* queries, const std::vector<int64_t>& rows, const Lists& lists, int64_t n_owners,
              bool is_wide) const;

    Codes codes_;
    Method method_;
    Room<uint8_t> bytes_;
    Planes planes_;
    mutable std::mutex mutex_;
    mutable std::shared_ptr<const Tables> tables_;
    mutable int64_t patience_;  // bytes to compare before tables are worth their making
};

}  // namespace dsnc
