#pragma once
// Sixteen floats, or sixteen integers, or sixty-four octets, at once, in the registers of a level.
//
// Where registers are shorter, they are pairs, or pairs of pairs: gcc leaves vectors that are longer
// than its registers in memory. They are read from and written to any address. Everything here is
// inlined.
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define DSNC_INLINE inline __attribute__((always_inline))

namespace dsnc::LEVEL {

constexpr int width = 16;

// One register of a level.
#if defined(__AVX512BW__)
constexpr int register_size = 64;
#elif defined(__AVX2__)
constexpr int register_size = 32;
#else
constexpr int register_size = 16;
#endif

template <class Number>
struct RegisterOf {
    typedef Number Type __attribute__((vector_size(register_size)));
};

template <class Number>
using Register = typename RegisterOf<Number>::Type;

template <class Half>
struct Pair {
    Half low, high;
};

template <class Number, int size>
struct VectorOf {
    using Type = Pair<typename VectorOf<Number, size / 2>::Type>;
};

template <class Number>
struct VectorOf<Number, register_size> {
    using Type = Register<Number>;
};

// 64 bytes of numbers of some kind.
template <class Number>
using Vector = typename VectorOf<Number, 64>::Type;

using Floats = Vector<float>;
using Ints = Vector<int32_t>;
using Uints = Vector<uint32_t>;
using Octets = Vector<uint8_t>;

// Registers are one thing that the compiler adds, multiplies and so on; of a pair, both are.

template <class H>
DSNC_INLINE Pair<H> operator+(Pair<H> a, Pair<H> b) {
    return {a.low + b.low, a.high + b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator-(Pair<H> a, Pair<H> b) {
    return {a.low - b.low, a.high - b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator-(Pair<H> a) {
    return {-a.low, -a.high};
}

template <class H>
DSNC_INLINE Pair<H> operator*(Pair<H> a, Pair<H> b) {
    return {a.low * b.low, a.high * b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator/(Pair<H> a, Pair<H> b) {
    return {a.low / b.low, a.high / b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator&(Pair<H> a, Pair<H> b) {
    return {a.low & b.low, a.high & b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator|(Pair<H> a, Pair<H> b) {
    return {a.low | b.low, a.high | b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator^(Pair<H> a, Pair<H> b) {
    return {a.low ^ b.low, a.high ^ b.high};
}

template <class H>
DSNC_INLINE Pair<H> operator<<(Pair<H> a, int n) {
    return {a.low << n, a.high << n};
}

template <class H>
DSNC_INLINE Pair<H> operator>>(Pair<H> a, int n) {
    return {a.low >> n, a.high >> n};
}

// Comparisons give integers: -1 where they hold, 0 elsewhere.

template <class H>
DSNC_INLINE auto operator>(Pair<H> a, Pair<H> b) {
    return Pair<decltype(a.low > b.low)>{a.low > b.low, a.high > b.high};
}

template <class H>
DSNC_INLINE auto operator<(Pair<H> a, Pair<H> b) {
    return b > a;
}

template <class H>
DSNC_INLINE auto operator==(Pair<H> a, Pair<H> b) {
    return Pair<decltype(a.low == b.low)>{a.low == b.low, a.high == b.high};
}

// `a` where a comparison holds, `b` elsewhere.
template <class M, class V>
DSNC_INLINE V select(M holds, V a, V b) {
    return holds ? a : b;
}

template <class M, class H>
DSNC_INLINE Pair<H> select(Pair<M> holds, Pair<H> a, Pair<H> b) {
    return {select(holds.low, a.low, b.low), select(holds.high, a.high, b.high)};
}

template <class V>
DSNC_INLINE V larger(V a, V b) {
    return select(a > b, a, b);
}

template <class V>
DSNC_INLINE V smaller(V a, V b) {
    return select(a < b, a, b);
}

// The bits of one kind taken as another kind: `taken_as<Uints>(floats)`.
template <class To, class From>
DSNC_INLINE To taken_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

// Reading, writing, and one number everywhere: `read<Floats>(place)`, `repeated<Floats>(0.5f)`.

template <class V>
struct Access {
    static DSNC_INLINE V read(const void* place) {
        V values;
        std::memcpy(&values, place, sizeof values);
        return values;
    }
    static DSNC_INLINE void write(void* place, V values) { std::memcpy(place, &values, sizeof values); }
    template <class N>
    static DSNC_INLINE V repeated(N number) {
        return number - V{};
    }
};

template <class H>
struct Access<Pair<H>> {
    static DSNC_INLINE Pair<H> read(const void* place) {
        const auto* bytes = static_cast<const char*>(place);
        return {Access<H>::read(bytes), Access<H>::read(bytes + sizeof(H))};
    }
    static DSNC_INLINE void write(void* place, Pair<H> values) {
        auto* bytes = static_cast<char*>(place);
        Access<H>::write(bytes, values.low);
        Access<H>::write(bytes + sizeof(H), values.high);
    }
    template <class N>
    static DSNC_INLINE Pair<H> repeated(N number) {
        return {Access<H>::repeated(number), Access<H>::repeated(number)};
    }
};

template <class V>
DSNC_INLINE V read(const void* place) {
    return Access<V>::read(place);
}

template <class V, class N>
DSNC_INLINE V repeated(N number) {
    return Access<V>::repeated(number);
}

DSNC_INLINE Floats load(const float* place) { return read<Floats>(place); }
DSNC_INLINE Ints load(const int32_t* place) { return read<Ints>(place); }
DSNC_INLINE Octets load(const uint8_t* place) { return read<Octets>(place); }

DSNC_INLINE void store(float* place, Floats v) { Access<Floats>::write(place, v); }
DSNC_INLINE void store(int32_t* place, Ints v) { Access<Ints>::write(place, v); }
DSNC_INLINE void store(uint8_t* place, Octets v) { Access<Octets>::write(place, v); }

DSNC_INLINE Floats all(float value) { return repeated<Floats>(value); }
DSNC_INLINE Ints all(int32_t value) { return repeated<Ints>(value); }
DSNC_INLINE Uints all(uint32_t value) { return repeated<Uints>(value); }
DSNC_INLINE Octets all(uint8_t value) { return repeated<Octets>(value); }

// Floats to integers, cut off, and back.

DSNC_INLINE Register<int32_t> to_ints(Register<float> floats) {
    return __builtin_convertvector(floats, Register<int32_t>);
}

DSNC_INLINE Register<float> to_floats(Register<int32_t> ints) {
    return __builtin_convertvector(ints, Register<float>);
}

template <class H>
DSNC_INLINE auto to_ints(Pair<H> v) {
    return Pair<decltype(to_ints(v.low))>{to_ints(v.low), to_ints(v.high)};
}

template <class H>
DSNC_INLINE auto to_floats(Pair<H> v) {
    return Pair<decltype(to_floats(v.low))>{to_floats(v.low), to_floats(v.high)};
}

// The sum of all sixteen, and the largest of them, in the same order on each level.

typedef float Four __attribute__((vector_size(16)));
typedef float Eight __attribute__((vector_size(32)));

#if defined(__AVX512BW__)
DSNC_INLINE Pair<Eight> halves(Floats v) {
    return {__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
            __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)};
}
#else
DSNC_INLINE Floats halves(Floats v) { return v; }
#endif

#if defined(__AVX2__)
DSNC_INLINE Pair<Four> halves(Eight v) {
    return {__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)};
}
#else
DSNC_INLINE Pair<Four> halves(Pair<Four> v) { return v; }
#endif

DSNC_INLINE Four sum_of_fours(Floats v) {
    const auto eights = halves(v);
    const auto fours = halves(eights.low + eights.high);
    return fours.low + fours.high;
}

DSNC_INLINE float sum(Floats v) {
    const Four four = sum_of_fours(v);
    const Four two = four + __builtin_shufflevector(four, four, 2, 3, 2, 3);
    return two[0] + two[1];
}

// Square roots.
DSNC_INLINE Four root(Four v) {
    for (int i = 0; i < 4; ++i) v[i] = __builtin_sqrtf(v[i]);
    return v;
}

// The sums of four vectors, each in that order.
DSNC_INLINE Four sum(Floats a, Floats b, Floats c, Floats d) {
#if defined(__AVX512BW__)
    // Fours of each, added up, and then these side by side.
    const Floats ab =
        __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const Floats cd =
        __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(c, d, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    const Floats fours =
        __builtin_shufflevector(ab, cd, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
        __builtin_shufflevector(ab, cd, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    const Floats twos =
        fours + __builtin_shufflevector(fours, fours, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
    const Floats ones =
        twos + __builtin_shufflevector(twos, twos, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
    return __builtin_shufflevector(ones, ones, 0, 4, 8, 12);
#else
    const Four fours[4] = {sum_of_fours(a), sum_of_fours(b), sum_of_fours(c), sum_of_fours(d)};
    const Four ab = __builtin_shufflevector(fours[0], fours[1], 0, 4, 1, 5) +
                    __builtin_shufflevector(fours[0], fours[1], 2, 6, 3, 7);
    const Four cd = __builtin_shufflevector(fours[2], fours[3], 0, 4, 1, 5) +
                    __builtin_shufflevector(fours[2], fours[3], 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#endif
}

DSNC_INLINE float largest(Floats v) {
    const auto eights = halves(v);
    const auto fours = halves(larger(eights.low, eights.high));
    const Four four = larger(fours.low, fours.high);
    const float even = four[0] > four[2] ? four[0] : four[2];
    const float odd = four[1] > four[3] ? four[1] : four[3];
    return even > odd ? even : odd;
}

// Where numbers are above zero: bit i for number i.

DSNC_INLINE uint32_t above_zero(Register<float> v) {
#if defined(__AVX512BW__)
    return _mm512_cmp_ps_mask((__m512)v, _mm512_setzero_ps(), _CMP_GT_OQ);
#elif defined(__AVX2__)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)v, _mm256_setzero_ps(), _CMP_GT_OQ));
#elif defined(__SSE2__)
    return _mm_movemask_ps(_mm_cmpgt_ps((__m128)v, _mm_setzero_ps()));
#else
    const Register<int32_t> places = {1, 2, 4, 8};
    const Register<int32_t> bits = (v > Register<float>{}) & places;
    return bits[0] | bits[1] | bits[2] | bits[3];
#endif
}

template <class H>
DSNC_INLINE uint32_t above_zero(Pair<H> v) {
    return above_zero(v.low) | above_zero(v.high) << (sizeof(H) / sizeof(float));
}

// Octets: how many bits are set in each, and sums that stay at the largest octet.

DSNC_INLINE Register<uint8_t> popcount(Register<uint8_t> v) {
#if defined(__AVX512BITALG__)
    return (Register<uint8_t>)_mm512_popcnt_epi8((__m512i)v);
#elif defined(__SSSE3__)
    const auto low = repeated<Register<uint8_t>>(uint8_t{15});
    const __m128i four = _mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    // By words, because there is no shift of octets; what comes in from above is cut off.
    const auto upper = (Register<uint8_t>)((Register<uint16_t>)v >> 4) & low;
#if defined(__AVX512BW__)
    const auto words = (__m128i)four;
    const __m512i table = __builtin_shufflevector(words, words, 0, 1, 0, 1, 0, 1, 0, 1);
    return (Register<uint8_t>)_mm512_shuffle_epi8(table, (__m512i)(v & low)) +
           (Register<uint8_t>)_mm512_shuffle_epi8(table, (__m512i)upper);
#elif defined(__AVX2__)
    const __m256i table = _mm256_broadcastsi128_si256(four);
    return (Register<uint8_t>)_mm256_shuffle_epi8(table, (__m256i)(v & low)) +
           (Register<uint8_t>)_mm256_shuffle_epi8(table, (__m256i)upper);
#else
    return (Register<uint8_t>)_mm_shuffle_epi8(four, (__m128i)(v & low)) +
           (Register<uint8_t>)_mm_shuffle_epi8(four, (__m128i)upper);
#endif
#elif defined(__ARM_NEON)
    return (Register<uint8_t>)vcntq_u8((uint8x16_t)v);
#else
    v = v - ((v >> 1) & 0x55);
    v = (v & 0x33) + ((v >> 2) & 0x33);
    return (v + (v >> 4)) & 0x0f;
#endif
}

template <class H>
DSNC_INLINE Pair<H> popcount(Pair<H> v) {
    return {popcount(v.low), popcount(v.high)};
}

DSNC_INLINE Register<uint8_t> add_saturated(Register<uint8_t> a, Register<uint8_t> b) {
    const Register<uint8_t> total = a + b;
    return total | (Register<uint8_t>)(total < a);
}

template <class H>
DSNC_INLINE Pair<H> add_saturated(Pair<H> a, Pair<H> b) {
    return {add_saturated(a.low, b.low), add_saturated(a.high, b.high)};
}

#if defined(__SSE4_1__)  // which has minima of integers, where gcc does not see them
DSNC_INLINE Register<uint8_t> smaller(Register<uint8_t> a, Register<uint8_t> b) {
#if defined(__AVX512BW__)
    return (Register<uint8_t>)_mm512_min_epu8((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
    return (Register<uint8_t>)_mm256_min_epu8((__m256i)a, (__m256i)b);
#else
    return (Register<uint8_t>)_mm_min_epu8((__m128i)a, (__m128i)b);
#endif
}
#endif

template <class H>
DSNC_INLINE Pair<H> smaller(Pair<H> a, Pair<H> b) {
    return {smaller(a.low, b.low), smaller(a.high, b.high)};
}

// The least of sixty-four octets.
DSNC_INLINE uint8_t least(Register<uint8_t> v) {
#if defined(__AVX512BW__)
    const auto words = (__m512i)v;
    const __m256i half = _mm256_min_epu8(__builtin_shufflevector(words, words, 0, 1, 2, 3),
                                         __builtin_shufflevector(words, words, 4, 5, 6, 7));
#elif defined(__AVX2__)
    const __m256i half = (__m256i)v;
#endif
#if defined(__AVX2__)
    const __m128i few = _mm_min_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
#elif defined(__SSE4_1__)
    const __m128i few = (__m128i)v;
#endif
#if defined(__SSE4_1__)
    const __m128i twos = _mm_min_epu8(few, _mm_srli_epi16(few, 8));  // a word for two octets
    return static_cast<uint8_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(twos)));
#elif defined(__ARM_NEON)
    return vminvq_u8((uint8x16_t)v);
#else
    uint8_t low = 255;
    for (int i = 0; i < register_size; ++i) low = v[i] < low ? v[i] : low;
    return low;
#endif
}

template <class H>
DSNC_INLINE uint8_t least(Pair<H> v) {
    return least(smaller(v.low, v.high));
}

// Where numbers are no larger than a limit: bit i for number i.

DSNC_INLINE uint64_t up_to(Register<uint8_t> v, uint8_t limit) {
#if defined(__AVX512BW__)
    return _mm512_cmple_epu8_mask((__m512i)v, _mm512_set1_epi8(static_cast<char>(limit)));
#elif defined(__AVX2__)
    const __m256i least = _mm256_min_epu8((__m256i)v, _mm256_set1_epi8(static_cast<char>(limit)));
    return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(least, (__m256i)v)));
#elif defined(__SSE2__)
    const __m128i least = _mm_min_epu8((__m128i)v, _mm_set1_epi8(static_cast<char>(limit)));
    return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(least, (__m128i)v)));
#elif defined(__ARM_NEON)
    // Each half: the bits of eight octets, one in each, added up.
    const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bits = vandq_u8(vcleq_u8((uint8x16_t)v, vdupq_n_u8(limit)), places);
    return vaddv_u8(vget_low_u8(bits)) | static_cast<uint64_t>(vaddv_u8(vget_high_u8(bits))) << 8;
#else
    uint64_t bits = 0;
    for (int i = 0; i < register_size; ++i) bits |= uint64_t{v[i] <= limit} << i;
    return bits;
#endif
}

template <class H>
DSNC_INLINE uint64_t up_to(Pair<H> v, uint8_t limit) {
    return up_to(v.low, limit) | up_to(v.high, limit) << sizeof(H);
}

// Unsigned integers, and octets as floats.

DSNC_INLINE Uints load(const uint32_t* place) { return read<Uints>(place); }
DSNC_INLINE void store(uint32_t* place, Uints v) { Access<Uints>::write(place, v); }

DSNC_INLINE Register<int32_t> ints_of(const int8_t* place) {
    typedef int8_t Few __attribute__((vector_size(register_size / 4)));
    Few few;
    std::memcpy(&few, place, sizeof few);
#if defined(__AVX512BW__)  // gcc would take them one by one
    return (Register<int32_t>)_mm512_maskz_cvtepi8_epi32(0xffff, (__m128i)few);
#elif defined(__AVX2__)
    return (Register<int32_t>)_mm256_cvtepi8_epi32(_mm_set_epi64x(0, (long long)few));
#elif defined(__SSE4_1__)
    return (Register<int32_t>)_mm_cvtepi8_epi32(_mm_cvtsi32_si128((int)few));
#else
    return __builtin_convertvector(few, Register<int32_t>);
#endif
}

template <class V>
struct OfOctets {
    static DSNC_INLINE V read(const int8_t* place) { return to_floats(ints_of(place)); }
};

template <class H>
struct OfOctets<Pair<H>> {
    static DSNC_INLINE Pair<H> read(const int8_t* place) {
        return {OfOctets<H>::read(place), OfOctets<H>::read(place + sizeof(H) / 4)};
    }
};

DSNC_INLINE Floats floats_of(const int8_t* place) { return OfOctets<Floats>::read(place); }

// Floats at some places of an array.

DSNC_INLINE Register<float> gather_to(Register<float>*, const float* base, const int32_t* places) {
#if defined(__AVX512BW__)
    const __m512i all_places = _mm512_loadu_si512(places);
    const __m512 zeros = _mm512_setzero_ps();
    return (Register<float>)_mm512_mask_i32gather_ps(zeros, 0xffff, all_places, base, 4);
#elif defined(__AVX2__)
    const __m256i all_places = _mm256_loadu_si256((const __m256i*)places);
    return (Register<float>)_mm256_i32gather_ps(base, all_places, 4);
#else
    Register<float> values;
    for (int i = 0; i < register_size / 4; ++i) values[i] = base[places[i]];
    return values;
#endif
}

template <class H>
DSNC_INLINE Pair<H> gather_to(Pair<H>*, const float* base, const int32_t* places) {
    return {gather_to((H*)nullptr, base, places), gather_to((H*)nullptr, base, places + sizeof(H) / 4)};
}

DSNC_INLINE Floats gather(const float* base, const int32_t* places) {
    return gather_to((Floats*)nullptr, base, places);
}

}  // namespace dsnc::LEVEL
