#pragma once
// What the files that offer functions to Python share.
#include <type_traits>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include "checks.hpp"
#include "kernels.hpp"

namespace dsnc {

namespace nb = nanobind;

// An array in C order: `Array<const float, 2>` may be read-only, `Array<float, 2>` may not.
template <class T, int N>
struct Array : nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu> {
    using Base = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
    using Base::Base;
    explicit Array(const Base& base) : Base(base) {}

    int64_t n() const { return static_cast<int64_t>(this->shape(0)); }
    int64_t width() const { return static_cast<int64_t>(this->shape(1)); }
    template <class... Sizes>
    bool has(Sizes... sizes) const {
        static_assert(sizeof...(sizes) == N);
        size_t axis = 0;
        return ((this->shape(axis++) == static_cast<size_t>(sizes)) && ...);
    }
};

// An array of some type, and its numbers if they are of one type.
using AnyArray = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
const T* numbers_of(const AnyArray& array) {
    return array.dtype() == nb::dtype<T>() ? static_cast<const T*>(array.data()) : nullptr;
}

// Whether runs follow each other within so many numbers.
template <class T>
bool are_runs(const Array<T, 1>& starts, size_t n_runs, size_t size) {
    return starts.has(n_runs + 1) && are_runs(starts.data(), n_runs, size);
}

template <class T, int N>
bool are_within(const Array<T, N>& numbers, int64_t first, int64_t end) {
    return are_within(numbers.data(), numbers.size(), first, end);
}

// Of a function that works for long: it lets other threads run, and so touches no Python object.
using free_of_gil = nb::call_guard<nb::gil_scoped_release>;

void bind_arrays(nb::module_& m);
void bind_codes(nb::module_& m);
void bind_learning(nb::module_& m);
void bind_predict(nb::module_& m);
void bind_second_stage(nb::module_& m);
void bind_text(nb::module_& m);
void bind_training(nb::module_& m);
void bind_parts(nb::module_& m);  // of a build for developers: tests/native

}  // namespace dsnc

namespace nanobind::detail {

// An array that is to be written to is never a copy.
template <class T, int N>
struct type_caster<dsnc::Array<T, N>> {
    using Given = make_caster<typename dsnc::Array<T, N>::Base>;
    using Taken = dsnc::Array<T, N>;
    NB_TYPE_CASTER(Taken, Given::Name)

    bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
        if (!std::is_const_v<T>) flags &= ~static_cast<uint32_t>(cast_flags::convert);
        Given given;
        if (!given.from_python(source, flags, cleanup)) return false;
        value = Taken(given.value);
        return true;
    }
};

}  // namespace nanobind::detail
