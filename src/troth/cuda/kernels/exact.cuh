// Sums of positive numbers that do not depend on the order of their terms: as in cpu/exact.py, which says why. Integers
// are added as they are; floats as two doubles, and where these do not hold the sum exactly, as a whole number of 2100
// bits, of which only the last 128 are in sight while it is added up from the least on.

constexpr int FRACTION = 52;
constexpr u64 FRACTION_MASK = (1ull << FRACTION) - 1;
constexpr u64 EXPONENT = 0x7ff;
constexpr int LIMB = 32;  // bits that are added up at a time
constexpr u64 TOO_MUCH = 1ull << 63;

// A double as a whole number times 2^(exponent - 1074).
struct Whole {
    u64 digits;
    int exponent;

    __device__ __forceinline__ explicit Whole(double x) {
        const u64 bits = (u64)__double_as_longlong(x);
        exponent = (int)(bits >> FRACTION & EXPONENT);
        digits = bits & FRACTION_MASK;
        if (exponent) {
            digits |= 1ull << FRACTION;
            exponent--;
        }
    }
    // Its bits LIMB * k and following.
    __device__ __forceinline__ u64 limb(int k) const {
        const int by = LIMB * k - exponent;
        if (by <= -LIMB || by > FRACTION) return 0;
        return (by >= 0 ? digits >> by : digits << -by) & 0xffffffffull;
    }
};

// The last 128 bits of a number, whose lowest is bit `start`, rounded to the nearest double, to the even one of two;
// `below`: there are ones further down.
__device__ inline double round_whole(u64 upper, u64 lower, int start, bool below) {
    int top = 127;  // the place of the highest one
    while (top > 0 && !((top > 63 ? upper >> (top - 64) : lower >> top) & 1)) top--;
    const int last = max(start + top - FRACTION, 0) - start;  // the place of the last bit that is kept
    u64 kept, half = 0;
    if (last <= 0) {  // whole numbers that a double holds: upper is 0, or empty but for what moves down
        kept = last > -64 ? lower << -last : 0;
    } else {
        kept = last > 63 ? upper >> (last - 64) : lower >> last | (upper << 1) << (63 - last);
        const int under = last - 1;
        half = (under > 63 ? upper >> (under - 64) : lower >> under) & 1;
        const u64 ones = ~0ull;
        below |= under > 63 ? lower || (upper & ~(ones << (under - 64))) : (lower & ~(ones << under)) != 0;
    }
    const int exponent = start + last;  // of the last bit
    u64 bits = kept;
    if (kept >> FRACTION) bits = ((u64)(exponent + 1) << FRACTION) + (kept & FRACTION_MASK);
    bits += half && (below || kept & 1);
    return __longlong_as_double((i64)min(bits, EXPONENT << FRACTION));
}

// The sum of terms as a whole number: those of begin..end-1 for which term(k, x) holds, which sets x. Carries of up to
// 2^31 terms fit.
template <class N, class Term>
__device__ __noinline__ double sum_whole(u32 begin, u32 end, Term term) {
    int least = EXPONENT, most = 0;
    N x;
    for (u32 k = begin; k < end; k++) {
        if (!term(k, x)) continue;
        const int exponent = Whole(number(x)).exponent;
        least = min(least, exponent);
        most = max(most, exponent);
    }
    const int limbs = (most + FRACTION) / LIMB + 2;  // beyond the greatest term there are but carries
    u64 upper = 0, lower = 0, carry = 0;
    bool below = false;
    for (int i = least / LIMB; i < limbs; i++) {
        for (u32 k = begin; k < end; k++)
            if (term(k, x)) carry += Whole(number(x)).limb(i);
        below |= (lower & 0xffffffffull) != 0;
        lower = lower >> LIMB | upper << LIMB;
        upper = upper >> LIMB | carry << LIMB;
        carry >>= LIMB;
    }
    return round_whole(upper, lower, LIMB * (limbs - 4), below);
}

// What a sum is held in while it is added up, by the type of the weights: float, double or u64.
template <class N>
struct Exact {
    static constexpr bool OF_FLOATS = true;
    double sum = 0, lost = 0;  // `lost` is NaN where the two are not the exact sum

    __device__ __forceinline__ void add(N term) {
        const double x = number(term), next = sum + x;
        double part = next - sum;
        const double error = (sum - (next - part)) + (x - part), more = lost + error;
        part = more - lost;
        const bool good = (lost - (more - part)) + (error - part) == 0;
        sum = next;
        lost = good ? more : __longlong_as_double(0x7ff8000000000000ll);
    }
};
template <>
struct Exact<u64> {
    static constexpr bool OF_FLOATS = false;
    u64 sum = 0;

    __device__ __forceinline__ void add(u64 term) {
        sum += term;
        if (sum > TOO_MUCH) sum = TOO_MUCH;
    }
};

// The sum of the terms among begin..end-1, as above, rounded once to float64 and then to its type; `spilled` where it is
// too great for that.
template <class N, class Term>
__device__ __forceinline__ N sum_of(u32 begin, u32 end, Term term, bool& spilled) {
    Exact<N> exact;
    N x;
    for (u32 k = begin; k < end; k++)
        if (term(k, x)) exact.add(x);
    if constexpr (Exact<N>::OF_FLOATS) {
        double total = exact.sum + exact.lost;
        if (!(total - total == 0)) total = sum_whole<N>(begin, end, term);
        const N found = rounded<N>(total);
        const double check = number(found);
        spilled |= !(check - check == 0);
        return found;
    } else {
        spilled |= exact.sum >= TOO_MUCH;
        return exact.sum;
    }
}
