// Makes up inputs for a target, at random from known ones: NAME SECONDS [SEED]. One of libFuzzer's
// own kind would do as well; this takes no clang.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "target.hpp"

namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t n) { return size_t(random() % n); }

// Change some octets, or leave some out, or repeat some, or join what begins one to what ends another.
std::string changed(Random& random, const std::vector<std::string>& known) {
    std::string input = known[below(random, known.size())];
    for (size_t times = 1 + below(random, 6); times > 0; --times) {
        const size_t place = below(random, input.size() + 1), n = below(random, 40);
        switch (below(random, 6)) {
            case 0: input.insert(place, 1, char(random())); break;
            case 1:
                if (place < input.size()) input[place] = char(random());
                break;
            case 2:
                if (place < input.size()) input[place] ^= char(1 << below(random, 8));
                break;
            case 3: input.erase(place, n); break;
            case 4: input.insert(place, input.substr(place, n)); break;
            case 5: {
                const std::string& other = known[below(random, known.size())];
                input = input.substr(0, place) + other.substr(below(random, other.size() + 1));
            }
        }
    }
    return input.size() < 1 << 16 ? input : input.substr(0, 1 << 16);
}

}  // namespace

int main(int n_words, char** words) {
    if (n_words < 2) return std::fprintf(stderr, "%s SECONDS [SEED]\n", words[0]), 2;
    const std::chrono::duration<double> limit{std::atof(words[1])};
    Random random(n_words > 2 ? std::strtoull(words[2], nullptr, 10) : 0);
    std::vector<std::string> known = seeds();
    const auto start = std::chrono::steady_clock::now();
    size_t n = 0;
    for (const std::string& seed : known) try_one(reinterpret_cast<const uint8_t*>(seed.data()), seed.size());
    for (; std::chrono::steady_clock::now() - start < limit; ++n) {
        const std::string input = changed(random, known);
        try_one(reinterpret_cast<const uint8_t*>(input.data()), input.size());
        if (n % 64 == 0) known[below(random, known.size())] = input;
        if (n % 4096 == 0) known = seeds();
    }
    std::printf("%zu inputs\n", n);
}
