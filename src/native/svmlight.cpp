// Words of svmlight files to numbers.
//
// A whole number that a double holds, times or by a power of ten that it holds, is rounded once: it
// is the nearest there is, as Python's `float` finds it. A number of more digits or of a larger power
// is not exact, and what is no number at all is not either: those are left to others.
#include "svmlight.hpp"

#include <array>

namespace dsnc {
namespace {

constexpr int64_t exact = int64_t{1} << 53;  // up to here a double holds every whole number
constexpr std::array<double, 23> powers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                           1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

// The digits of a number, and the power of ten that they are multiplied by.
struct Decimal {
    int64_t digits = 0;
    int64_t power = 0;
    int n_digits = 0;
};

// Read digits, with a point at most; return where they end, or null where they are too many.
const uint8_t* read_digits(const uint8_t* c, Decimal& number) {
    for (bool point = false;; ++c) {
        if (is_digit(*c)) {
            number.digits = 10 * number.digits + (*c - '0');
            if (number.digits > exact) return nullptr;
            ++number.n_digits;
            number.power -= point;
        } else if (*c == '.' && !point) {
            point = true;
        } else {
            return c;
        }
    }
}

// Read what follows an "e"; return where it ends, or null where there is nothing.
const uint8_t* read_exponent(const uint8_t* c, Decimal& number) {
    const int sign = *c == '-' ? -1 : 1;
    if (*c == '-' || *c == '+') ++c;
    int64_t exponent = 0;
    const uint8_t* const first = c;
    for (; is_digit(*c) && c - first < 4; ++c) exponent = 10 * exponent + (*c - '0');
    number.power += sign * exponent;
    return c == first ? nullptr : c;
}

bool read_number(const uint8_t* c, double& result) {
    const bool is_negative = *c == '-';
    if (*c == '-' || *c == '+') ++c;
    Decimal number;
    c = read_digits(c, number);
    if (c == nullptr || number.n_digits == 0) return false;
    if (*c == 'e' || *c == 'E') c = read_exponent(c + 1, number);
    if (c == nullptr || *c > ' ') return false;
    const int64_t power = number.power < 0 ? -number.power : number.power;
    if (power >= static_cast<int64_t>(powers.size())) return false;
    const double digits = static_cast<double>(number.digits);
    result = number.power >= 0 ? digits * powers[power] : digits / powers[power];
    if (is_negative) result = -result;
    return true;
}

}  // namespace

bool read_numbers(const uint8_t* text, const int64_t* starts, size_t n, double* numbers) {
    for (size_t i = 0; i < n; ++i)
        if (!read_number(text + starts[i], numbers[i])) return false;
    return true;
}

}  // namespace dsnc
