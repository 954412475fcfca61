#pragma once
// The best classes of a row so far, by score and then by number.
#include <cstdint>

namespace dsnc::LEVEL {

struct Line {
    int64_t* classes;
    float* scores;
    int64_t k;
    int64_t n = 0;

    void insert(int64_t owner, float score) {
        int64_t place = n;
        while (place > 0 &&
               (scores[place - 1] < score || (scores[place - 1] == score && classes[place - 1] > owner))) {
            if (place < k) {
                scores[place] = scores[place - 1];
                classes[place] = classes[place - 1];
            }
            --place;
        }
        if (place < k) {
            scores[place] = score;
            classes[place] = owner;
        }
        if (n < k) ++n;
    }
};

}  // namespace dsnc::LEVEL
