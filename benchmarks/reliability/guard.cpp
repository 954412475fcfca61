// Memory whose end is the end of a page, or whose start is the start of one, for numpy's arrays.
//
// A mapping has a page that holds the size of the data, and pages for the data with a page beside
// them that nobody may read: behind them if they are to be filled to their end, else before them.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

std::size_t pages(std::size_t size) { return (size + page - 1) / page * page; }

template <bool at_end>
struct Guard {
    static constexpr std::size_t pages_before = at_end ? 1 : 2;  // from the mapping to the data

    static std::byte* mapping(void* place) {
        const auto address = reinterpret_cast<std::uintptr_t>(place);
        return reinterpret_cast<std::byte*>(address / page * page - pages_before * page);
    }

    static std::size_t& size_of(std::byte* whole) { return *reinterpret_cast<std::size_t*>(whole); }

    static void* malloc(void*, std::size_t size) {
        size = std::max<std::size_t>(size, 1);
        const std::size_t inner = pages(size);
        if (inner < size || inner + 2 * page < inner) return nullptr;
        void* found = mmap(nullptr, inner + 2 * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (found == MAP_FAILED) return nullptr;
        auto* whole = static_cast<std::byte*>(found);
        size_of(whole) = size;
        mprotect(at_end ? whole + page + inner : whole + page, page, PROT_NONE);
        return whole + pages_before * page + (at_end ? inner - size : 0);
    }

    static void* calloc(void* context, std::size_t n, std::size_t size) {
        std::size_t all = 0;  // mappings are zeros
        return __builtin_mul_overflow(n, size, &all) ? nullptr : malloc(context, all);
    }

    static void free(void*, void* place, std::size_t) {
        if (place) munmap(mapping(place), pages(size_of(mapping(place))) + 2 * page);
    }

    static void* realloc(void* context, void* place, std::size_t size) {
        void* found = malloc(context, size);
        if (!place || !found) return found;
        std::memcpy(found, place, std::min(size, size_of(mapping(place))));
        free(context, place, 0);
        return found;
    }
};

struct Handler {  // `PyDataMem_Handler` of numpy
    char name[127];
    std::uint8_t version;
    void* context;
    void* (*malloc)(void*, std::size_t);
    void* (*calloc)(void*, std::size_t, std::size_t);
    void* (*realloc)(void*, void*, std::size_t);
    void (*free)(void*, void*, std::size_t);
};

template <bool at_end>
Handler handler = {"guard", 1, nullptr, Guard<at_end>::malloc, Guard<at_end>::calloc,
                   Guard<at_end>::realloc, Guard<at_end>::free};

}  // namespace

extern "C" void* guard_at_end() { return &handler<true>; }
extern "C" void* guard_at_start() { return &handler<false>; }
