#include "confidence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dsnc {
namespace {

constexpr double most_odds = 50;     // the log of: surer is certain
constexpr double least_lead = 0.05;  // of a typical one: below, all leads are alike
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double largest = std::numeric_limits<float>::max();

// A score that may be too large for a float.
double finite(float score) { return std::min<double>(score, largest); }

// A probability that no rounding puts beside those of other classes.
float above(double top) { return std::min(std::nextafter(static_cast<float>(top), 2.0f), 1.0f); }

}  // namespace

// Lines from knot to knot; the outer ones go on.
double Confidence::along_curve(double z) const {
    const auto after = std::upper_bound(knots.begin() + 1, knots.end() - 1, z) - knots.begin();
    const double slope = (heights[after] - heights[after - 1]) / (knots[after] - knots[after - 1]);
    return slope * (z - knots[after - 1]) + heights[after - 1];
}

double Confidence::top(double log_odds, double lead, bool is_alone) const {
    const double known = std::isnan(log_odds) ? -most_odds : std::clamp(log_odds, -most_odds, most_odds);
    const double z =
        is_alone ? odds_alone * known + offset_alone
                 : odds * known + offset + margin * std::log(least_lead + std::min(lead, largest) / unit);
    return 1 / (1 + std::exp(-along_curve(z)));
}

float Confidence::shares(const float* scores, int64_t n, int64_t n_others, float* shares) const {
    static thread_local std::vector<double> parts;
    const double none = n_others > 0 ? other / temperature : -infinite;
    double most = none;
    for (int64_t i = 1; i < n; ++i) most = std::max(most, finite(scores[i]) / temperature);
    if (most == -infinite) {  // there is nothing else
        shares[0] = 1;
        return 0;
    }
    parts.resize(static_cast<size_t>(n));
    double rest = std::exp(none - most), sum = rest;
    for (int64_t i = 1; i < n; ++i) sum += parts[i] = std::exp(finite(scores[i]) / temperature - most);
    const double first = finite(scores[0]), lead = n > 1 ? first - finite(scores[1]) : infinite;
    double best = top(first / temperature - most - std::log(sum), lead, n < 2);
    // The others share what is left, none less than a class that is no candidate.
    rest /= static_cast<double>(std::max<int64_t>(n_others, 1));
    double whole = static_cast<double>(n_others) * rest;
    for (int64_t i = 1; i < n; ++i) whole += parts[i] = std::max(parts[i], rest);
    const double second = (n > 1 ? parts[1] : rest) / whole;
    best = std::max(best, second / (1 + second));
    for (int64_t i = 1; i < n; ++i) shares[i] = static_cast<float>(parts[i] / whole * (1 - best));
    shares[0] = above(std::max(best, second * (1 - best)));
    return static_cast<float>(rest / whole * (1 - best));
}

}  // namespace dsnc
