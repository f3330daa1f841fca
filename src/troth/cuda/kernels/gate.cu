// The gate on a GPU: the streaming check of a matrix, and what makes dirty input clean.
//
// A *key* is row << 32 | column. All changes of a graph are changes of a sorted array of keys with values beside it:
// repeats are runs of equal keys, rows are found by bisection, and columns are the lower halves.
//
// The work of a kernel over `total` items is cut into one chunk a block, a multiple of TILE. To leave items out, one
// kernel counts what each block will keep; in the next, a block adds up the counts of those before it and writes. No
// block waits for another.

#include "radix.cuh"

typedef signed char i8;
typedef short i16;

__device__ __forceinline__ u64 key_at(u32 row, u32 column) { return (u64)row << 32 | column; }

// ---- what blocks share ----

// counts[0] + ... + counts[blockIdx.x - 1], known to all threads.
__device__ inline i64 count_before(const i64* __restrict__ counts, i64* partial) {
    i64 mine = 0, sum;
    for (i64 b = threadIdx.x; b < blockIdx.x; b += THREADS) mine += counts[b];
    sum_before<WARPS>(mine, partial, sum);
    return sum;
}

__device__ __forceinline__ u64 warp_union(u64 value) {
    for (int step = WARP / 2; step; step /= 2) value |= __shfl_xor_sync(FULL, value, step);
    return value;
}

// ---- weights: what one pass finds (the columns of gate/findings.py) ----

enum {
    UNSORTED = HOST_UNSORTED,
    OUTSIDE = HOST_OUTSIDE,
    LOOPS = HOST_LOOPS,
    NONPOSITIVE = HOST_NONPOSITIVE,
    NONFINITE = HOST_NONFINITE,
    FINGERPRINT = HOST_FINGERPRINT,
    LEAST = HOST_LEAST,
    GREATEST = HOST_GREATEST,
    UNION = HOST_UNION
};
static_assert(FINGERPRINT + 1 == LEAST && LEAST + 1 == GREATEST && GREATEST + 1 == UNION, "`report` counts on it");

__device__ __forceinline__ u64 bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ u64 bits_of(double x) { return (u64)__double_as_longlong(x); }
template <class T>
__device__ __forceinline__ u64 bits_of(T x) {
    return (u64)x & (NO_EDGE >> (64 - 8 * sizeof(T)));  // without the sign's copies
}

struct Found {
    u32 unsorted = 0, outside = 0, loops = 0, nonpositive = 0, nonfinite = 0;
    u64 fingerprint = 0, most_complement = 0, greatest = 0, bits = 0;

    template <class T>
    __device__ __forceinline__ void weigh(T x) {
        u64 b = bits_of(x);
        auto y = number(x);
        nonfinite += !(y - y == 0);
        nonpositive += !(y > 0);
        most_complement = max(most_complement, ~b);
        greatest = max(greatest, b);
        bits |= b;
    }

    // found, at first all 0, gets the sum over all threads; found[LEAST] is the complement of the least bits. Blocks
    // add up first: thousands of warps that change one word wait for each other.
    __device__ void report(u64* found) {
        __shared__ u64 ours[UNION + 1];
        if (threadIdx.x <= UNION) ours[threadIdx.x] = 0;
        __syncthreads();
        add_up(ours + UNSORTED, unsorted);
        add_up(ours + OUTSIDE, outside);
        add_up(ours + LOOPS, loops);
        add_up(ours + NONPOSITIVE, nonpositive);
        add_up(ours + NONFINITE, nonfinite);
        add_up(ours + FINGERPRINT, fingerprint);
        most_complement = warp_max(most_complement);
        greatest = warp_max(greatest);
        bits = warp_union(bits);
        if (lane_id() == 0) {
            atomicMax(ours + LEAST, most_complement);
            atomicMax(ours + GREATEST, greatest);
            atomicOr(ours + UNION, bits);
        }
        __syncthreads();
        u32 k = threadIdx.x;
        if (k > UNION || !ours[k]) return;
        if (k <= FINGERPRINT) atomicAdd(found + k, ours[k]);
        else if (k == UNION) atomicOr(found + k, ours[k]);
        else atomicMax(found + k, ours[k]);
    }
};

// found[NONPOSITIVE, NONFINITE, LEAST, GREATEST, UNION] of data[0..total).
template <class T>
__global__ void __launch_bounds__(THREADS) survey(const T* __restrict__ data, i64 total, i64 chunk, u64* found) {
    Found mine;
    i64 start, stop;
    take_chunk(total, chunk, start, stop);
    for (; start < stop; start += STRIP) {
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            i64 e = start + k * THREADS + threadIdx.x;
            if (e < stop) mine.weigh(data[e]);
        }
    }
    mine.report(found);
}

// ---- rows ----

// found[0] = whether indptr[0..n] is not a rising sequence from 0 to at most `entries`; found[1] = indptr[n].
__global__ void rising(const i64* __restrict__ indptr, i64 n, i64 entries, u64* found) {
    bool bad = false;
    for (i64 v = thread_id(); v <= n; v += thread_count()) {
        i64 at = indptr[v];
        bad |= at < (v ? indptr[v - 1] : 0) || (v == 0 && at != 0) || at > entries;
        if (v == n) found[1] = (u64)at;
    }
    if (bad) found[0] = 1;
}

// classes[v] = most - min(degree of v, most).
__global__ void class_degrees(const i64* __restrict__ indptr, i64 n, i64 most, u8* __restrict__ classes) {
    i64 v = thread_id();
    if (v < n) classes[v] = (u8)(most - min(indptr[v + 1] - indptr[v], most));
}

// Which rows a strip of entries belongs to: a bit for each entry that opens a row, and that row.
struct Strip {
    i32 row[STRIP];             // of the entries whose bit is set
    u32 opens[STRIP / WARP];
    i32 running[STRIP / WARP];  // the row of the entry before each word
};

// visit(e, u, first) for the entries e of [start, stop), e being in row u, and `first` in it or not. The rows of a
// strip are spread over the threads, and so are its entries, so neither long rows nor many short ones hold up a block.
template <class Visit>
__device__ void for_entries(const i64* __restrict__ indptr, i64 n, i64 start, i64 stop, Strip& strip, Visit visit) {
    if (start >= stop) return;
    i64 row = row_of(indptr, -1, n - 1, start - 1);  // the last one that starts before `start`, -1 for none
    u32 lane = lane_id();
    for (; start < stop; start += STRIP) {
        i64 end = min(stop, start + STRIP);
        i32 before = (i32)row;
        for (u32 q = threadIdx.x; q < STRIP / WARP; q += THREADS) strip.opens[q] = 0;
        __syncthreads();
        for (int here = THREADS; here == THREADS; row += here) {  // rows that start in [start, end)
            i64 u = row + 1 + threadIdx.x;
            i64 at = u < n ? indptr[u] : end;
            if (at < end && indptr[u + 1] > at) {  // not an empty row: no other one has this place
                u32 place = (u32)(at - start);
                strip.row[place] = (i32)u;
                atomicOr(&strip.opens[place / WARP], 1u << place % WARP);
            }
            here = __syncthreads_count(at < end);
        }
        if (threadIdx.x < WARP) {  // rows ascend, so the last one that opened before a word is the greatest
            constexpr int WORDS = STRIP / WARP / WARP;  // of a lane
            i32 opened[WORDS], last = before;
            for (int k = 0; k < WORDS; k++) {
                u32 q = lane * WORDS + k, bits = strip.opens[q];
                opened[k] = bits ? strip.row[q * WARP + 31 - __clz(bits)] : before;
                last = max(last, opened[k]);
            }
            for (u32 step = 1; step < WARP; step *= 2) {
                i32 other = __shfl_up_sync(FULL, last, step);
                if (lane >= step) last = max(last, other);
            }
            i32 earlier = __shfl_up_sync(FULL, last, 1);
            if (lane == 0) earlier = before;
            for (int k = 0; k < WORDS; k++) {
                strip.running[lane * WORDS + k] = earlier;
                earlier = max(earlier, opened[k]);
            }
        }
        __syncthreads();
        auto look = [&](u32 place) {
            u32 opens = strip.opens[place / WARP], mine = opens & (FULL >> (31 - lane));
            i32 u = mine ? strip.row[place - lane + 31 - __clz(mine)] : strip.running[place / WARP];
            visit(start + place, u, opens >> lane & 1);
        };
        if (end - start == STRIP) {
#pragma unroll
            for (int k = 0; k < STEPS; k++) look(k * THREADS + threadIdx.x);
        } else {
            for (u32 place = threadIdx.x; place < end - start; place += THREADS) look(place);
        }
        __syncthreads();
    }
}

// The columns of gate/cpu.py `check` for the rows of a matrix of n rows and `total` entries.
template <class T>
__global__ void __launch_bounds__(THREADS) check(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                                 const T* __restrict__ data, i64 n, i64 total, i64 chunk, u64 salt0,
                                                 u64 salt1, u64* found) {
    __shared__ Strip strip;
    Found mine;
    i64 start, stop;
    take_chunk(total, chunk, start, stop);
    for_entries(indptr, n, start, stop, strip, [&](i64 e, i32 u, bool first) {
        i32 v = indices[e], last = indices[e - (e > 0)];
        T x = data[e];
        mine.unsorted += v <= (first ? -1 : last);
        mine.outside += v < 0 || v >= n;
        mine.weigh(x);
        u64 h = (key_at(min(u, v), max(u, v)) ^ salt0) * 0x9E3779B97F4A7C15ull;
        h = (h ^ h >> 32 ^ bits_of(x) ^ salt1) * 0xD6E8FEB86659FD93ull;
        h = (h ^ h >> 32) * 0xBF58476D1CE4E5B9ull;
        h ^= h >> 29;
        mine.fingerprint += v > u ? h : v < u ? 0 - h : 0;
        mine.loops += v == u;
    });
    mine.report(found);
}

// keys[e] = (row of e, indices[e]).
__global__ void __launch_bounds__(THREADS) pack_rows(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                                     i64 n, i64 total, i64 chunk, u64* __restrict__ keys) {
    __shared__ Strip strip;
    i64 start, stop;
    take_chunk(total, chunk, start, stop);
    for_entries(indptr, n, start, stop, strip, [&](i64 e, i32 u, bool) { keys[e] = key_at(u, indices[e]); });
}

// starts[v] = how many keys have a row (with by_column: a column) below v, for v = 0..n; the keys ascend by it.
__global__ void find_starts(const u64* __restrict__ keys, i64 total, i64 n, i64 by_column, i64* __restrict__ starts) {
    i64 v = thread_id();
    if (v > n) return;
    i64 first = 0, last = total;
    while (first < last) {
        i64 middle = (first + last) >> 1;
        u64 key = keys[middle];
        if ((by_column ? low(key) : high(key)) < v) first = middle + 1;
        else last = middle;
    }
    starts[v] = first;
}

// ---- pairs of ends ----

// keys[e] = (row[e], col[e]); of undirected edges the smaller end comes first, and a loop is NO_EDGE. found[0] = the
// greatest id as an unsigned number, so that a negative one is greater than any that is allowed.
template <class I>
__global__ void __launch_bounds__(THREADS) pack_ends(const I* __restrict__ row, const I* __restrict__ col, i64 total,
                                                     i64 undirected, u64* __restrict__ keys, u64* found) {
    __shared__ u64 ours;
    if (threadIdx.x == 0) ours = 0;
    __syncthreads();
    u64 most = 0;
#pragma unroll 4
    for (i64 e = thread_id(); e < total; e += thread_count()) {
        i64 u = row[e], v = col[e];
        most = max(most, max((u64)u, (u64)v));
        u64 key = key_at((u32)u, (u32)v);
        if (undirected) key = u == v ? NO_EDGE : key_at((u32)min(u, v), (u32)max(u, v));
        keys[e] = key;
    }
    most = warp_max(most);
    if (lane_id() == 0) atomicMax(&ours, most);
    __syncthreads();
    if (threadIdx.x == 0) atomicMax(found, ours);
}

// out[e] = the random weight of the edge with these ends (gate/cpu.py `uniform_weight`).
__global__ void random_weights(const u64* __restrict__ keys, i64 total, u64 seed, float* __restrict__ out) {
    for (i64 e = thread_id(); e < total; e += thread_count()) {
        u32 u = high(keys[e]), v = low(keys[e]);
        u64 h = hash2(seed, WEIGHT, min(u, v), max(u, v));
        out[e] = (float)(((double)(h >> 40) + 1.0) * 0x1p-24);
    }
}

// both = the keys of a matrix followed by those of its transpose, loops left out.
__global__ void mirror(const u64* __restrict__ keys, i64 total, u64* __restrict__ both) {
    for (i64 e = thread_id(); e < total; e += thread_count()) {
        u64 key = keys[e];
        bool loop = high(key) == low(key);
        both[e] = loop ? NO_EDGE : key;
        both[total + e] = loop ? NO_EDGE : key_at(low(key), high(key));
    }
}

// ---- sorted keys: runs, and what is kept ----

__device__ __forceinline__ bool is_head(const u64* __restrict__ keys, i64 e) {
    return keys[e] != NO_EDGE && (e == 0 || keys[e - 1] != keys[e]);
}

// counts[b] = how many runs of equal keys start in chunk b; found[0] = all of them, found[1] = the keys NO_EDGE.
__global__ void __launch_bounds__(THREADS) count_runs(const u64* __restrict__ keys, i64 total, i64 chunk,
                                                      i64* __restrict__ counts, u64* found) {
    __shared__ i64 partial[WARPS];
    i64 heads = 0, sum, start, stop;
    u64 absent = 0;
    take_chunk(total, chunk, start, stop);
    for (i64 e = start + threadIdx.x; e < stop; e += THREADS) {
        heads += is_head(keys, e);
        absent += keys[e] == NO_EDGE;
    }
    sum_before<WARPS>(heads, partial, sum);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = sum;
        if (sum) atomicAdd(found, (u64)sum);
    }
    add_up(found + 1, absent);
}

// write(e, to) for the items e of the chunk that are kept, `to` being their number among all that are kept.
template <class Keep, class Write>
__device__ void compact(i64 total, i64 chunk, const i64* __restrict__ counts, Keep keep, Write write) {
    __shared__ i64 partial[WARPS];
    __shared__ u32 small_partial[WARPS];
    const u32 warp = threadIdx.x / WARP, lane = lane_id();
    i64 to = count_before(counts, partial), start, stop;
    take_chunk(total, chunk, start, stop);
    for (; start < stop; start += STRIP) {
        const i64 first = start + warp * (WARP * STEPS) + lane;
        u32 kept[STEPS], mine = 0, sum;  // by all lanes; by the warp
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            i64 e = first + k * WARP;
            kept[k] = __ballot_sync(FULL, e < stop && keep(e));
            mine += __popc(kept[k]);
        }
        u32 at = sum_before<WARPS>(lane ? 0u : mine, small_partial, sum);  // lane 0 speaks for its warp
        at = __shfl_sync(FULL, at, 0);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            if (kept[k] >> lane & 1) write(first + k * WARP, to + at + place_in(kept[k]));
            at += __popc(kept[k]);
        }
        to += sum;
    }
}

constexpr i64 MAX = HOST_MAX, MIN = HOST_MIN, SUM = HOST_SUM, MEAN = HOST_MEAN;  // gate/findings.py `MERGE`

template <class T>
__device__ __forceinline__ T mean(T a, T b) {
    // Halves first: a sum may be too large. In double, as on the CPU; half of the least number would be 0.
    return number(a) != number(b) ? rounded<T>((double)number(a) / 2 + (double)number(b) / 2) : a;
}

// Each run of equal keys becomes one key, its values combined in order. found[0] = how many runs above the diagonal are
// not two equal values (edges whose directions differ, where the keys are those of `mirror`); found[1] = whether a sum
// of 64-bit integers wrapped around: then it is off by 2^64, a rounded one by much less.
template <class T>
__global__ void __launch_bounds__(THREADS)
    merge_runs(const u64* __restrict__ keys, const T* __restrict__ values, i64 total, i64 chunk,
               const i64* __restrict__ counts, i64 mode, u64* __restrict__ new_keys, T* __restrict__ new_values,
               u64* found) {
    u64 unequal = 0;
    bool wrapped = false;
    compact(
        total, chunk, counts, [&](i64 e) { return is_head(keys, e); },
        [&](i64 e, i64 to) {
            u64 key = keys[e];
            new_keys[to] = key;
            if constexpr (IS_THERE<T>) {
                constexpr bool WHOLE = (T)0.5 == 0;
                T value = values[e], other = value;
                double total_of_run = (double)number(value);
                i64 next = e + 1;
                for (; next < total && keys[next] == key; next++) {
                    other = values[next];
                    total_of_run += (double)number(other);
                    if (mode == MAX) value = number(other) > number(value) ? other : value;
                    else if (mode == MIN) value = number(other) < number(value) ? other : value;
                    else if (mode == SUM) value = rounded<T>(number(value) + number(other));
                    else value = mean(value, other);
                }
                new_values[to] = value;
                unequal += high(key) < low(key) && (next != e + 2 || number(values[e]) != number(other));
                if (WHOLE && mode == SUM) wrapped |= fabs(total_of_run - (double)number(value)) >= 0x1p63;
            }
        });
    if constexpr (IS_THERE<T>) {
        add_up(found, unequal);
        if (wrapped) found[1] = 1;
    }
}

template <class T>
__device__ __forceinline__ bool is_kept(u64 key, T x) {
    return high(key) != low(key) && number(x) > 0;
}

// counts[b] = how many entries of chunk b are neither loops nor <= 0; found[0] = all of them.
template <class T>
__global__ void __launch_bounds__(THREADS) count_kept(const u64* __restrict__ keys, const T* __restrict__ values,
                                                      i64 total, i64 chunk, i64* __restrict__ counts, u64* found) {
    __shared__ i64 partial[WARPS];
    i64 kept = 0, sum, start, stop;
    take_chunk(total, chunk, start, stop);
    for (i64 e = start + threadIdx.x; e < stop; e += THREADS) kept += is_kept(keys[e], values[e]);
    sum_before<WARPS>(kept, partial, sum);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = sum;
        if (sum) atomicAdd(found, (u64)sum);
    }
}

// Copy the entries that count_kept counted.
template <class T>
__global__ void __launch_bounds__(THREADS) copy_kept(const u64* __restrict__ keys, const T* __restrict__ values,
                                                     i64 total, i64 chunk, const i64* __restrict__ counts,
                                                     u64* __restrict__ new_keys, T* __restrict__ new_values) {
    compact(
        total, chunk, counts, [&](i64 e) { return is_kept(keys[e], values[e]); },
        [&](i64 e, i64 to) {
            new_keys[to] = keys[e];
            new_values[to] = values[e];
        });
}

// ---- edges to rows ----

// Both directions of `total` edges. `upper` has the edges (smaller end, greater end) in that order, `lower` the same
// ones in the order of (greater end, smaller end); a row is its part of the lower ones, then that of the upper ones.
// With above[v] upper edges in the rows before v, and indptr[v] - above[v] lower ones, the i-th lower edge goes to
// i + above[its row], and the i-th upper one to i + (the lower ones up to and with its row).
template <class P>
__global__ void place_edges(const u64* __restrict__ upper, const P* __restrict__ upper_values,
                            const u64* __restrict__ lower, const P* __restrict__ lower_values, i64 total,
                            const i64* __restrict__ above, const i64* __restrict__ indptr, i32* __restrict__ indices,
                            P* __restrict__ weights) {
    for (i64 i = thread_id(); i < total; i += thread_count()) {
        u64 key = lower[i];
        i64 at = i + above[low(key)];
        indices[at] = (i32)high(key);
        if constexpr (IS_THERE<P>) weights[at] = lower_values[i];
        key = upper[i];
        at = i + indptr[high(key) + 1] - above[high(key) + 1];
        indices[at] = (i32)low(key);
        if constexpr (IS_THERE<P>) weights[at] = upper_values[i];
    }
}
