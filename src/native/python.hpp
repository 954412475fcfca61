#pragma once
// What the files that offer functions to Python share.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "kernels.hpp"

namespace dsnc {

namespace nb = nanobind;

// An array in C order: `Array<const float, 2>` may be read-only, `Array<float, 2>` may not.
template <class T, int N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

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
