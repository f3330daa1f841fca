// Walks: free vertices look for each other along edges that pay; `walk` in reference_auction.py defines a round,
// and the plan is in cuda/walks.py.
//
// T is the type of the weights as numbers.

constexpr int BLOCK = HOST_BLOCK;
constexpr int STEPS = HOST_STEPS;        // of a walk
constexpr int VERTICES = 2 * STEPS + 1;  // of a walk, with where it began
constexpr int QUADS = 2;                 // four entries each, that a lane has on their way at a time,
constexpr i64 CHUNK = 4 * (QUADS * WARP - 1);  // and so many the warp has: the first may be within a quad
constexpr float LIFT = 4.0f;             // makes every worth positive: prices are less than 3
SAME_SIZE(Units, UNITS);
SAME_SIZE(Scale, SCALE);
static_assert(STEPS < WARP, "each step has a lane");

// cost[v] is the price of v, 0 where v is free; listed are the free vertices that someone has asked for. Prices are
// compared as bits: one may be denormal.
__global__ void list_starts(i64 n, const i32* __restrict__ mate, const float* __restrict__ prices,
                            float* __restrict__ cost, i32* __restrict__ starts, u64* count) {
    i64 v = thread_id();
    bool free = v < n && mate[v] < 0;
    float price = v < n ? prices[v] : 0.0f;
    if (v < n) cost[v] = free ? 0.0f : price;
    bool listed = free && __float_as_uint(price) != 0;
    u64 to = place_in_list(listed, count);
    if (listed) starts[to] = (i32)v;
}

// A warp's walk from path[0], which is free. After step k, path[2 k + 1] is the neighbour that path[2 k] took, and
// path[2 k + 2] is that one's mate, -1 where it is free. `path` is shared memory. All lanes call everything.
template <class T>
struct Walk {
    const Rows<T>& rows;
    const Scale& scale;
    const Units& units;
    const Order& mixing;
    u64 seed, turn;
    const float* __restrict__ cost;
    const i32* __restrict__ mate;
    i32* path;

    __device__ __forceinline__ void start(i32 f) const {
        __syncwarp();  // an earlier walk may still be read
        if (lane_id() == 0) path[0] = f;
        __syncwarp();
    }

    // Whether v is where the walk began, or of a pair that it gave up in its first k steps.
    __device__ __forceinline__ bool is_closed(i32 v, int k) const {
        bool closed = false;
        for (int i = 0; i <= 2 * k; ++i) closed |= path[i] == v;
        return closed;
    }

    // Step k: the neighbour that is taken, -1 where there is none. A cost is read only where the value itself reaches the
    // best so far.
    __device__ __forceinline__ i32 step(int k) const {
        i32 z = path[2 * k];
        u32 mask = (u32)(hash2(seed, WALK, turn, (u64)z) >> 32);
        u64 best = 0;
        for (i64 begin = rows.indptr[z], end = rows.indptr[z + 1]; begin < end; begin += CHUNK) {
            i32 count = (i32)min(CHUNK, end - begin), at = 4 * (i32)lane_id() - (i32)(begin & 3);
            Four<T> four[QUADS];
            float value[4 * QUADS], paid[4 * QUADS];
#pragma unroll
            for (int q = 0; q < QUADS; ++q) four[q].template read<false>(rows, begin, at + 4 * WARP * q, count);
#pragma unroll
            for (int j = 0; j < 4 * QUADS; ++j) {
                bool there = (u32)(at + j / 4 * 4 * WARP + j % 4) < (u32)count;
                value[j] = there ? value_of(four[j / 4].w[j % 4], scale) : 0.0f;
                paid[j] = there && __float_as_uint(value[j] + LIFT) >= high(best) ? cost[four[j / 4].v[j % 4]] : LIFT;
            }
#pragma unroll
            for (int j = 0; j < 4 * QUADS; ++j) {
                i32 v = four[j / 4].v[j % 4];
                u64 key = pack(__float_as_uint((value[j] - paid[j]) + LIFT), priority(mixing, (u32)v ^ mask));
                if (paid[j] < LIFT && key > best && !is_closed(v, k)) best = key;
            }
            __syncwarp();
            best = warp_max(best);
        }
        i32 y = best ? (i32)(vertex(mixing, low(best)) ^ mask) : -1;
        if (lane_id() == 0 && y >= 0) {
            path[2 * k + 1] = y;
            path[2 * k + 2] = mate[y];
        }
        __syncwarp();
        return y;
    }

    // What step k gains, in units. Even lanes look up the edge that is taken, odd lanes the one that is given up.
    __device__ __forceinline__ i64 gain(int k) const {
        bool odd = lane_id() % 2;
        i32 one = path[2 * k + odd], other = path[2 * k + 1 + odd];
        i64 weight = other < 0 ? 0 : units_up(rows.weights[edge_place(rows.indptr, rows.indices, one, other)], units);
        __syncwarp();
        return __shfl_sync(FULL, weight, 0) - __shfl_sync(FULL, weight, 1);
    }
};

// A warp each walks from the starts. Walks that gain put their claims on what they would change; claims are 0 before.
// lengths[i] = the steps of walk i, 0 where it does not gain.
template <class T>
__global__ void __launch_bounds__(BLOCK, 4) claim_walks(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n, Scale scale,
        Units units, Order order, Order mixing, u64 seed, u64 turn, const float* __restrict__ cost,
        const i32* __restrict__ mate, const i32* __restrict__ starts, const u64* __restrict__ count, u64* claims,
        u8* touched, u8* __restrict__ lengths) {
    __shared__ i32 paths[BLOCK / WARP][VERTICES];
    i32* path = paths[threadIdx.x / WARP];
    Rows<T> rows = {indptr, indices, weights, indptr[n]};
    Walk<T> walk = {rows, scale, units, mixing, seed, turn, cost, mate, path};
    i64 all = (i64)*count;
    for (i64 i = thread_id() / WARP; i < all; i += thread_count() / WARP) {
        i32 f = starts[i];
        walk.start(f);
        i64 gain = 0, best = 0;
        int length = 0;
        for (int k = 0; k < STEPS && path[2 * k] >= 0; ++k) {
            if (walk.step(k) < 0) break;
            gain += walk.gain(k);
            if (gain > best) {
                best = gain;
                length = k + 1;
            }
        }
        if (lane_id() == 0) lengths[i] = (u8)length;
        if (length && (int)lane_id() <= length) {  // lane 0 claims f, the others what was taken
            u64 claim = pack(__float_as_uint((float)(double)best), priority(order, (u32)f));
            put_claim(lane_id() ? path[2 * lane_id() - 1] : f, claim, mate, claims, touched);
        }
    }
}

// The walks that gain are gone once more. Where one got all its claims, arm[z] is what each z on it takes: no two such
// walks share a pair. The length of the others becomes 0.
template <class T>
__global__ void __launch_bounds__(BLOCK, 4) decide_walks(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n, Scale scale,
        Units units, Order order, Order mixing, u64 seed, u64 turn, const float* __restrict__ cost,
        const i32* __restrict__ mate, const i32* __restrict__ starts, const u64* __restrict__ count,
        const u64* __restrict__ claims, i32* __restrict__ arm, u8* lengths) {
    __shared__ i32 paths[BLOCK / WARP][VERTICES];
    i32* path = paths[threadIdx.x / WARP];
    Rows<T> rows = {indptr, indices, weights, indptr[n]};
    Walk<T> walk = {rows, scale, units, mixing, seed, turn, cost, mate, path};
    i64 all = (i64)*count;
    for (i64 i = thread_id() / WARP; i < all; i += thread_count() / WARP) {
        int length = lengths[i];
        if (!length) continue;
        i32 f = starts[i];
        u32 rank = priority(order, (u32)f);  // tells who made a claim
        walk.start(f);
        bool granted = low(claims[f]) == rank;
        for (int k = 0; k < length && granted; ++k) granted = low(claims[pair_of(walk.step(k), mate)]) == rank;
        if (granted && (int)lane_id() < length) arm[path[2 * lane_id()]] = path[2 * lane_id() + 1];
        if (!granted && lane_id() == 0) lengths[i] = 0;
    }
}

// The walks that got all their claims are made.
__global__ void make_walks(const i32* __restrict__ starts, const u64* __restrict__ count,
                           const u8* __restrict__ lengths, const i32* __restrict__ arm, i32* mate) {
    i64 all = (i64)*count;
    for (i64 i = thread_id(); i < all; i += thread_count()) {
        int length = lengths[i];
        if (!length) continue;
        i32 z = starts[i];
        for (int k = 0; k < length; ++k) {
            i32 y = arm[z], after = mate[y];
            mate[z] = y;
            mate[y] = z;
            z = after;
        }
        if (z >= 0) mate[z] = -1;
    }
}
