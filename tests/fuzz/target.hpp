#pragma once
// What a fuzz target says: known inputs, and what is tried with one. It ends the program if it fails.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

std::vector<std::string> seeds();
void try_one(const uint8_t* input, size_t size);

inline void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}
