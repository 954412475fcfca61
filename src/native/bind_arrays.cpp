// Functions of a few arrays: numbers of files, tables of all codes, entries that are left out.
#include "noise.hpp"
#include "python.hpp"
#include "svmlight.hpp"

namespace dsnc {
namespace {

// Write the numbers that begin at some places of a text; tell whether all are exact.
bool read_all(Array<const uint8_t, 1> text, Array<const int64_t, 1> starts, Array<double, 1> numbers) {
    require(numbers.has(starts.n()), "there are not as many numbers as starts");
    require(are_within(starts, 0, text.n()), "a number begins outside of the text");
    require(starts.n() == 0 || text(text.size() - 1) <= ' ', "the text does not end with a blank");
    return read_numbers(text.data(), starts.data(), starts.size(), numbers.data());
}

// Write into `table`, of 2**n numbers, the distance of the nearest code of each code, and its label.
void make_table(Array<const uint64_t, 1> codes, Array<const uint32_t, 1> labels, Array<uint32_t, 1> table) {
    const size_t size = table.shape(0);
    int n_bits = least_bits;
    while (n_bits < most_bits && size_t{1} << n_bits < size) ++n_bits;
    require(size == size_t{1} << n_bits, "the size of the table is not a power of two from 2**4 to 2**28");
    require(labels.has(codes.n()), "there are not as many labels as codes");
    std::fill_n(table.data(), size, nothing_near);
    for (size_t i = 0; i < codes.shape(0); ++i) {
        require(codes(i) < size && labels(i) <= most_label, "a code or its label is too large");
        table(codes(i)) = std::min(table(codes(i)), labels(i));
    }
    kernels->table.spread(table.data(), n_bits);
}

// Leave out a share of the entries of CSR arrays, in place; return how many are left.
//
// Each is drawn by lot; those that stay are raised, so that the sums are the same on average.
int64_t leave_out(Array<int64_t, 1> indptr, Array<int32_t, 1> indices, Array<float, 1> values, float share,
                  uint32_t seed) {
    const size_t n_rows = std::max<size_t>(indptr.shape(0), 1) - 1;
    require(indices.has(values.n()), "there are not as many indices as values");
    require(are_runs(indptr, n_rows, values.size()), "the entries of rows must follow each other");
    const float raised = 1 / (1 - share);
    int64_t* const ends = indptr.data();
    int64_t n = 0, begin = 0;
    for (size_t row = 1; row <= n_rows; ++row) {
        const int64_t end = ends[row];
        for (int64_t p = begin; p < end; ++p) {
            indices.data()[n] = indices.data()[p];
            values.data()[n] = values.data()[p] * raised;
            n += chance(seed, static_cast<uint32_t>(p)) >= share;
        }
        begin = end;
        ends[row] = n;
    }
    return n;
}

}  // namespace

void bind_arrays(nb::module_& m) {
    m.def("read_numbers", read_all, free_of_gil());
    m.def("make_table", make_table, free_of_gil());
    m.def("leave_out", leave_out, free_of_gil());
}

}  // namespace dsnc
