// Checks: the weight matched at every vertex, what is promised, and the sweeps of the dual; see api/checking.py and
// cpu/checks.py.
//
// T is the type of the weights as numbers (float, double, or the unsigned integer of their width), W that of their
// bits. Kernels take their counts first, then what they read, then what they write or add to.
//
// Rows are scanned in two ways (split_rows in the host file): a group of 2^shift lanes takes a row of up to `longest`
// entries, and a warp takes a piece of a longer one. Every answer is a least, a greatest or a sum of whole numbers, so it
// does not depend on who comes first; only add_blocks adds floats, in a fixed order.

constexpr u64 NOWHERE = HOST_NOWHERE;
constexpr int SLOTS = HOST_SLOTS;                    // sums are spread over so many pairs of words
constexpr int SUM_BLOCK = HOST_SUM_BLOCK;            // vertices whose weights are added one by one: cpu/checks.py
constexpr int TILE = 256;                            // of them in shared memory at a time
constexpr int SUM_WARPS = HOST_SUM_THREADS / WARP;   // warps of a block of add_blocks
static_assert(HOST_SUM_THREADS % WARP == 0 && SUM_BLOCK % TILE == 0, "whole warps, whole tiles");

// ---- the weight matched at each vertex ----

// held[v] = the bits of w(v, mate[v]), 0 where v is free; broken = the first v whose mate is no mate, n before.
// A mate is -1, or a vertex that names v in turn and is a neighbour of v.
template <class W>
__global__ void hold(i32 n, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                     const W* __restrict__ bits, const i32* __restrict__ mate, W* __restrict__ held, i32* broken) {
    i64 v = thread_id();
    if (v >= n) return;
    i32 u = mate[v];
    bool sound = u == -1;
    W found = 0;
    if (u >= 0 && u < n && mate[u] == v) {
        i64 stop = indptr[v + 1], place = find(indices, indptr[v], stop, u);
        sound = place < stop;
        if (sound) found = bits[place];
    }
    held[v] = found;
    if (!sound && v < peek(broken)) atomicMin(broken, (i32)v);
}

// sums[b] = the weights of the pairs whose smaller vertex is in block b, added one by one. A warp brings them to shared
// memory and its first lane adds; the zeros of the other vertices change no sum, for none is negative.
template <class T>
__global__ void add_blocks(i32 n, const i32* __restrict__ mate, const T* __restrict__ held,
                           double* __restrict__ sums) {
    __shared__ double tiles[SUM_WARPS][TILE];
    double* tile = tiles[threadIdx.x / WARP];
    i64 block = thread_id() / WARP, first = block * SUM_BLOCK;
    if (first >= n) return;  // the whole warp alike
    i64 last = min(first + SUM_BLOCK, (i64)n);
    double total = 0.0;
    for (; first < last; first += TILE) {
#pragma unroll
        for (int i = lane_id(); i < TILE; i += WARP) {
            i64 v = first + i;
            tile[i] = v < last && mate[v] > v ? number(held[v]) : 0.0;
        }
        __syncwarp();
        if (lane_id() == 0) {
#pragma unroll 16
            for (int i = 0; i < TILE; ++i) total += tile[i];
        }
        __syncwarp();
    }
    if (lane_id() == 0) sums[block] = total;
}

// totals[slot] += the parts of a block's threads, each below 2^64, as sums of their upper and lower halves of 32 bits,
// which cannot overflow. All threads of the block call it, once a kernel.
__device__ inline void add_parts(u64 part, u64* totals) {
    __shared__ u64 sums[2][WARP];
    u64 upper = warp_sum(high(part)), lower = warp_sum(low(part));
    if (lane_id() == 0) {
        sums[0][threadIdx.x / WARP] = upper;
        sums[1][threadIdx.x / WARP] = lower;
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        u64 total = 0;
        for (u32 warp = 0; warp < blockDim.x / WARP; ++warp) total += sums[threadIdx.x][warp];
        if (total) atomicAdd(totals + 2 * (blockIdx.x % SLOTS) + threadIdx.x, total);
    }
}

// totals += the whole numbers held.
template <class W>
__global__ void add_whole(i32 n, const W* __restrict__ held, u64* totals) {
    i64 v = thread_id();
    add_parts(v < n ? (u64)held[v] : 0, totals);
}

// ---- rows by length ----

// The rows of more than `longest` entries, in any order, and their pieces of `size` entries: piece j begins at entry
// piece_start[j] of row piece_row[j]. counts = (rows, pieces), 0 before.
__global__ void list_long(i32 n, const i64* __restrict__ indptr, i64 longest, i64 size, i32* __restrict__ long_row,
                          i32* __restrict__ piece_row, i64* __restrict__ piece_start, u64* counts) {
    i64 v = thread_id();
    if (v >= n) return;
    i64 start = indptr[v], stop = indptr[v + 1];
    if (stop - start <= longest) return;
    long_row[atomicAdd(counts, 1ull)] = (i32)v;
    u64 to = atomicAdd(counts + 1, (u64)((stop - start + size - 1) / size));
    for (; start < stop; start += size, ++to) {
        piece_row[to] = (i32)v;
        piece_start[to] = start;
    }
}

// What one of 2^shift lanes takes of some entries: those at lane, lane + lanes, ..., `count` in all.
struct Part {
    int lanes, lane, count;
};

__device__ __forceinline__ Part part_of(int size, int shift) {
    int lanes = 1 << shift, lane = lane_id() & (lanes - 1);
    return {lanes, lane, (size - lane + lanes - 1) >> shift};
}

// ---- maximality and dominance ----

// One lane's part of row u, the entries e, e + lanes, ..., `count` in all: found = the first entry of all, NOWHERE
// before, that leads to a greater vertex and is heavier than what either end holds.
template <class W>
__device__ __forceinline__ void uncover(i32 u, i64 e, int count, int lanes, const i32* __restrict__ indices,
                                        const W* __restrict__ bits, const W* __restrict__ held, u64* found) {
    W own = held[u];
    u64 first = NOWHERE;
#pragma unroll 4
    for (; count > 0; --count, e += lanes) {
        i32 v = indices[e];
        W w = v > u ? bits[e] : (W)0;
        W other = w > own ? held[v] : w;
        if (w > other) first = min(first, (u64)e);
    }
    if (first != NOWHERE && first < peek(found)) atomicMin(found, first);
}

// uncover for the rows of up to `longest` entries, 2^shift lanes each.
template <class W>
__global__ void uncover_rows(i32 n, i32 shift, i64 longest, const i64* __restrict__ indptr,
                             const i32* __restrict__ indices, const W* __restrict__ bits, const W* __restrict__ held,
                             u64* found) {
    i64 u = thread_id() >> shift;
    if (u >= n) return;
    i64 start = indptr[u], size = indptr[u + 1] - start;
    if (size > longest) return;
    Part part = part_of((int)size, shift);
    uncover((i32)u, start + part.lane, part.count, part.lanes, indices, bits, held, found);
}

// uncover for the pieces of `size` entries of longer rows (list_long), a warp each.
template <class W>
__global__ void uncover_pieces(i64 pieces, i64 size, const i32* __restrict__ piece_row,
                               const i64* __restrict__ piece_start, const i64* __restrict__ indptr,
                               const i32* __restrict__ indices, const W* __restrict__ bits, const W* __restrict__ held,
                               u64* found) {
    i64 piece = thread_id() / WARP;
    if (piece >= pieces) return;
    i32 u = piece_row[piece];
    i64 start = piece_start[piece];
    Part part = part_of((int)min(size, indptr[u + 1] - start), 5);
    uncover(u, start + part.lane, part.count, part.lanes, indices, bits, held, found);
}

// ---- the dual ----

SAME_SIZE(Units, UNITS);

// A weight in units (common.cuh `units_up`), rounded down.
__device__ __forceinline__ i64 units_down(double w, const Units& units) {
    return (i64)(w * units.first * units.second);
}
__device__ __forceinline__ i64 units_down(float w, const Units& units) { return units_down(number(w), units); }
template <class W>
__device__ __forceinline__ i64 units_down(W w, const Units& units) { return (i64)w << units.exponent; }

// y[v] = the price of v in an auction (auction.cu: the upper half of its word), in units, of which a price of 1 counts
// `one`; totals += the weights of the pairs, rounded down.
template <class T>
__global__ void start_dual(i32 n, const i32* __restrict__ mate, const T* __restrict__ held, Units units,
                           const float* __restrict__ prices, double one, i64* __restrict__ y, u64* totals) {
    constexpr double MOST = 9223372036854774784.0;  // the greatest below 2^63
    i64 v = thread_id();
    u64 part = 0;
    if (v < n) {
        y[v] = (i64)fmin((double)prices[v] * one, MOST);
        if (mate[v] > v) part = (u64)units_down(held[v], units);
    }
    add_parts(part, totals);
}

// One lane's part of a row, the entries e, e + lanes, ..., `count` in all: the greatest of 0 and w(u, v) - y(u).
template <class T>
__device__ __forceinline__ i64 need_of(i64 e, int count, int lanes, const i32* __restrict__ indices,
                                       const T* __restrict__ weights, const Units& units, const i64* __restrict__ y) {
    i64 need = 0;
#pragma unroll 4
    for (; count > 0; --count, e += lanes) need = max(need, units_up(weights[e], units) - y[indices[e]]);
    return need;
}

// The greatest need among groups of `lanes` lanes, a power of two, known to all of them. The whole warp calls it.
__device__ __forceinline__ i64 group_max(i64 need, int lanes) {
    for (int step = lanes / 2; step; step /= 2) need = max(need, __shfl_xor_sync(FULL, need, step));
    return need;
}

// (y + need) / 2, rounded up; both are below 2^63.
__device__ __forceinline__ u64 average(i64 y, i64 need) { return ((u64)y + (u64)need + 1) >> 1; }

// fresh[v] = (y(v) + need(v)) / 2 for the rows of up to `longest` entries, 0 for the longer ones; totals += their sum.
template <class T>
__global__ void sweep_rows(i32 n, i32 shift, i64 longest, const i64* __restrict__ indptr,
                           const i32* __restrict__ indices, const T* __restrict__ weights, Units units,
                           const i64* __restrict__ y, i64* __restrict__ fresh, u64* totals) {
    i64 v = thread_id() >> shift;
    i64 start = v < n ? indptr[v] : 0, size = v < n ? indptr[v + 1] - start : 0;
    bool is_long = size > longest;
    Part part = part_of(is_long ? 0 : (int)size, shift);
    i64 need = need_of(start + part.lane, part.count, part.lanes, indices, weights, units, y);
    need = group_max(need, part.lanes);
    u64 result = 0;
    if (v < n && part.lane == 0) {
        result = is_long ? 0 : average(y[v], need);
        fresh[v] = (i64)result;
    }
    add_parts(result, totals);
}

// fresh[v] = the greatest need in the pieces of the long row v.
template <class T>
__global__ void sweep_pieces(i64 pieces, i64 size, const i32* __restrict__ piece_row,
                             const i64* __restrict__ piece_start, const i64* __restrict__ indptr,
                             const i32* __restrict__ indices, const T* __restrict__ weights, Units units,
                             const i64* __restrict__ y, i64* fresh) {
    i64 piece = thread_id() / WARP;
    if (piece >= pieces) return;  // the whole warp alike
    i32 v = piece_row[piece];
    i64 start = piece_start[piece];
    Part part = part_of((int)min(size, indptr[v + 1] - start), 5);
    i64 need = group_max(need_of(start + part.lane, part.count, WARP, indices, weights, units, y), WARP);
    if (part.lane == 0 && need > 0) atomicMax(fresh + v, need);
}

// fresh[v] = (y(v) + fresh[v]) / 2 for the long rows; totals += their sum.
__global__ void settle_long(i64 count, const i32* __restrict__ long_row, const i64* __restrict__ y,
                            i64* __restrict__ fresh, u64* totals) {
    i64 i = thread_id();
    u64 part = 0;
    if (i < count) {
        i32 v = long_row[i];
        part = average(y[v], fresh[v]);
        fresh[v] = (i64)part;
    }
    add_parts(part, totals);
}
