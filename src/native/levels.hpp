#pragma once
// The levels of instructions that there are kernels of, and the one in use.
#include <string>
#include <vector>

#include "kernels.hpp"

namespace dsnc {

// The names of those that the processor has, the newest first, with blanks between them.
std::string names_of_levels();

// Use the kernels of a level, by its name; without one, of the newest that the processor has.
void use_level(const std::string& name);

}  // namespace dsnc
