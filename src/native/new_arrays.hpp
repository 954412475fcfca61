#pragma once
// Arrays that are made here and given to Python.
#include <cstring>

#include "growing.hpp"
#include "python.hpp"

namespace dsnc {

template <class T>
nb::object as_array(T* data, size_t n, nb::handle owner) {
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {n}, owner));
}

// What `numpy.empty` gives. That takes less than half the time of an array with an owner.
template <class T>
nb::object new_array(nb::handle shape) {
    static PyObject* const empty = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
    static PyObject* const kind =
        nb::object(as_array<T>(nullptr, 0, nb::none()).attr("dtype")).release().ptr();
    return nb::handle(empty)(shape, nb::handle(kind));
}

template <class T>
nb::object copied(const T* data, size_t n) {
    nb::object array = new_array<T>(nb::int_(n));
    Py_buffer buffer;
    if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_WRITABLE) != 0) throw nb::python_error();
    if (n) std::memcpy(buffer.buf, data, n * sizeof(T));  // of none, data may be null
    PyBuffer_Release(&buffer);
    return array;
}

template <class T>
nb::object given_away(Growing<T>& numbers, size_t n) {
    constexpr size_t few = 4096;
    if (n < few) return copied(numbers.data(), n);
    T* const data = numbers.release(n);
    return as_array(data, n, nb::capsule(data, [](void* own) noexcept { std::free(own); }));
}

}  // namespace dsnc
