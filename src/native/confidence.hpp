#pragma once
// Scores to calibrated probabilities: see `dsnc.decoders.confidence`.
#include <cstdint>
#include <vector>

namespace dsnc {

struct Confidence {
    double temperature, other, unit, odds, margin, offset, odds_alone, offset_alone;
    std::vector<double> knots, heights;  // of the curve

    // Return the probability of the best class: from its log-odds by the softmax, and from how far its
    // score is above the next one, if there is one.
    double top(double log_odds, double lead, bool is_alone) const;

    // Write the probabilities of n candidates, one at least, best first; return that of each other
    // class. No class is more probable than one before it.
    float shares(const float* scores, int64_t n, int64_t n_others, float* shares) const;

 private:
    double along_curve(double z) const;
};

}  // namespace dsnc
