// The levels of instructions that there are kernels of, and the one in use.
#include "levels.hpp"

#include <stdexcept>

namespace dsnc {

const Kernels* kernels = nullptr;

namespace {

struct Level {
    const char* name;
    bool is_there;
    const Kernels& (*kernels)();
};

// The newest first.
std::vector<Level> levels() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
    const bool v4p =
        v4 && __builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bitalg");
    return {{"v4p", v4p, v4p::kernels},
            {"v4", v4, v4::kernels},
            {"v3", v3, v3::kernels},
            {"v2", true, v2::kernels}};
#else
    return {{"neon", true, neon::kernels}};
#endif
}

}  // namespace

std::string names_of_levels() {
    std::string names;
    for (const Level& level : levels())
        if (level.is_there) names += (names.empty() ? "" : " ") + std::string(level.name);
    return names;
}

void use_level(const std::string& name) {
    for (const Level& level : levels())
        if (level.is_there && (name.empty() || name == level.name)) {
            kernels = &level.kernels();
            return;
        }
    throw std::invalid_argument("there are no kernels of the level '" + name +
                                "' for this processor; choose from: " + names_of_levels() + ".");
}

}  // namespace dsnc
