// Numbers of svmlight files: what is said to be exact is what the C library reads.
#include <cstring>

#include "svmlight.hpp"
#include "target.hpp"

std::vector<std::string> seeds() {
    return {"1",
            "-0.5 +3e4 1e-22",
            "9007199254740992 9007199254740993",
            "00012.5000e+0005",
            "1e22 1e23 1e-23 .5 5. . e5",
            "nan inf -inf 0x12 1_000 --1",
            "123456789012345678901234567890",
            "4.9406564584124654e-324"};
}

void try_one(const uint8_t* input, size_t size) {
    std::string text(reinterpret_cast<const char*>(input), size);
    for (char& c : text)
        if (c == 0) c = ' ';
    text += ' ';  // which the reader asks for
    std::vector<int64_t> starts;
    for (size_t i = 0; i < text.size(); ++i)
        if (uint8_t(text[i]) > ' ' && (i == 0 || uint8_t(text[i - 1]) <= ' ')) starts.push_back(int64_t(i));
    for (const int64_t start : starts) {
        double number = 0;
        if (!dsnc::read_numbers(reinterpret_cast<const uint8_t*>(text.data()), &start, 1, &number)) continue;
        char* end = nullptr;
        const double expected = std::strtod(text.c_str() + start, &end);
        expect(uint8_t(*end) <= ' ', "a number ends where the C library says");
        expect(std::memcmp(&number, &expected, sizeof number) == 0, "a number is the nearest there is");
    }
}
