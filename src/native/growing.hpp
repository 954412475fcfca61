#pragma once
// Numbers whose amount is not known before: room that is not filled takes no memory.
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace dsnc {

template <class T>
class Growing {
 public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { std::free(data_); }

    T* data() { return data_; }

    // Have room for so many; new ones are not set.
    void make_room(size_t size) {
        if (size > room_) change_room(size > 2 * room_ ? size : 2 * room_);
    }

    // Give the first numbers away, to be given to `std::free`.
    T* release(size_t size) {
        change_room(size ? size : 1);
        room_ = 0;
        return std::exchange(data_, nullptr);
    }

 private:
    void change_room(size_t size) {
        void* const data = std::realloc(data_, size * sizeof(T));
        if (!data) throw std::bad_alloc();
        data_ = static_cast<T*>(data);
        room_ = size;
    }

    T* data_ = nullptr;
    size_t room_ = 0;
};

}  // namespace dsnc
