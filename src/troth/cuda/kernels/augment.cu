// Exchanges along short paths, and the stable matching of the vertices that are free in the end; `augment` and `auction`
// in reference_auction.py define both, the plan is in cuda/augment.py.
//
// T is the type of the weights as numbers, W that of their bits.

constexpr int BLOCK = HOST_BLOCK;
constexpr int ENTRIES = HOST_ENTRIES;  // of a row that each of a group's lanes reads at most; longer ones are a warp's
SAME_SIZE(Units, UNITS);

struct Control {
    u64 waiting[3];  // who is in a list; three take turns
    u64 wishes;
    u32 arrived;
    u32 rounds;
};
SAME_SIZE(Control, CONTROL);

// ---- exchanges ----

// What a vertex chose: its profit and whom it leads to, -1 where there is none. A key is that of auction.cu `Two`.
struct Arm {
    float profit;
    i32 to;

    __device__ __forceinline__ static Arm of(u64 key, const Order& mixing, u32 mask) {
        return {__uint_as_float(high(key)), key ? (i32)(vertex(mixing, low(key)) ^ mask) : -1};
    }
};

// What a centre a, of priority low(claim), wants: the arms that it and its mate change to, -1 for none.
struct Wish {
    u64 claim;
    i32 x, y;
};
SAME_SIZE(Wish, WISH);

// Every centre that looks and wants to change puts its claim on its pairs; claims and touched are 0 before. Its wish
// takes the place of its arms, and it is listed.
template <class T>
__global__ void __launch_bounds__(BLOCK) wish(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n,
        Units units, Order order, Order mixing, u64 seed, const i32* __restrict__ mate,
        const u8* __restrict__ looks, const float* __restrict__ held, ulonglong2* arms, u64* claims, u8* touched,
        i32* __restrict__ centres, Control* control) {
    i64 v = thread_id();
    i32 a = (i32)v, b = v < n ? mate[v] : 0;
    u64 claim = 0;
    Arm x = {0.0f, -1}, y = {0.0f, -1};
    if (v < n && looks[v] && !(b >= 0 && b < a)) {
        u32 mask = (u32)(hash1(seed, BID, (u64)a) >> 32);
        ulonglong2 keys = arms[a];
        x = Arm::of(keys.x, mixing, mask);
        if (b >= 0) {
            Arm x2 = Arm::of(keys.y, mixing, mask);
            mask = (u32)(hash1(seed, BID, (u64)b) >> 32);
            keys = arms[b];
            y = Arm::of(keys.x, mixing, mask);
            if (x.to >= 0 && x.to == y.to) {
                Arm y2 = Arm::of(keys.y, mixing, mask);
                if (x.profit + y2.profit >= x2.profit + y.profit) y = y2;
                else x = x2;
            }
        }
        if ((x.profit + y.profit) - held[a] > 0.0f) {
            auto weight = [&](i32 one, i32 other) {
                return other < 0 ? 0 : units_up(weights[edge_place(indptr, indices, one, other)], units);
            };
            i64 gain = -weight(a, b);
            if (x.to >= 0) gain += weight(a, x.to) - weight(x.to, mate[x.to]);
            if (y.to >= 0) {
                bool given_up = x.to >= 0 && mate[x.to] == y.to;  // the pair of both arms' ends counts once
                gain += weight(b, y.to) - (given_up ? 0 : weight(y.to, mate[y.to]));
            }
            if (gain > 0) claim = pack(__float_as_uint((float)(double)gain), priority(order, (u32)a));
        }
    }
    if (claim) {
        ((Wish*)arms)[a] = {claim, x.to, y.to};
        put_claim(a, claim, mate, claims, touched);
        put_claim(x.to, claim, mate, claims, touched);
        put_claim(y.to, claim, mate, claims, touched);
    }
    __syncwarp();
    u64 to = place_in_list(claim != 0, &control->wishes);
    if (claim) centres[to] = a;
}

// A wish that did not get all its claims is withdrawn: its claim is 0 then.
__global__ void withdraw(const i32* __restrict__ mate, const u64* __restrict__ claims, const i32* __restrict__ centres,
                         Wish* wishes, const Control* control) {
    i64 count = (i64)control->wishes;
    for (i64 i = thread_id(); i < count; i += thread_count()) {
        i32 a = centres[i];
        Wish wish = wishes[a];
        bool granted = claims[a] == wish.claim;
        if (granted && wish.x >= 0) granted = claims[pair_of(wish.x, mate)] == wish.claim;
        if (granted && wish.y >= 0) granted = claims[pair_of(wish.y, mate)] == wish.claim;
        if (!granted) wishes[a].claim = 0;
    }
}

// The wishes that are left come true. No two share a pair.
__global__ void exchange(const i32* __restrict__ centres, const Wish* __restrict__ wishes, const Control* control,
                         i32* mate) {
    i64 count = (i64)control->wishes;
    for (i64 i = thread_id(); i < count; i += thread_count()) {
        i32 a = centres[i];
        Wish wish = wishes[a];
        if (!wish.claim) continue;
        i32 b = mate[a], left[2] = {wish.x, wish.y};
        for (int k = 0; k < 2; ++k) {
            if (left[k] < 0) continue;
            i32 old = mate[left[k]];
            mate[left[k]] = -1;
            if (old >= 0) mate[old] = -1;
        }
        mate[a] = wish.x;
        if (wish.x >= 0) mate[wish.x] = a;
        if (b >= 0) mate[b] = wish.y;
        if (wish.y >= 0) mate[wish.y] = b;
    }
}

// ---- the free vertices in the end ----

// A neighbour as vertices compare them: by weight, then priority; none has weight 0.
struct Neighbour {
    u64 bits;
    u32 rank;

    __device__ __forceinline__ void add(const Neighbour& other) {
        if (other.bits > bits || (other.bits == bits && other.rank > rank)) *this = other;
    }
    __device__ __forceinline__ Neighbour of_group(int lanes) const {
        Neighbour best = *this;
        for (int step = lanes / 2; step; step /= 2) {
            best.add(Neighbour{__shfl_xor_sync(FULL, best.bits, step), __shfl_xor_sync(FULL, best.rank, step)});
        }
        return best;
    }
};

// One lane's part of a row: the best free neighbour.
template <class W>
__device__ __forceinline__ Neighbour best_free(const i32* __restrict__ indices, const W* __restrict__ bits,
                                               const Order& order, i64 begin, i64 count, int lane, int lanes,
                                               const i32* mate) {
    Neighbour best = {0, 0};
    for (i64 at = lane; at < count; at += 4 * lanes) {
        i32 v[4], taken[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = at + k * lanes < count ? indices[begin + at + k * lanes] : -1;
#pragma unroll
        for (int k = 0; k < 4; ++k) taken[k] = v[k] < 0 ? 0 : __ldcg(mate + v[k]);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (taken[k] < 0) best.add(Neighbour{(u64)bits[begin + at + k * lanes], priority(order, (u32)v[k])});
        }
    }
    return best;
}

// The free vertices that have neighbours.
__global__ void list_free(i64 n, const i64* __restrict__ indptr, const i32* __restrict__ mate, i32* __restrict__ list,
                          Control* control) {
    i64 v = thread_id();
    bool listed = v < n && mate[v] < 0 && indptr[v] < indptr[v + 1];
    u64 to = place_in_list(listed, &control->waiting[0]);
    if (listed) list[to] = (i32)v;
}

// Rounds: every listed vertex chooses its best free neighbour, those that chose each other are matched, and those that
// found none leave. `lists` has two sides, of n; choice[v] is v's. All blocks run at one time.
template <class W>
__global__ void __launch_bounds__(BLOCK, 4) complete(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n,
        i64 least_shift, Order order, i32* lists, i32* choice, i32* mate, Control* control) {
    u32 met = 0, round = 0;
    for (;; ++round) {
        i64 count = (i64)peek(&control->waiting[round % 3]);
        if (!count) break;
        if (thread_id() == 0) control->waiting[(round + 2) % 3] = 0;
        i32 *now = lists + round % 2 * n, *next = lists + (round + 1) % 2 * n;
        int shift = (int)least_shift;  // where few are left, more lanes read a row
        while (shift < 5 && count << (shift + 1) <= thread_count()) ++shift;
        int lanes = 1 << shift, lane = lane_id() & (lanes - 1);
        for (i64 at = thread_id() - lane_id(); at >> shift < count; at += thread_count()) {
            i64 i = (at + lane_id()) >> shift;
            i32 u = i < count ? __ldcg(now + i) : 0;
            i64 begin = i < count ? indptr[u] : 0, size = i < count ? indptr[u + 1] - begin : 0;
            bool wide = size > ENTRIES << shift;
            Neighbour best = best_free(indices, bits, order, begin, wide ? 0 : size, lane, lanes, mate);
            __syncwarp();
            best = best.of_group(lanes);
            u32 left = __ballot_sync(FULL, wide && lane == 0);
            while (left) {
                int from = __ffs(left) - 1;
                left &= left - 1;
                i64 its_begin = __shfl_sync(FULL, begin, from), its_size = __shfl_sync(FULL, size, from);
                Neighbour found = best_free(indices, bits, order, its_begin, its_size, (int)lane_id(), WARP, mate);
                __syncwarp();
                found = found.of_group(WARP);
                if ((int)lane_id() >> shift == from >> shift) best = found;
            }
            if (lane == 0 && i < count) choice[u] = best.bits ? (i32)vertex(order, best.rank) : -1;
        }
        meet(&control->arrived, ++met * gridDim.x);
        for (i64 base = (i64)blockIdx.x * BLOCK; base < count; base += (i64)gridDim.x * BLOCK) {
            i64 i = base + threadIdx.x;
            i32 u = i < count ? __ldcg(now + i) : 0, v = i < count ? __ldcg(choice + u) : -1;
            bool mutual = v >= 0 && __ldcg(choice + v) == u;
            if (mutual) mate[u] = v;
            u64 to = place_in_list(v >= 0 && !mutual, &control->waiting[(round + 1) % 3]);
            if (v >= 0 && !mutual) next[to] = u;
        }
        meet(&control->arrived, ++met * gridDim.x);
    }
    if (thread_id() == 0) control->rounds = round;
}
