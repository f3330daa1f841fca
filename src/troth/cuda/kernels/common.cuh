// What all kernels share: integer types, the one order (order.py), rows, the counter-based random function, numbers,
// pairs, warp helpers, a barrier.
//
// Weights reach kernels as the unsigned integers of their width (order.py: positive weights are in the order of their
// bits), so a template parameter W is one of u8, u16, u32, u64.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

// HOST_X is X of the host file, given to the compiler (kernels/launch.py `define`): such numbers are written down once,
// in Python. A struct that comes from the host has the fields of a NumPy type there, in order (a test compares them).
#define SAME_SIZE(type, name) static_assert(sizeof(type) == HOST_##name##_BYTES, "the host has another size")

constexpr u32 FULL = 0xffffffffu;  // all lanes of a warp
constexpr int WARP = HOST_WARP;
static_assert(WARP == 32, "a mask of lanes has 32 bits");

// ---- the order ----

// The constants of order.py, as its `as_argument` packs them. `fold` is all ones where the scramble folds its upper half
// onto its lower one, and 0 for the tie rules "low" and "high".
struct Order {
    const u8* classes;                  // for the tie rule "degree": larger for fewer neighbours; else null
    u64 low;                            // the least weight's bits
    u32 drop;                           // how many trailing bits of a 64-bit weight the prefix loses
    u32 lossy;                          // 1 where unequal weights may have equal prefixes
    u32 flip, mul1, mul2, inv1, inv2;   // of the scramble and its inverse
    u32 fold;
    u32 shift, bits, mask;              // of the scramble for "degree", which has fewer bits; 16, 32 and all ones else
};
SAME_SIZE(Order, ORDER);

// HOST_DEGREE is 1 where the order given to a program may be that of "degree" (order.py `for_order`): the others need not
// pay for it. Then a program may still have an order of another rule beside it.
#ifndef HOST_DEGREE
#define HOST_DEGREE 0
#endif

// The priority of the vertex of this name in the whole graph, whose class has this place.
__device__ __forceinline__ u32 priority_at(const Order& order, u32 name, u32 place) {
    u32 x = (name ^ order.flip) * order.mul1;
    if (HOST_DEGREE && order.classes) {
        x &= order.mask;
        x ^= x >> order.shift;
        return (u32)__ldg(order.classes + place) << order.bits | (x * order.mul2 & order.mask);
    }
    x ^= (x >> 16) & order.fold;
    return x * order.mul2;
}

// There are mask + 1 classes, so that lanes without a vertex, whose v may be anything, read one too.
__device__ __forceinline__ u32 priority(const Order& order, u32 v) { return priority_at(order, v, v & order.mask); }

// The inverse of priority: x ^ (x >> 16) is its own inverse on 32 bits, and so for half as many bits as there are.
__device__ __forceinline__ u32 vertex(const Order& order, u32 rank) {
    if (HOST_DEGREE) {
        u32 x = rank * order.inv2 & order.mask;
        x ^= (x >> order.shift) & order.fold;
        return (x * order.inv1 & order.mask) ^ order.flip;
    }
    u32 x = rank * order.inv2;
    x ^= (x >> 16) & order.fold;
    return (x * order.inv1) ^ order.flip;
}

// The order-preserving 32-bit image of a weight's bits, 1 or more.
template <class W>
__device__ __forceinline__ u32 prefix(const Order& order, W bits) {
    if (sizeof(W) == 8) return (u32)(((u64)bits - order.low) >> order.drop) + 1u;
    return (u32)bits;
}

// Two neighbours of one vertex compare by key(w, priority); two suitors of one vertex compare by the same: an offer.
__device__ __forceinline__ u64 pack(u32 prefix, u32 rank) { return (u64)prefix << 32 | rank; }
__device__ __forceinline__ u32 high(u64 word) { return (u32)(word >> 32); }
__device__ __forceinline__ u32 low(u64 word) { return (u32)word; }

template <class W>
__device__ __forceinline__ u64 key_of(const Order& order, W bits, u32 v) {
    return pack(prefix(order, bits), priority(order, v));
}

// ---- rows: indices[indptr[v]..indptr[v + 1]) ascend ----

// The first place in the ascending indices[start..stop) that does not hold less than v, or stop.
__device__ inline i64 lower_bound(const i32* __restrict__ indices, i64 start, i64 stop, i64 v) {
    while (start < stop) {
        i64 middle = (start + stop) >> 1;
        if (indices[middle] < v) start = middle + 1;
        else stop = middle;
    }
    return start;
}

// The place of v in the ascending indices[start..stop), or stop where it is absent.
__device__ inline i64 find(const i32* __restrict__ indices, i64 start, i64 stop, i32 v) {
    i64 place = lower_bound(indices, start, stop, v);
    return place < stop && indices[place] == v ? place : stop;
}

// How many neighbours of v are greater than v.
__device__ inline i64 count_above(const i64* __restrict__ indptr, const i32* __restrict__ indices, i64 v) {
    return indptr[v + 1] - lower_bound(indices, indptr[v], indptr[v + 1], v);
}

// The row of entry e, one of first..last: the last that starts at e or before (empty rows before it do so too). It is
// `first` where none of the others does.
__device__ inline i64 row_of(const i64* __restrict__ indptr, i64 first, i64 last, i64 e) {
    while (first < last) {
        i64 middle = (first + last + 1) >> 1;
        if (indptr[middle] <= e) first = middle;
        else last = middle - 1;
    }
    return first;
}

template <class W>
struct Rows {
    const i64* __restrict__ indptr;
    const i32* __restrict__ indices;
    const W* __restrict__ weights;  // as numbers, or as their bits
    i64 total;                      // entries
};

// Up to sixteen bytes that are read once (STREAM: they need not stay in the cache) or may be read again.
template <bool STREAM, class T>
__device__ __forceinline__ T read_wide(const void* p) {
    return STREAM ? __ldcs((const T*)p) : __ldg((const T*)p);
}
template <bool STREAM, class T>
__device__ __forceinline__ void read4(const T* p, T (&to)[4]) {
    if constexpr (sizeof(T) == 1) *(uchar4*)to = read_wide<STREAM, uchar4>(p);
    if constexpr (sizeof(T) == 2) *(ushort4*)to = read_wide<STREAM, ushort4>(p);
    if constexpr (sizeof(T) == 4) *(uint4*)to = read_wide<STREAM, uint4>(p);
    if constexpr (sizeof(T) == 8) {
        ((ulonglong2*)to)[0] = read_wide<STREAM, ulonglong2>(p);
        ((ulonglong2*)to)[1] = read_wide<STREAM, ulonglong2>(p + 2);
    }
}

// Four entries of a row. The arrays start at multiples of 16 bytes.
template <class W>
struct Four {
    alignas(16) i32 v[4];
    alignas(16) W w[4];

    // Read the entries at..at+3 of the row that starts at `first` and has `count` entries; first + at is a multiple of
    // four, so `at` may be negative.
    template <bool STREAM>
    __device__ __forceinline__ void read(const Rows<W>& rows, i64 first, i32 at, i32 count) {
        if (at >= count) return;
        i64 q = first + at;
        if (q + 4 <= rows.total) {
            read4<STREAM>(rows.indices + q, v);
            read4<STREAM>(rows.weights + q, w);
        } else {
            for (int k = 0; k < 4; ++k) {
                bool there = q + k < rows.total;
                v[k] = there ? rows.indices[q + k] : 0;
                w[k] = there ? rows.weights[q + k] : (W)0;
            }
        }
    }
};

// The exact bits of w(v, u), u being a neighbour of v.
template <class W>
__device__ inline W weight_at(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                              const W* __restrict__ bits, u32 v, u32 u) {
    return bits[find(indices, indptr[v], indptr[v + 1], (i32)u)];
}

// The place of the edge {u, v}, in the shorter one of the two rows.
__device__ inline i64 edge_place(const i64* __restrict__ indptr, const i32* __restrict__ indices, i32 u, i32 v) {
    i64 start = indptr[u], stop = indptr[u + 1], start_v = indptr[v], stop_v = indptr[v + 1];
    if (stop_v - start_v < stop - start) return find(indices, start_v, stop_v, u);
    return find(indices, start, stop, v);
}

// Whether v prefers `offer` to the one that it holds; both are (prefix, priority of the suitor). Equal prefixes of wide
// weights are settled by the exact weights, found in v's own sorted row.
template <class W>
__device__ inline bool wins(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                            const W* __restrict__ bits, const Order& order, u32 v, u64 offer, u64 held) {
    if (sizeof(W) < 8 || !order.lossy || high(offer) != high(held)) return offer > held;
    W ours = weight_at(indptr, indices, bits, v, vertex(order, low(offer)));
    W theirs = weight_at(indptr, indices, bits, v, vertex(order, low(held)));
    return ours > theirs || (ours == theirs && offer > held);
}

// ---- the random function (order.py: mix64, hash1, hash2, hash3) ----

constexpr u64 COLOUR = HOST_COLOUR, PROPOSE = HOST_PROPOSE, WEIGHT = HOST_WEIGHT, PLACE = HOST_PLACE;
constexpr u64 BID = HOST_BID, WALK = HOST_WALK;

__device__ __forceinline__ u64 mix64(u64 x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

__device__ __forceinline__ u64 hash1(u64 seed, u64 domain, u64 a) { return mix64(mix64(seed ^ domain << 56) ^ a); }
__device__ __forceinline__ u64 hash2(u64 seed, u64 domain, u64 a, u64 b) { return mix64(hash1(seed, domain, a) ^ b); }
__device__ __forceinline__ u64 hash3(u64 seed, u64 domain, u64 a, u64 b, u64 c) {
    return mix64(hash2(seed, domain, a, b) ^ c);
}

// ---- numbers ----

// CuPy compiles with -ftz=true, and then arithmetic, comparisons and conversions of float32 take its denormal numbers
// for 0. So kernels calculate with `number(x)`, a float64 for a float32, and round back with `rounded<T>`. (Sums and
// products of two float32 that are rounded to float64 first are what float32 arithmetic would give.)
__device__ __forceinline__ double number(float x) {
    u32 bits = __float_as_uint(x);
    if (bits & 0x7f800000u) return (double)x;
    return (double)(i32)(bits & 0x7fffffu) * (bits >> 31 ? -0x1p-149 : 0x1p-149);
}
template <class T>
__device__ __forceinline__ T number(T x) { return x; }

template <class T>
struct Rounded {
    template <class U>
    __device__ __forceinline__ static T of(U x) { return (T)x; }
};
template <>
struct Rounded<float> {
    __device__ __forceinline__ static float of(double x) {
        if (!(fabs(x) < 0x1p-126)) return (float)x;
        u32 bits = (u32)rint(fabs(x) * 0x1p149);
        return __uint_as_float(x < 0 ? bits | 0x80000000u : bits);
    }
};
template <class T, class U>
__device__ __forceinline__ T rounded(U x) { return Rounded<T>::of(x); }

// Units of units.py: w << exponent for integers, w * first * second for floats.
struct Units {
    i64 exponent;
    double first, second;
};

// A weight in units, rounded up, 1 or more. The product is exact, or it underflowed, perhaps to 0, and w is far below
// one unit: then 1 is w rounded up. Where an integer's exponent is negative, its last bits are lost.
__device__ __forceinline__ i64 units_up(double w, const Units& units) {
    return max(1ll, (i64)ceil(w * units.first * units.second));
}
__device__ __forceinline__ i64 units_up(float w, const Units& units) { return units_up(number(w), units); }
template <class W>
__device__ __forceinline__ i64 units_up(W w, const Units& units) {
    return units.exponent >= 0 ? (i64)w << units.exponent : max(1ll, (i64)w >> -units.exponent);
}

// A value, which prices are compared with, is w * first * second, a power of two, as float32 and at least LEAST_VALUE.
struct Scale {
    double first, second;
};

constexpr float LEAST_VALUE = 0x1p-100f;

// Normal numbers are multiplied as they are: that is exact, or the value is below LEAST_VALUE.
__device__ __forceinline__ float value_of(float w, const Scale& scale) {
    bool normal = __float_as_uint(w) & 0x7f800000u;
    float x = normal ? w * (float)scale.first * (float)scale.second : (float)(number(w) * scale.first * scale.second);
    return fmaxf(x, LEAST_VALUE);
}
__device__ __forceinline__ float value_of(double w, const Scale& scale) {
    return fmaxf((float)(w * scale.first * scale.second), LEAST_VALUE);
}
template <class W>
__device__ __forceinline__ float value_of(W w, const Scale& scale) {  // 1 or more, below 2^64: nothing underflows
    return (float)(double)w * (float)scale.first * (float)scale.second;
}

// ---- pairs ----

// The pair of x goes by its smaller vertex.
__device__ __forceinline__ i32 pair_of(i32 x, const i32* mate) {
    i32 y = mate[x];
    return y >= 0 && y < x ? y : x;
}

// The pair of x is claimed: the greatest claim stays, and its vertices are touched.
__device__ __forceinline__ void put_claim(i32 x, u64 claim, const i32* mate, u64* claims, u8* touched) {
    if (x < 0) return;
    atomicMax(claims + pair_of(x, mate), claim);
    touched[x] = 1;
    if (mate[x] >= 0) touched[mate[x]] = 1;
}

// ---- threads and warps ----

__device__ __forceinline__ i64 thread_id() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ i64 thread_count() { return (i64)gridDim.x * blockDim.x; }
__device__ __forceinline__ u32 lane_id() { return threadIdx.x % WARP; }

// The greatest value of the warp, known to all lanes. All lanes call it.
__device__ __forceinline__ u32 warp_max(u32 value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(FULL, value);
#else
    for (int apart = WARP / 2; apart > 0; apart /= 2) value = max(value, __shfl_xor_sync(FULL, value, apart));
    return value;
#endif
}

// The greatest key of the warp: two 32-bit maxima instead of shuffles of 64 bits.
__device__ __forceinline__ u64 warp_max(u64 key) {
    u32 top = warp_max(high(key));
    return pack(top, warp_max(high(key) == top ? low(key) : 0u));
}

// The sum over the warp, known to all lanes. All lanes call it.
__device__ __forceinline__ u64 warp_sum(u64 value) {
    for (int apart = WARP / 2; apart > 0; apart /= 2) value += __shfl_xor_sync(FULL, value, apart);
    return value;
}

// *total += the sum over the warp. All lanes call it.
__device__ __forceinline__ void add_up(u64* total, u64 value) {
    value = warp_sum(value);
    if (lane_id() == 0 && value) atomicAdd(total, value);
}

// The sum over this lane and those below it. All lanes call it.
template <class N>
__device__ __forceinline__ N sum_up_to_lane(N value) {
    for (u32 apart = 1; apart < WARP; apart *= 2) {
        N below = __shfl_up_sync(FULL, value, apart);
        if (lane_id() >= apart) value += below;
    }
    return value;
}

// The sum of the values of the threads before this one; `sum` is that of all. All threads of a block of so many warps
// call it; `partial` is shared memory, for each warp a word.
template <int BLOCK_WARPS, class N>
__device__ N sum_before(N value, N* partial, N& sum) {
    N inclusive = sum_up_to_lane(value);
    __syncthreads();  // an earlier call may still read
    if (lane_id() == WARP - 1) partial[threadIdx.x / WARP] = inclusive;
    __syncthreads();
    N before = 0;
    sum = 0;
    for (u32 w = 0; w < BLOCK_WARPS; w++) {
        if (w < threadIdx.x / WARP) before += partial[w];
        sum += partial[w];
    }
    return before + inclusive - value;
}

// How many lanes of a mask are below this one: its place, where those of the mask go one behind the other.
__device__ __forceinline__ u32 place_in(u32 mask) { return __popc(mask & ((1u << lane_id()) - 1)); }

// *total += the sum over the block. All threads of the block call it.
__device__ inline void add_up_block(u64* total, u64 value) {
    __shared__ u64 partial[WARP];
    value = warp_sum(value);
    __syncthreads();  // an earlier call may still read
    if (lane_id() == 0) partial[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 warp = 1; warp < blockDim.x / WARP; ++warp) value += partial[warp];
        if (value) atomicAdd(total, value);
    }
}

// Room in a list for `wanted` items of each thread of the block, `count` being the list's: the first place of this one.
// One addition for all. All threads of the block call it.
__device__ inline u64 places_in_list(u32 wanted, u64* count) {
    __shared__ u32 before[WARP];
    __shared__ u64 start;
    u32 up_to = sum_up_to_lane(wanted), warp = threadIdx.x / WARP;
    __syncthreads();  // an earlier call may still read
    if (lane_id() == WARP - 1) before[warp] = up_to;
    __syncthreads();
    if (threadIdx.x == 0) {
        u32 all = 0;
        for (u32 w = 0; w < blockDim.x / WARP; ++w) {
            u32 size = before[w];
            before[w] = all;
            all += size;
        }
        start = all ? atomicAdd(count, (u64)all) : 0;
    }
    __syncthreads();
    return start + before[warp] + up_to - wanted;
}

// The same for the threads that have something.
__device__ inline u64 place_in_list(bool has, u64* count) { return places_in_list(has, count); }

// A word that other threads may change: never from a register or the L1 cache.
template <class T>
__device__ __forceinline__ T peek(const T* word) { return *(const volatile T*)word; }

// ---- the grid ----

// All blocks wait for each other; they run at one time. `arrived` counts them, from 0 on; `target` is the number of
// blocks times that of their meetings so far, this one too. What was written before can be read after it, by peek.
__device__ inline void meet(u32* arrived, u32 target) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while ((i32)(peek(arrived) - target) < 0) __nanosleep(20);
        __threadfence();
    }
    __syncthreads();
}
