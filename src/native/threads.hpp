#pragma once
// Threads that share out work which comes in phases.
#include <chrono>
#include <cstdint>

namespace dsnc {

// What is to be done. A phase is some pieces, in any order; the next one begins when all are done.
class Phases {
 public:
    virtual ~Phases() = default;

    // Begin the next phase for about so many threads; return how many pieces it has: 65,534 at
    // most, and 0 after the last phase. No piece is being worked on meanwhile.
    virtual uint32_t next(int n_threads) = 0;

    // Do a piece. Threads of an even number take pieces from the front, others from the back: so
    // each gets to see the same ones again and again, as far as that goes.
    virtual void work(uint32_t piece, int thread) = 0;
};

// Finds out how many threads are best, from the time that phases take.
class Pace {
 public:
    explicit Pace(int most) : most_(most), n_(most) {}

    int most() const { return most_; }

    // Begin to look, after a time of other work.
    void begin() { n_phases_ = 0, begun_ = {}; }

    // Return how many threads to use from here on; called between any two phases.
    int n_threads();

 private:
    using Clock = std::chrono::steady_clock;

    void judge(double time);
    void judge_trial(double time);

    int most_, n_;
    int n_phases_ = 0;           // in this window of time
    Clock::time_point begun_{};  // when it began
    double usual_ = 0;           // time of a phase
    int tried_from_ = 0;         // how many are usual while another number is tried, else 0
    int patience_ = 1;           // windows between two trials,
    int waited_ = 0;             // and since the last one
    bool tries_more_ = false;
};

// Do it all, in up to as many threads as the pace has. What comes out must not depend on their number:
// where threads wait for each other more than they work, some of them rest.
void run_phases(Phases& phases, Pace& pace);

}  // namespace dsnc
