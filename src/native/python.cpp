// The module `dsnc._native`.
#include "python.hpp"

#include <cstdlib>

#include <nanobind/stl/string.h>

#include "levels.hpp"

NB_MODULE(_native, m) {
    using namespace dsnc;
    nb::set_leak_warnings(false);  // what a cache of Python holds at the end is no leak
    const char* const name = std::getenv("DSNC_NATIVE");
    try {
        use_level(name == nullptr ? "" : name);
    } catch (const std::invalid_argument& error) {
        throw nb::import_error((std::string("DSNC_NATIVE: ") + error.what()).c_str());
    }
    m.def("level", [] { return std::string(kernels->level); });
    m.def("levels", names_of_levels);
    m.def("use_level", use_level, nb::arg("name"));
    bind_arrays(m);
    bind_codes(m);
    bind_learning(m);
    bind_predict(m);
    bind_second_stage(m);
    bind_text(m);
    bind_training(m);
#ifdef DSNC_TESTED
    bind_parts(m);
#endif
}
