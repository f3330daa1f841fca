// Looks at the rows of the part of a graph that an MPI rank has on its card, for the auction: ranks/part_auction.py.
//
// T is the type of the weights as numbers: float, double, or the unsigned integer of their width.

constexpr int LANES = HOST_LANES;  // that read a row
constexpr int WIDE = HOST_WIDE;    // entries for each of them: longer rows are read by the whole warp
constexpr int AHEAD = 4;           // entries of a lane that are on their way at a time

SAME_SIZE(Scale, SCALE);

// The two greatest keys, profit bits << 32 | priority of the item's name ^ mask in the mixing order, and their entries; a
// key of 0 and the entry -1 where there is none.
struct Two {
    u64 best, second;
    i64 at_best, at_second;

    __device__ __forceinline__ void add(const Two& other) {
        if (other.best > best) {
            bool ours = best > other.second;
            second = ours ? best : other.second;
            at_second = ours ? at_best : other.at_second;
            best = other.best;
            at_best = other.at_best;
        } else if (other.best > second) {
            second = other.best;
            at_second = other.at_best;
        }
    }
};

// G lanes read a row together, and all of them get its two best keys at these prices. All lanes of the warp call it.
template <class T, int G>
__device__ __forceinline__ Two best_two(i64 first, i32 count, u32 mask, const i32* __restrict__ indices,
                                        const T* __restrict__ weights, const i32* __restrict__ names,
                                        const Scale& scale, const Order& mixing, const float* __restrict__ prices) {
    Two two = {0, 0, -1, -1};
    for (i32 at = lane_id() % G; at < count; at += G * AHEAD) {
        float profit[AHEAD];
        i32 items[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            bool there = at + k * G < count;
            items[k] = there ? indices[first + at + k * G] : 0;
            profit[k] = there ? value_of(weights[first + at + k * G], scale) : 0.0f;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            if (profit[k] > 0.0f) profit[k] -= prices[items[k]];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            u32 bits = __float_as_uint(profit[k]);
            if (!(profit[k] > 0.0f) || bits < high(two.second)) continue;  // names are far apart in memory
            two.add({pack(bits, priority(mixing, (u32)names[items[k]] ^ mask)), 0, first + at + k * G, -1});
        }
    }
    __syncwarp();
    for (int step = G / 2; step > 0; step /= 2) {
        Two other = {__shfl_xor_sync(FULL, two.best, step), __shfl_xor_sync(FULL, two.second, step),
                     __shfl_xor_sync(FULL, two.at_best, step), __shfl_xor_sync(FULL, two.at_second, step)};
        two.add(other);
    }
    return two;
}

// keys[2 i..] and entries[2 i..]: the two best of the row of own visits[i] at the prices of the local vertices.
template <class T>
__global__ void find_two(const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights,
                         const i32* __restrict__ names, Scale scale, Order mixing, u64 seed,
                         const i32* __restrict__ visits, i64 total, const float* __restrict__ prices, u64* keys,
                         i64* entries) {
    i64 i = thread_id() / LANES, first = 0;
    i32 count = 0;
    u32 mask = 0, leader = lane_id() / LANES * LANES;
    if (i < total) {
        i64 u = visits[i];
        first = indptr[u];
        count = (i32)(indptr[u + 1] - first);
        mask = (u32)(hash1(seed, BID, (u64)(u32)names[u]) >> 32);
    }
    bool long_row = count > WIDE * LANES;
    Two two = best_two<T, LANES>(first, long_row ? 0 : count, mask, indices, weights, names, scale, mixing, prices);
    for (u32 left = __ballot_sync(FULL, long_row && lane_id() == leader); left; left &= left - 1) {
        int from = __ffs(left) - 1;
        i64 its_first = __shfl_sync(FULL, first, from);
        i32 its_count = __shfl_sync(FULL, count, from);
        u32 its_mask = __shfl_sync(FULL, mask, from);
        Two its = best_two<T, WARP>(its_first, its_count, its_mask, indices, weights, names, scale, mixing, prices);
        if ((int)leader == from) two = its;
    }
    if (i < total && lane_id() == leader) {
        keys[2 * i] = two.best;
        keys[2 * i + 1] = two.second;
        entries[2 * i] = two.at_best;
        entries[2 * i + 1] = two.at_second;
    }
}

// prices[vertices[i]] = fresh[i].
__global__ void set_prices(const i32* __restrict__ vertices, const float* __restrict__ fresh, i64 total, float* prices) {
    i64 i = thread_id();
    if (i < total) prices[vertices[i]] = fresh[i];
}
