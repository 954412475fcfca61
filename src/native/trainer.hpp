#pragma once
// Runs the steps of training over some thousand rows at a time.
#include <vector>

#include "kernels.hpp"
#include "room.hpp"
#include "threads.hpp"

namespace dsnc {

// Rates of the encoder and of the class vectors, at the first row and after the last.
struct Rates {
    float encoder[2], classes[2];
};

class Trainer : private Phases {
 public:
    // The weights belong to others, and stay where they are.
    Trainer(const Plan& plan, const Sizes& sizes, const Weights& weights, const Weights& squares,
            int64_t batch_size, int n_threads);
    // Others hold on to where its rooms are.
    Trainer(const Trainer&) = delete;
    Trainer& operator=(const Trainer&) = delete;

    // Make the codes of the classes anew, when others have changed the vectors.
    void read_codes() { kernels->training.lay_out(step_); }

    // Take the steps over some rows, which were checked; return the sum of the losses. Of these rows, the first is at
    // this place among those that noise is drawn for with this seed.
    double run(const Rows& rows, const Rates& rates, uint64_t seed, int64_t place, bool searches);

    const Sizes& sizes() const { return step_.sizes; }

 private:
    // Of one thread.
    struct Own {
        ScanRoom scan;
        Room<int64_t> keys;
        Room<float> vectors, shares, values, sizes;
        Room<int32_t> classes, features;
        Space space{};
    };

    uint32_t next(int n_threads) override;
    void work(uint32_t piece, int thread) override;

    void make_room(int most);
    void make_slots(int most);
    uint32_t begin_scoring();
    uint32_t begin_moving(int n_threads);

    Step step_{};
    int64_t batch_size_;
    Pace pace_;
    std::vector<Own> own_;  // of each thread
    Room<uint8_t> planes_, bytes_;
    Room<float> floats_;
    Room<int32_t> ints_;
    std::vector<Slot> slots_;     // two batches
    std::vector<double> losses_;  // of each place in a batch

    // Of the pieces of the phase.
    bool is_moving_ = false;
    int64_t at_once_ = 1;  // rows that are scored in a piece; twice as many are made ready
    uint32_t n_to_score_ = 0, n_of_classes_ = 0, n_of_features_ = 0;
    Rates rates_{};
};

}  // namespace dsnc
