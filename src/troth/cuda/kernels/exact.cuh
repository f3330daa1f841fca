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
    const int top = upper ? 127 - __clzll((i64)upper) : 63 - __clzll((i64)(lower | 1));  // the place of the highest one
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

// A sum in float64, rounded to its type; `spilled` where it is too great for that.
template <class N>
__device__ __forceinline__ N rounded_sum(double total, bool& spilled) {
    const N found = rounded<N>(total);
    const double check = number(found);
    spilled |= !(check - check == 0);
    return found;
}

// What has been added up, rounded once to float64 and then to its type; `spilled` where it is too great for that. The
// terms are those among begin..end-1, as above.
template <class N, class Term>
__device__ __forceinline__ N total_of(const Exact<N>& exact, u32 begin, u32 end, Term term, bool& spilled) {
    if constexpr (Exact<N>::OF_FLOATS) {
        double total = exact.sum + exact.lost;
        if (!(total - total == 0)) total = sum_whole<N>(begin, end, term);
        return rounded_sum<N>(total, spilled);
    } else {
        spilled |= exact.sum >= TOO_MUCH;
        return exact.sum;
    }
}

template <class N, class Term>
__device__ __forceinline__ N sum_of(u32 begin, u32 end, Term term, bool& spilled) {
    Exact<N> exact;
    N x;
    for (u32 k = begin; k < end; k++)
        if (term(k, x)) exact.add(x);
    return total_of(exact, begin, end, term, spilled);
}

// The sum of the terms[k] for the bits k of a mask.
template <class N>
__device__ __forceinline__ N sum_of_some(u32 mask, const N* terms, bool& spilled) {
    Exact<N> exact;
    for (u32 left = mask; left; left &= left - 1) exact.add(terms[__ffs(left) - 1]);
    const auto one_of_them = [=](u32 k, N& x) {
        x = terms[k];
        return (mask >> k & 1) != 0;
    };
    return total_of(exact, 0, 32 - __clz((int)mask), one_of_them, spilled);
}

// ---- sums to which all threads of a block add at one time ----
//
// A sum is a few words of 32 bits, `apart` of each other, of one whole number in units of 2^(least - 1074); of integers,
// in ones. Whoever makes a word overflow adds 1 to the next, so any order gives the same number.

template <class N> constexpr u32 LIMBS = 3;
template <> constexpr u32 LIMBS<double> = 4;
template <class N> constexpr int DIGITS = 64;
template <> constexpr int DIGITS<float> = 24;
template <> constexpr int DIGITS<double> = FRACTION + 1;
template <class N> constexpr int SPARE = 0;  // digits of a double that a float leaves 0
template <> constexpr int SPARE<float> = FRACTION + 1 - DIGITS<float>;

// Between which exponents the terms of a row are.
template <class N>
struct Exponents {
    u32 least = EXPONENT, most = 0;

    __device__ __forceinline__ void note(N x) {
        if constexpr (Exact<N>::OF_FLOATS) {
            const u32 exponent = (u32)Whole(number(x)).exponent;
            least = min(least, exponent);
            most = max(most, exponent);
        }
    }
    // Those of all threads of the block; two words of shared memory are 0 before.
    __device__ __forceinline__ void join(u32* shared) {
        if constexpr (Exact<N>::OF_FLOATS) {
            const u32 down = warp_max((u32)EXPONENT - least), up = warp_max(most);
            if (lane_id() == 0) {
                atomicMax(shared, down);
                atomicMax(shared + 1, up);
            }
            __syncthreads();
            least = (u32)EXPONENT - shared[0];
            most = shared[1];
        } else {
            least = most = 0;
        }
    }
    // Whether the sum of so many fits its words.
    __device__ __forceinline__ bool fit(u32 terms) const {
        return (int)most - (int)least + DIGITS<N> + (32 - __clz((int)terms)) <= (int)(LIMB * LIMBS<N>);
    }
};

template <class N>
__device__ __forceinline__ void add_to_limbs(u32* sum, u32 apart, u32 least, N term) {
    u64 lower;
    u32 upper = 0, carry = 0;
    if constexpr (Exact<N>::OF_FLOATS) {
        const Whole whole(number(term));
        const u32 by = (u32)whole.exponent - least;
        lower = whole.digits >> SPARE<N>;
        sum += by / LIMB * apart;
        if (by % LIMB) upper = (u32)(lower >> (64 - by % LIMB));
        lower <<= by % LIMB;
    } else {
        lower = term;
    }
    for (; lower | upper | carry; sum += apart) {
        const u32 part = low(lower) + carry;
        carry = part < carry;
        if (part) carry |= atomicAdd(sum, part) > ~part;
        lower = pack(upper, high(lower));
        upper = 0;
    }
}

// As `sum_of`: rounded once to float64 and then to its type.
template <class N>
__device__ __forceinline__ N total_of_limbs(const u32* sum, u32 apart, u32 least, bool& spilled) {
    const u64 lower = pack(sum[apart], sum[0]), upper = pack(LIMBS<N> > 3 ? sum[3 * apart] : 0, sum[2 * apart]);
    if constexpr (Exact<N>::OF_FLOATS) {
        return rounded_sum<N>(round_whole(upper, lower, (int)least + SPARE<N>, false), spilled);
    } else {
        const bool over = upper || lower >= TOO_MUCH;
        spilled |= over;
        return over ? TOO_MUCH : lower;
    }
}
