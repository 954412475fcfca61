#pragma once
// The kernels that are compiled once for each level of instructions, as one table of functions.
//
// A file of kernels puts its functions into the table of its own level: the build sets `LEVEL`, the
// name of the namespace that they stand in. levels.cpp takes the table of the best level that the
// processor has. What such a file takes in from the standard library must be inlined, or be of types
// of its own level: of a function that several levels compile, the linker keeps one, and that may be
// of a level which the processor does not have. A test looks for such functions.
#include "kmeans.hpp"
#include "search.hpp"
#include "second_stage.hpp"
#include "table.hpp"
#include "text.hpp"
#include "training.hpp"

namespace dsnc {

struct Kernels {
    const char* level;
    CenterKernels centers;
    SearchKernels search;
    SecondStageKernels second_stage;
    TableKernels table;
    TextKernels text;
    TrainingKernels training;
};

// Those of the level in use.
extern const Kernels* kernels;

namespace v2 {
const Kernels& kernels();
}
namespace v3 {
const Kernels& kernels();
}
namespace v4 {
const Kernels& kernels();
}
namespace v4p {
const Kernels& kernels();
}
namespace neon {
const Kernels& kernels();
}

}  // namespace dsnc
