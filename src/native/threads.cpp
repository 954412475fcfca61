// Threads that share out work which comes in phases.
//
// Whoever finishes the last piece of a phase begins the next one. So nobody waits for threads, only
// for pieces: a thread that has no piece and gets no core is not missed. Who finds no piece left looks
// again and again for a moment, and then sleeps, so that the system can give the core to who has one.
//
// A thread that loses its core with a piece in its hands keeps all others waiting, for milliseconds.
// Where that happens often (another process takes a core, a quota is used up), fewer threads are
// faster: now and then a smaller or larger number is tried for some milliseconds, and kept if phases
// end sooner with it.
#include "threads.hpp"

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dsnc {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds spinning{30e-6};  // before a thread sleeps
constexpr int spins = 16;           // between two looks at the clock
constexpr Seconds window{6e-3};     // in which phases are counted,
constexpr int fewest_phases = 16;   // and how many at least: they are of different kinds
constexpr int most_patience = 64;   // windows between two trials
constexpr double better = 0.95;     // times what is usual: to change the number of threads
constexpr double worse = 1.3;       // and to try another number at once

void relax() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class Crew {
 public:
    Crew(Phases& phases, Pace& pace) : phases_(phases), pace_(pace), n_active_(pace.most()) { begin_phase(); }

    // What each thread does until the last phase is over.
    void work(int thread) {
        for (;;) {
            const uint32_t phase = phase_.load(std::memory_order_acquire);
            if (phase == over) return;
            const int n_active = n_active_.load(std::memory_order_acquire);
            uint32_t piece;
            if (thread >= n_active) {
                n_active_.wait(n_active, std::memory_order_acquire);
                continue;
            }
            switch (take(thread % 2 != 0, piece)) {
                case Taken::piece: finish(piece, thread); break;
                case Taken::nothing: wait_for_the_end_of(phase); break;
                case Taken::too_early: std::this_thread::yield(); break;
            }
        }
    }

 private:
    enum class Taken { piece, nothing, too_early };

    static constexpr uint32_t over = 0;
    static constexpr uint64_t closed = 0xffff;  // in front: the next phase is being prepared

    // Take a piece that no other thread takes, from either end.
    Taken take(bool from_back, uint32_t& piece) {
        uint64_t taken = taken_.load(std::memory_order_acquire);
        for (;;) {
            const auto front = static_cast<uint16_t>(taken), back = static_cast<uint16_t>(taken >> 16);
            if (front == closed) return Taken::too_early;
            const uint32_t n = n_pieces_.load(std::memory_order_acquire);
            if (uint32_t{front} + back >= n) return Taken::nothing;
            // Of another phase the number in front is another one, and nothing is taken.
            const uint64_t next = taken + (from_back ? 1 << 16 : 1);
            if (!taken_.compare_exchange_weak(taken, next, std::memory_order_acq_rel)) continue;
            piece = from_back ? n - 1 - back : front;
            return Taken::piece;
        }
    }

    void finish(uint32_t piece, int thread) {
        phases_.work(piece, thread);
        // Read before the piece is done: afterwards, it may be the number of another phase.
        const uint32_t n_pieces = n_pieces_.load(std::memory_order_acquire);
        if (n_done_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_pieces) begin_phase();
    }

    // One thread does so, when all pieces are done.
    //
    // Nothing can be taken while the numbers of the phase change, and the last thing that is written
    // opens it: from there on, others may end this phase and begin the next ones while this thread
    // has no core. Whatever it wrote later would be of a phase that is long over.
    void begin_phase() {
        const int n_active = pace_.n_threads();
        const uint32_t n_pieces = phases_.next(n_active);
        const uint32_t before = phase_.load(std::memory_order_relaxed);
        const uint32_t phase = n_pieces == 0 ? over : before + 1 == over ? 1 : before + 1;
        const uint64_t in_front = static_cast<uint64_t>(phase) << 32;
        const int wanted = n_pieces == 0 ? all : n_active;
        const bool changes = wanted != n_active_.load(std::memory_order_relaxed);
        taken_.store(in_front | closed, std::memory_order_release);
        n_done_.store(0, std::memory_order_relaxed);
        n_pieces_.store(n_pieces, std::memory_order_release);
        phase_.store(phase, std::memory_order_release);
        n_active_.store(wanted, std::memory_order_release);
        // In one order with the look for sleeping threads below, which must not come first: a thread
        // that falls asleep just now would be missed.
        taken_.store(in_front, std::memory_order_seq_cst);
        phase_.notify_all();
        if (changes) n_active_.notify_all();
    }

    void wait_for_the_end_of(uint32_t phase) {
        const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(spinning);
        do {
            for (int i = 0; i < spins; ++i) {
                if (phase_.load(std::memory_order_acquire) != phase) return;
                relax();
            }
        } while (Clock::now() < end);
        phase_.wait(phase, std::memory_order_acquire);
    }

    static constexpr int all = 1 << 30;

    Phases& phases_;
    Pace& pace_;
    // Each on a cache line of its own.
    alignas(64) std::atomic<uint64_t> taken_{0};  // phase << 32 | from the back << 16 | from the front
    alignas(64) std::atomic<uint32_t> n_done_{0};
    alignas(64) std::atomic<uint32_t> n_pieces_{0};
    alignas(64) std::atomic<uint32_t> phase_{over};
    alignas(64) std::atomic<int> n_active_;
};

}  // namespace

int Pace::n_threads() {
    if (most_ == 1) return 1;
    const Clock::time_point now = Clock::now();
    if (begun_ != Clock::time_point{}) {
        ++n_phases_;
        if (now - begun_ < window || n_phases_ < fewest_phases) return n_;
        const double time = Seconds{now - begun_}.count() / n_phases_;
        if (tried_from_ != 0) judge_trial(time);
        else judge(time);
    }
    begun_ = now;
    n_phases_ = 0;
    return n_;
}

// Learn what is usual; try something else when it is time.
void Pace::judge(double time) {
    if (usual_ != 0 && time > worse * usual_) patience_ = 1;
    usual_ = usual_ == 0 ? time : usual_ + (time - usual_) / 4;
    if (++waited_ <= patience_) return;
    tried_from_ = n_;
    tries_more_ = n_ == 1 || (n_ < most_ && !tries_more_);
    n_ = !tries_more_ ? n_ / 2 : 2 * n_ < most_ ? 2 * n_ : most_;
}

// Keep what was tried if it is better, otherwise go back and be more patient.
void Pace::judge_trial(double time) {
    if (time < better * usual_) {
        usual_ = time;
        patience_ = 1;
    } else {
        n_ = tried_from_;
        patience_ = 2 * patience_ < most_patience ? 2 * patience_ : most_patience;
    }
    tried_from_ = waited_ = 0;
}

void run_phases(Phases& phases, Pace& pace) {
    pace.begin();
    Crew crew(phases, pace);
    std::vector<std::thread> others;
    others.reserve(static_cast<size_t>(pace.most()));
    try {
        for (int thread = 1; thread < pace.most(); ++thread)
            others.emplace_back([&crew, thread] { crew.work(thread); });
    } catch (const std::system_error&) {
        // The system refuses more threads: those that are there do it.
    }
    crew.work(0);
    for (std::thread& other : others) other.join();
}

}  // namespace dsnc
