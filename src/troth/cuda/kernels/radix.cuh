// A stable radix sort of keys row << 32 | column, with or without values beside them: for gate.cu.
//
// It takes the digits of the key from the lowest up, and each pass keeps the order of equal digits: Knuth, The Art of
// Computer Programming 3, 5.2.5; on a GPU: Merrill and Grimshaw (doi:10.1142/S0129626411000187). The work of a kernel
// over `total` items is cut into one chunk a block, a multiple of TILE.

constexpr int THREADS = HOST_THREADS;   // of every block here
constexpr int WARPS = THREADS / WARP;
constexpr int TILE = HOST_TILE;         // items that a block of the sort arranges at a time
constexpr int ITEMS = TILE / THREADS;   // of a thread of the sort
constexpr int STEPS = 8;                // of a thread elsewhere
constexpr int STRIP = THREADS * STEPS;
constexpr int DIGITS = HOST_DIGITS;
constexpr int PARTS = HOST_PARTS;       // of a chunk that is sorted: so many more blocks can count than arrange
static_assert(DIGITS == THREADS, "a thread looks after a digit");
static_assert(TILE % STRIP == 0 && TILE % (PARTS * THREADS) == 0, "a chunk is whole strips, and so are its parts");

constexpr u64 NO_EDGE = ~0ull;         // the key of a loop that is to be dropped: after all others

struct Nothing {};                     // the payload of a sort of keys alone

template <class T> constexpr bool IS_THERE = true;
template <> constexpr bool IS_THERE<Nothing> = false;

// The part of the items that is this block's.
__device__ inline void take_chunk(i64 total, i64 chunk, i64& start, i64& stop) {
    start = min(total, (i64)blockIdx.x * chunk);
    stop = min(total, start + chunk);
}

// A digit of the key: bits shift..shift+7, as far as `mask` goes, of its row and column of `bits` bits each, closed up.
__device__ __forceinline__ u32 digit_of(u64 key, i64 bits, i64 shift, i64 mask) {
    u64 column = (1ull << bits) - 1;
    u64 closed = (key >> (32 - bits) & ~column) | (key & column);
    return (u32)(closed >> shift) & (u32)mask;
}

// table[digit * blocks + b] = how often the digit occurs in part b.
__global__ void __launch_bounds__(THREADS) count_digits(const u64* __restrict__ keys, i64 total, i64 part, i64 bits,
                                                        i64 shift, i64 mask, i64* __restrict__ table) {
    __shared__ u32 counts[WARPS][DIGITS];
    u32 warp = threadIdx.x / WARP, digit = threadIdx.x;
    for (int w = 0; w < WARPS; w++) counts[w][digit] = 0;
    __syncthreads();
    i64 start, stop;
    take_chunk(total, part, start, stop);
#pragma unroll 4
    for (i64 e = start + threadIdx.x; e < stop; e += THREADS)
        atomicAdd(&counts[warp][digit_of(keys[e], bits, shift, mask)], 1u);
    __syncthreads();
    i64 sum = 0;
    for (int w = 0; w < WARPS; w++) sum += counts[w][digit];
    if (digit <= mask) table[(i64)digit * gridDim.x + blockIdx.x] = sum;
}

// Each block takes a digit: table[digit * blocks + b] becomes the count before part b, totals[digit] that of all parts.
__global__ void __launch_bounds__(THREADS) scan_digits(i64 blocks, i64* __restrict__ table, i64* __restrict__ totals) {
    __shared__ i64 partial[WARPS];
    i64* counts = table + blockIdx.x * blocks;
    i64 before = 0;
    for (i64 first = 0; first < blocks; first += THREADS) {
        i64 b = first + threadIdx.x, sum;
        i64 count = b < blocks ? counts[b] : 0;
        i64 place = sum_before<WARPS>(count, partial, sum);
        if (b < blocks) counts[b] = before + place;
        before += sum;
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// The lanes of the warp that have the same digit as this one.
__device__ __forceinline__ u32 same_digit(u32 digit) {
    u32 same = FULL;
#pragma unroll
    for (int bit = 0; bit < 8; bit++) {
        bool set = digit >> bit & 1;
        u32 ones = __ballot_sync(FULL, set);
        same &= set ? ones : ~ones;
    }
    return same;
}

// One pass: keys and payload go where the tables of their digit say, in order. A tile is ranked by warps, which take
// consecutive items of it, then arranged by digit in shared memory, so that runs of one digit are written together.
template <class P>
__global__ void __launch_bounds__(THREADS, 2)
    scatter(const u64* __restrict__ keys, const P* __restrict__ payload, i64 total, i64 chunk, i64 bits, i64 shift,
            i64 mask, const i64* __restrict__ table, const i64* __restrict__ totals, u64* __restrict__ new_keys,
            P* __restrict__ new_payload) {
    __shared__ u64 arranged[TILE];
    __shared__ u32 counts[WARPS][DIGITS];  // then: where the warp's items of a digit begin in the arranged tile
    __shared__ i64 move[DIGITS];           // from a place in the arranged tile to one in new_keys
    __shared__ i64 partial[WARPS];
    __shared__ u32 small_partial[WARPS];
    const u32 warp = threadIdx.x / WARP, lane = lane_id(), digit = threadIdx.x;
    i64 sum;
    i64 place = sum_before<WARPS>(digit <= mask ? totals[digit] : (i64)0, partial, sum);  // of this block's next `digit`
    if (digit <= mask) place += table[((i64)digit * gridDim.x + blockIdx.x) * PARTS];
    i64 start, stop;
    take_chunk(total, chunk, start, stop);
    for (; start < stop; start += TILE) {
        const u32 count = (u32)min((i64)TILE, stop - start);
        const u32 first = warp * (WARP * ITEMS) + lane;
        u64 key[ITEMS];
        u32 rank[ITEMS];
        for (int w = 0; w < WARPS; w++) counts[w][digit] = 0;
        // What is missing in the last tile gets the greatest key, so that it is ranked behind all that is there.
#pragma unroll
        for (int k = 0; k < ITEMS; k++) key[k] = first + k * WARP < count ? keys[start + first + k * WARP] : NO_EDGE;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 own = digit_of(key[k], bits, shift, mask), same = same_digit(own);
            u32 before = counts[warp][own], below = place_in(same);
            rank[k] = before + below;
            __syncwarp();
            if (!below) counts[warp][own] = before + __popc(same);
            __syncwarp();
        }
        __syncthreads();
        u32 all = 0, tile_sum;
        for (int w = 0; w < WARPS; w++) {
            u32 some = counts[w][digit];
            counts[w][digit] = all;
            all += some;
        }
        u32 begin = sum_before<WARPS>(all, small_partial, tile_sum);
        for (int w = 0; w < WARPS; w++) counts[w][digit] += begin;
        move[digit] = place - begin;
        place += all;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            rank[k] += counts[warp][digit_of(key[k], bits, shift, mask)];
            arranged[rank[k]] = key[k];
        }
        __syncthreads();
        u32 digits[ITEMS / 4];  // of the arranged items of this thread, a byte each
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            u32 i = k * THREADS + threadIdx.x;
            u64 next = arranged[i];
            u32 own = digit_of(next, bits, shift, mask);
            digits[k / 4] = k % 4 ? digits[k / 4] | own << 8 * (k % 4) : own;
            if (i < count) new_keys[move[own] + i] = next;
        }
        if constexpr (IS_THERE<P>) {
            P carried[ITEMS];
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                if (first + k * WARP < count) carried[k] = payload[start + first + k * WARP];
            __syncthreads();
            P* arranged_payload = (P*)arranged;
#pragma unroll
            for (int k = 0; k < ITEMS; k++)
                if (first + k * WARP < count) arranged_payload[rank[k]] = carried[k];
            __syncthreads();
#pragma unroll
            for (int k = 0; k < ITEMS; k++) {
                u32 i = k * THREADS + threadIdx.x;
                if (i < count) new_payload[move[digits[k / 4] >> 8 * (k % 4) & 255] + i] = arranged_payload[i];
            }
        }
    }
}
