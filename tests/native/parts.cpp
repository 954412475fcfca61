// Parts of the core, offered to tests alone, by a build for developers.
#include <atomic>
#include <thread>
#include <vector>

#include "bound.hpp"
#include "trainer.hpp"

namespace dsnc {
namespace {

constexpr int width = 16;

void require(bool holds) { dsnc::require(holds, "the arrays do not fit each other"); }

int columns(const Array<float, 1>& out, size_t n) {
    require(out.shape(0) == n && n % width == 0);
    return static_cast<int>(n);
}

// Write the nearest of codes that are signs of vectors, in some blocks of 512, for queries that are
// signs as well: one or two at once.
void find_nearest_signs(Array<float, 2> vectors, int n_bits, int64_t first, int64_t last,
                        Array<const float, 2> queries, int at_once, Array<int32_t, 2> near) {
    const auto n_columns = static_cast<int>(vectors.shape(1));
    const auto n = static_cast<int64_t>(vectors.shape(0)), n_blocks = (n + 511) / 512;
    require(n_columns % width == 0 && n_columns >= n_bits && n_columns < n_bits + width);
    require(queries.shape(1) == vectors.shape(1) && near.shape(0) == queries.shape(0));
    require(0 <= first && last <= n_blocks && (at_once == 1 || at_once == 2));
    const int n_planes = planes_of(n_bits), k = static_cast<int>(near.shape(1));
    const auto n_queries = static_cast<int64_t>(queries.shape(0));
    Room<uint8_t> planes, bytes;
    Room<int64_t> found;
    ScanRoom room;
    Step step{};
    step.sizes.n_classes = n;
    step.sizes.width = n_columns;
    step.weights.classes = vectors.data();
    step.codes = {planes.make(static_cast<size_t>(n_blocks * n_planes * 512)), n, n_blocks, n_bits, n_planes};
    kernels->training.lay_out(step);
    bytes.make(static_cast<size_t>(n_queries * n_planes));
    for (int64_t i = 0; i < n_queries; ++i)
        for (int j = 0; j < n_bits; ++j)
            bytes.get()[i * n_planes + j / 8] |=
                static_cast<uint8_t>((queries.data()[i * n_columns + j] > 0) << j % 8);
    const uint8_t* asked[2];
    int64_t* const keys[2] = {found.make(2 * static_cast<size_t>(k)), found.get() + k};
    const ScanSpace space = room.make(n_bits, n, k, 2, 0);
    for (int64_t i = 0; i < n_queries; i += at_once) {
        const int some = i + at_once <= n_queries ? at_once : 1;
        for (int q = 0; q < some; ++q) asked[q] = bytes.get() + (i + q) * n_planes;
        kernels->search.scan({step.codes, first, last, asked, keys, some, k, nullptr, n_bits > 254, space});
        for (int e = 0; e < some * k; ++e)
            near.data()[i * k + e] =
                found.get()[e] == nothing ? -1 : static_cast<int32_t>(found.get()[e] & row_mask);
    }
}

// Tell which queries would be looked up, for lists of k, and what that takes.
nb::tuple probe(nb::handle given, Array<const uint64_t, 2> queries, Array<bool, 1> done, int64_t k) {
    const Index& index = index_of(given);
    const int64_t n = queries.n();
    require(done.has(n) && queries.width() == index.codes().n_words);
    std::vector<int64_t> keys(static_cast<size_t>(n * k), nothing), owners(static_cast<size_t>(n * k), -1);
    const ProbeCounts counts =
        index.probe(queries.data(), n, {nullptr, k, keys.data(), owners.data()}, done.data());
    return nb::make_tuple(counts.lookups, counts.candidates, counts.checks);
}

// (first bit, bits, place of the offsets) of each chunk of the bits.
nb::list chunks(nb::handle given) {
    const Codes& codes = index_of(given).codes();
    nb::list found;
    for (const Chunk& chunk : make_chunks(codes.n_bits, codes.n))
        found.append(nb::make_tuple(chunk.start, chunk.width, chunk.base));
    return found;
}

// Counts who does which piece, and pieces that are done in a phase that is not theirs.
class Counting : public Phases {
 public:
    Counting(Array<int64_t, 2> board, Array<const uint32_t, 1> sizes) : board_(board), sizes_(sizes) {}

    uint32_t next(int) override {
        n_wrong_ += phase_ >= 0 && n_done_ != n_pieces();
        n_done_ = 0;
        ++phase_;
        return phase_ < static_cast<int64_t>(sizes_.shape(0)) ? n_pieces() : 0;
    }

    void work(uint32_t piece, int thread) override {
        const int64_t phase = phase_;
        n_wrong_ += piece >= n_pieces();
        ++board_(static_cast<size_t>(thread), piece);
        std::this_thread::yield();  // so that others come in between
        n_wrong_ += phase != phase_;
        ++n_done_;
    }

    int64_t n_wrong() const { return n_wrong_; }

 private:
    uint32_t n_pieces() const { return sizes_(static_cast<size_t>(phase_)); }

    Array<int64_t, 2> board_;
    Array<const uint32_t, 1> sizes_;
    int64_t phase_ = -1;
    std::atomic<uint32_t> n_done_{0};
    std::atomic<int64_t> n_wrong_{0};
};

// Do phases of so many pieces, each at most as the board (n_threads, n_pieces) has columns; return what
// was wrong.
int64_t share_out(Array<int64_t, 2> board, Array<const uint32_t, 1> sizes) {
    require(board.shape(0) > 0 && board.shape(1) > 0);
    for (size_t i = 0; i < sizes.shape(0); ++i) require(sizes(i) > 0 && sizes(i) <= board.shape(1));
    Pace pace(static_cast<int>(board.shape(0)));
    Counting counting(board, sizes);
    run_phases(counting, pace);
    return counting.n_wrong();
}

}  // namespace

void bind_parts(nb::module_& m) {
    m.def(
        "probabilities",
        [](Array<float, 1> out, Array<const float, 1> x, float sharpness) {
            kernels->training.probabilities(out.data(), x.data(), columns(out, x.shape(0)), sharpness);
        },
        nb::arg("out"), nb::arg("x"), nb::arg("sharpness"));
    m.def(
        "exponentials",
        [](Array<float, 1> x, float top) {
            return kernels->training.exponentials(x.data(), columns(x, x.shape(0)), top);
        },
        nb::arg("x"), nb::arg("top"));
    m.def(
        "draw",
        [](Array<float, 1> out, Array<const float, 1> chances, uint32_t seed, uint32_t place) {
            const int n = columns(out, chances.shape(0));
            kernels->training.draw(out.data(), chances.data(), n, seed, place);
        },
        nb::arg("out"), nb::arg("chances"), nb::arg("seed"), nb::arg("place"));
    m.def(
        "move",
        [](Array<float, 1> out, Array<const float, 1> x, float factor) {
            return kernels->training.move(out.data(), x.data(), columns(out, x.shape(0)), factor);
        },
        nb::arg("out"), nb::arg("x"), nb::arg("factor"));
    m.def("find_nearest_signs", find_nearest_signs, nb::arg("vectors"), nb::arg("n_bits"), nb::arg("first"),
          nb::arg("last"), nb::arg("queries"), nb::arg("at_once"), nb::arg("near"));
    m.def("share_out_work", share_out, nb::arg("board"), nb::arg("sizes"),
          nb::call_guard<nb::gil_scoped_release>());
    m.def("probe", probe, nb::arg("index"), nb::arg("queries"), nb::arg("done"), nb::arg("k"));
    m.def("chunks", chunks, nb::arg("index"));
}

}  // namespace dsnc
