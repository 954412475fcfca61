// Labels of all codes by a breadth-first search with a queue, the nearest known code first.
#include <cstdint>

extern "C" void breadth_first(
    const std::uint64_t* words, const std::int32_t* labels, std::int64_t n_words, int n_bits,
    std::int32_t* answers, std::uint32_t* queue) {  // both of 2^n_bits numbers, the answers all -1
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < n_words; ++i)
        if (answers[words[i]] < 0) {
            answers[words[i]] = labels[i];
            queue[end++] = static_cast<std::uint32_t>(words[i]);
        }
    for (std::int64_t done = 0; done < end; ++done) {
        const std::uint32_t code = queue[done];
        for (int bit = 0; bit < n_bits; ++bit) {
            const std::uint32_t other = code ^ (1u << bit);
            if (answers[other] < 0) {
                answers[other] = answers[code];
                queue[end++] = other;
            }
        }
    }
}
