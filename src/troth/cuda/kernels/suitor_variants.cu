// GPU-Suitor in four variants: warps make offers for chunks of vertices, round after round.
//
// Reference: Md. Naim, F. Manne, M. Halappanavar, A. Tumeo and J. Langguth, Optimizing approximate weighted matching on
// Nvidia Kepler K40, HiPC 2015, Algorithm 4 and section 4; their talk of 2016 for registers as buffer. Their locks are
// one atomic maximum (or compare-and-swap) here.
//
// state[v]: the best offer that v holds, (weight prefix, priority of the suitor), or NONE.
// Invariant: words of `state` only grow, and a vertex is in the list of exactly one warp or has its offer standing at
// exactly one neighbour, or no neighbour is left that would take it. There is one such end, whoever comes first.
//
// Blocks and warps tell each other nothing but words of `state`, each of which is whole by itself. So stale reads are
// safe: a word that is too low makes an offer that the atomic operation refuses.

enum Variant { NOSYNC, SYNCLB, SYNCNOLB, HYBRID };

constexpr u64 NONE = 0;                  // no offer, no candidate
constexpr i32 NOBODY = -1;               // nobody has to look again
constexpr u32 COUNTERS = HOST_COUNTERS;  // so that few warps add to the same one
constexpr u32 WAITING = 8;               // adaptive: balance while more than 1/8 of a block's vertices are waiting
constexpr u32 FEW = 9;                   // rounds after which a warp or a block counts as quick: less than tens

// The graph: three arrays as everywhere, and the order.
template <class W>
struct OrderedRows {
    const i64* __restrict__ indptr;
    const i32* __restrict__ indices;
    const W* __restrict__ bits;
    Order order;
};

// Whether (key, weight) is better than (than, least). EXACT: prefixes are lossy, so equal ones are settled by weights.
template <bool EXACT>
__device__ __forceinline__ bool better(u64 key, u64 weight, u64 than, u64 least) {
    if (!EXACT || high(key) != high(than)) return key > than;
    return weight > least || (weight == least && key > than);
}

// Whether v prefers an offer to the one that it holds.
template <class W, bool EXACT>
__device__ __forceinline__ bool would_take(const OrderedRows<W>& rows, u32 v, u64 offer, u64 held) {
    return EXACT ? wins(rows.indptr, rows.indices, rows.bits, rows.order, v, offer, held) : offer > held;
}

// Lines 10 to 16 of Algorithm 3 by a whole warp: the key of the best neighbour that would take u's offer, or NONE.
//
// The search starts from the suitor of u (lines 10 and 11); the offer that u holds is the suitor's key in u's eyes.
// This misses nothing: the last suitor p of u is its mate, so p would take u's offer now, since in the end it does; and
// p is at least as good as the suitor of now. Where no neighbour that is better than the suitor of now would take the
// offer, that one is p, and the offer to it succeeds. EXACT: the suitor of now counts as the lightest of its prefix, so
// that p is found among its equals.
template <class W, bool EXACT>
__device__ __forceinline__ u64 find_candidate(const OrderedRows<W>& rows, const u64* state, u32 u, i64 start, u32 degree,
                                              u64 held) {
    const i32* __restrict__ neighbours = rows.indices + start;
    const W* __restrict__ weights = rows.bits + start;
    u32 rank = priority(rows.order, u);
    u64 best = held, heaviest = 0;
    for (u32 i = lane_id(); i < degree; i += WARP) {
        u32 v = (u32)neighbours[i];
        W weight = weights[i];
        u64 key = key_of(rows.order, weight, v);
        if (better<EXACT>(key, weight, best, heaviest) &&
            would_take<W, EXACT>(rows, v, pack(high(key), rank), peek(state + v))) {
            best = key;
            heaviest = weight;
        }
    }
    // Butterfly: after the step over distance d, lanes that differ only in bits d and above know the same best.
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        u64 key = __shfl_xor_sync(FULL, best, distance);
        u64 weight = EXACT ? __shfl_xor_sync(FULL, heaviest, distance) : 0;
        if (better<EXACT>(key, weight, best, heaviest)) {
            best = key;
            heaviest = weight;
        }
    }
    return best;
}

// Lines 18 to 29: u makes its offer to the neighbour of `key`. Returns who has to look again: u itself if the neighbour
// holds a better offer by now, whom u displaced, or NOBODY.
template <class W, bool EXACT>
__device__ __forceinline__ i32 make_offer(const OrderedRows<W>& rows, u32 u, u64 key, u64* state) {
    u32 v = vertex(rows.order, low(key));
    u64 offer = pack(high(key), priority(rows.order, u));
    u64 held;
    if (EXACT) {
        held = peek(state + v);
        while (would_take<W, EXACT>(rows, v, offer, held)) {
            u64 seen = atomicCAS(state + v, held, offer);
            if (seen == held) return held == NONE ? NOBODY : (i32)vertex(rows.order, low(held));
            held = seen;
        }
        return (i32)u;
    }
    held = atomicMax(state + v, offer);
    if (held > offer) return (i32)u;
    return held == NONE ? NOBODY : (i32)vertex(rows.order, low(held));
}

// One round of a warp: its vertices mine[0..count) find their candidates one after the other, then make their offers
// all together; mine[0..result) = those who failed or were displaced. Up to 32 candidates wait in registers, more of
// them in the warp's part of `candidates`.
template <class W, bool EXACT>
__device__ u32 play_round(const OrderedRows<W>& rows, u32 count, i32* mine, u64* candidates, u64* state, u32& offers) {
    u32 lane = lane_id();
    u64 candidate = NONE;
    for (u32 base = 0; base < count; base += WARP) {
        u32 size = min(count - base, (u32)WARP);
        u32 u = 0, degree = 0;
        i64 start = 0;
        u64 held = NONE;
        if (lane < size) {  // what the warp will need of vertex base + lane
            u = (u32)mine[base + lane];
            start = rows.indptr[u];
            degree = (u32)(rows.indptr[u + 1] - start);
            held = peek(state + u);
        }
        for (u32 i = 0; i < size; ++i) {
            u64 found = find_candidate<W, EXACT>(rows, state, __shfl_sync(FULL, u, i), __shfl_sync(FULL, start, i),
                                                 __shfl_sync(FULL, degree, i), __shfl_sync(FULL, held, i));
            if (lane == i) candidate = found;
        }
        if (count > WARP && lane < size) candidates[base + lane] = candidate;
    }
    u32 left = 0;
    for (u32 base = 0; base < count; base += WARP) {
        i32 next = NOBODY;
        bool offering = false;
        if (base + lane < count) {
            if (count > WARP) candidate = candidates[base + lane];
            offering = candidate != NONE;
            if (offering) next = make_offer<W, EXACT>(rows, (u32)mine[base + lane], candidate, state);
        }
        // Prefix sum of ones: a vertex goes behind those of the lower lanes. left <= base, and all lanes have read
        // their own by now, so nothing is lost in the same memory.
        u32 again = __ballot_sync(FULL, next != NOBODY);
        offers += __popc(__ballot_sync(FULL, offering));
        __syncwarp();
        if (next != NOBODY) mine[left + place_in(again)] = next;
        left += __popc(again);
    }
    __syncwarp();
    return left;
}

// Spread the vertices of a block, loads[w] of them in warp w's part of `chunks`; returns this warp's new number.
//
// Loads may deviate from the average by 25 per cent, up or down (section 4). Where one deviates by more, every warp gets
// its share: total / warps, and one more for each of the first total % warps. Shares add up to the total, so what some
// give is what others lack, and a share fits: it is at most the average, rounded up, <= per_warp. Lane w looks after
// warp w. The j-th vertex given is the j-th one taken; takers copy, each behind its own vertices. Givers
// need not wait: they keep to the first vertices of their part, and the others are read from behind.
__device__ inline u32 even_out(const u32* loads, u32 total, u32 warps, u32 warp, u32 per_warp, i32* chunks) {
    u32 lane = lane_id();
    u32 share = lane < warps ? total / warps + (lane < total % warps) : 0;
    u32 load = lane < warps ? loads[lane] : 0;
    bool deviates = lane < warps && (4 * load * warps > 5 * total || 4 * load * warps < 3 * total);
    if (!__any_sync(FULL, deviates)) return __shfl_sync(FULL, load, warp);
    u32 excess = load > share ? load - share : 0;
    u32 room = load < share ? share - load : 0;
    u32 given = sum_up_to_lane(excess), taken = sum_up_to_lane(room);
    u32 all = __shfl_sync(FULL, given, WARP - 1);
    u32 last = min(__shfl_sync(FULL, taken, warp), all);
    u32 first = min(__shfl_sync(FULL, taken - room, warp), all);
    u32 count = __shfl_sync(FULL, load - excess, warp);
    for (u32 base = first; base < last; base += WARP) {
        u32 j = base + lane, giver = 0;
        for (u32 w = 0; w + 1 < warps; ++w) giver += __shfl_sync(FULL, given, w) <= j;
        u32 before = __shfl_sync(FULL, given - excess, giver);
        u32 kept = __shfl_sync(FULL, share, giver);
        if (j < last) chunks[warp * per_warp + count + j - first] = chunks[giver * per_warp + kept + j - before];
    }
    __syncwarp();
    return count + last - first;
}

// Algorithm 4. In: the rows, the order, n, per_warp, balance_rounds; scratch: candidates; out: state and counts, both 0
// before. state = the best offer of every vertex at the end. counts has four parts, and in each a word for some of the
// warps: their most rounds, their most rounds with balance, all their offers, how many blocks (upper half) and warps
// that began with vertices were quick. Warp w of the grid begins with the vertices from w * per_warp on, and has room for per_warp of them in
// shared memory, and in `candidates` if they are more than 32. balance_rounds: the k of the paper, or -1 for adaptive.
template <class W, bool EXACT, Variant VARIANT>
__global__ void __launch_bounds__(1024, 1)
gpu_suitor(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, Order order,
           i64 n, u32 per_warp, i32 balance_rounds, u64* candidates, u64* state, u64* counts) {
    extern __shared__ i32 chunks[];
    __shared__ u32 loads[2][WARP];
    OrderedRows<W> rows = {indptr, indices, bits, order};
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    i64 number = (i64)blockIdx.x * warps + warp;
    i64 first = number * per_warp;
    u32 count = (u32)max(min(n - first, (i64)per_warp), 0ll);
    u32 rounds = 0, balanced = 0, offers = 0;
    i32* mine = chunks + warp * per_warp;
    candidates += first;
    bool adaptive = balance_rounds < 0;
    u32 began = (u32)min(n - (first - (i64)warp * per_warp), (i64)warps * per_warp);
    bool balancing = VARIANT == SYNCLB || VARIANT == HYBRID;
    for (u32 i = lane_id(); i < count; i += WARP) mine[i] = (i32)(first + i);
    __syncwarp();
    for (i32 round = 0;; ++round) {  // round 0 is the initial phase, the others are the recurrent phase
        if (count > 0) {
            count = play_round<W, EXACT>(rows, count, mine, candidates, state, offers);
            ++rounds;
        }
        if (balancing && (adaptive || round < balance_rounds)) {
            // One barrier is enough: who writes to this half of `loads` again has passed the barrier of the other half,
            // and so have all who read this one. A vertex that waits is nobody's suitor; their number never grows.
            u32* load = loads[round % 2];
            if (lane_id() == 0) load[warp] = count;
            __syncthreads();
            u32 total = __shfl_sync(FULL, sum_up_to_lane(lane_id() < warps ? load[lane_id()] : 0), WARP - 1);
            if (total == 0) break;
            if (!adaptive || WAITING * total > began) {
                count = even_out(load, total, warps, warp, per_warp, chunks);
                ++balanced;
                continue;
            }
        }
        balancing = false;
        if (VARIANT == NOSYNC || VARIANT == HYBRID ? count == 0 : !__syncthreads_or(count > 0)) break;
    }

    u32 quick_block = !__syncthreads_or(rounds > FEW) && warp == 0;
    if (lane_id() == 0 && rounds > 0) {
        counts += number % COUNTERS;
        atomicMax(counts, (u64)rounds);
        if (balanced > 0) atomicMax(counts + COUNTERS, (u64)balanced);
        atomicAdd(counts + 2 * COUNTERS, (u64)offers);
        if (rounds <= FEW && first < n) atomicAdd(counts + 3 * COUNTERS, pack(quick_block, 1));
    }
}

// mate[v] = the vertex whose offer v holds, -1 where it holds none: in the end suitors are mutual. The first warp also
// collects the parts of counts: totals = (most rounds of a warp, most with balance, all offers, quick warps, quick
// blocks).
__global__ void read_mates(const u64* __restrict__ state, const u64* __restrict__ counts, Order order, i64 n,
                           i32* __restrict__ mate, u64* __restrict__ totals) {
    i64 v = thread_id();
    if (v < n) mate[v] = state[v] == NONE ? -1 : (i32)vertex(order, low(state[v]));
    if (v >= WARP) return;
    u64 rounds = 0, balanced = 0, offers = 0, quick = 0;
    for (u32 i = lane_id(); i < COUNTERS; i += WARP) {
        rounds = max(rounds, counts[i]);
        balanced = max(balanced, counts[COUNTERS + i]);
        offers += counts[2 * COUNTERS + i];
        quick += counts[3 * COUNTERS + i];
    }
    rounds = warp_max(rounds);
    balanced = warp_max(balanced);
    offers = warp_sum(offers);
    quick = warp_sum(quick);
    if (lane_id() == 0) {
        totals[0] = rounds;
        totals[1] = balanced;
        totals[2] = offers;
        totals[3] = low(quick);
        totals[4] = high(quick);
    }
}
