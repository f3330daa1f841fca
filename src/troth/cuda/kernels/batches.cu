// Suitor on rows that come to the card in batches: how, and why it gives the one matching, is in cuda/batches.py.
//
// held(v): the best offer that v holds, a Key. Words only grow. choice[u]: the neighbour to whom u made its last offer,
// UNTRIED before the first, EXHAUSTED where nobody is left who would take one.

#include "held.cuh"

constexpr int BLOCK = HOST_BLOCK;
constexpr int TILE = HOST_TILE;       // rows whose entries stay together
constexpr int LANES = HOST_LANES;     // threads for a row, at most; `lanes` of a launch is a power of two
constexpr int TURNS = HOST_TURNS;     // a row that takes its lanes more turns is long: the whole block reads it
constexpr int WARPS = BLOCK / WARP;
constexpr int AHEAD = HOST_AHEAD;     // entries of a thread that are on their way at a time
constexpr u32 UNTRIED = HOST_UNTRIED, EXHAUSTED = HOST_EXHAUSTED;
constexpr u32 FRESH = 1u << 31;       // of choice: the offer is of this round (`raise` and `claim`)
static_assert(TILE == WARP, "a warp adds up the rows of a tile");
static_assert(LANES * TILE <= BLOCK, "a block takes whole tiles");

// What the host reads: both grow for ever.
struct Control {
    u64 offers;  // made
    u64 kept;    // entries, also those that found no room
};
SAME_SIZE(Control, CONTROL);

// Rows base..base + rows - 1, of n. Those of a batch are cut out of a graph, as indptr is, of which starts are the low 32
// bits. Those of the leftovers begin at first[v] and end where the next one begins, the last of a tile at ends[v / TILE].
template <class W>
struct Part {
    const u32* starts;  // null: leftovers
    const u32 *first, *ends;
    const i32* indices;
    const W* bits;
    i64 base, rows, n;

    // The row of a number below `rows`, or an empty one: begin and end.
    __device__ __forceinline__ void find_row(i64 row, i64& begin, i64& end) const {
        begin = end = 0;
        if (row >= rows) return;
        if (starts) {
            begin = starts[row] - starts[0];
            end = starts[row + 1] - starts[0];
        } else {
            i64 v = base + row;
            begin = first[v];
            end = v % TILE == TILE - 1 || v + 1 == n ? ends[v / TILE] : first[v + 1];
        }
    }
};
SAME_SIZE(Part<u32>, PART);

__device__ __forceinline__ bool is_long_row(i64 begin, i64 end, u32 lanes) {
    return end - begin > (i64)TURNS * AHEAD * lanes;
}

// Whether u need not look: its last offer stands, or nobody is left.
template <bool LOSSY>
__device__ __forceinline__ bool rests(const Words<LOSSY>& words, u32 choice, u32 mine) {
    if (choice == UNTRIED || choice == EXHAUSTED) return choice == EXHAUSTED;
    Key<LOSSY> held = words.held(choice);
    return !held.is_none() && held.rank() == mine;
}

// ---- offers ----

// The best key of those among the entries begin + at, begin + at + step, ... whose neighbour would take u's offer.
template <class W, bool LOSSY>
__device__ __forceinline__ Key<LOSSY> look(const Part<W>& part, const Order& order, const Words<LOSSY>& words, u32 u,
                                           u32 mine, i64 begin, i64 end, i64 at, i64 step) {
    typedef Key<LOSSY> K;
    K top = {}, own = words.held(u);
    for (i64 e = begin + at; e < end; e += AHEAD * step) {
        K keys[AHEAD], held[AHEAD];
        u32 v[AHEAD];
        W w[AHEAD];
        bool asks[AHEAD];
        // Three loops, so that all questions are out before the first answer is needed.
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            bool there = e + k * step < end;
            v[k] = there ? (u32)part.indices[e + k * step] : 0;
            w[k] = there ? part.bits[e + k * step] : (W)0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            keys[k] = K::of(order, w[k], priority(order, v[k]));
            asks[k] = e + k * step < end && keys[k] > top && !(own > keys[k]);
            held[k] = {};
            if (asks[k]) held[k] = words.held(v[k]);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            if (asks[k] && keys[k] > top && K::of(order, w[k], mine) > held[k]) top = keys[k];
        }
    }
    return top;
}

template <bool LOSSY>
__device__ __forceinline__ Key<LOSSY> greatest(Key<LOSSY> key, u32 lanes) {
    for (u32 step = lanes / 2; step > 0; step /= 2) {
        Key<LOSSY> other = key.shuffle_xor(step);
        if (other > key) key = other;
    }
    return key;
}

// u makes an offer to the neighbour of a key, or nobody is left. Returns how many offers that is.
template <bool LOSSY>
__device__ __forceinline__ u32 make_offer(const Order& order, u32 u, u32 mine, const Key<LOSSY>& key, u64* best,
                                          u32* choice) {
    if (key.is_none()) {
        choice[u] = EXHAUSTED;
        return 0;
    }
    u32 v = vertex(order, key.rank());
    if constexpr (LOSSY) {
        choice[u] = v | FRESH;
    } else {
        choice[u] = v;
        atomicMax(best + v, pack(high(key.word), mine));
    }
    return 1;
}

// Every vertex of the part whose last offer does not stand makes one to its best neighbour that would take it. Where
// prefixes are lossy it is only chosen, and `raise` and `claim` make it.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK) propose(Part<W> part, Order order, u32 lanes, u64* best, const u32* rank,
                                                 u32* choice, Control* control) {
    typedef Key<LOSSY> K;
    __shared__ u32 longs[BLOCK];
    __shared__ K of_warps[WARPS];
    Words<LOSSY> words = {best, rank};
    u32 lane = threadIdx.x % lanes, slot = threadIdx.x / lanes, slots = BLOCK / lanes, offers = 0;
    for (i64 at = (i64)blockIdx.x * slots; at < part.rows; at += (i64)gridDim.x * slots) {
        i64 begin, end;
        part.find_row(at + slot, begin, end);
        u32 u = (u32)(part.base + at + slot), mine = priority(order, u);
        // Words change meanwhile: the first lane of a row decides for all, since an offer is the best of all entries.
        bool looks = __shfl_sync(FULL, (int)(begin < end && !rests(words, choice[u], mine)), lane_id() - lane);
        bool is_long = looks && is_long_row(begin, end, lanes);
        K top = {};
        if (looks && !is_long) top = look(part, order, words, u, mine, begin, end, (i64)lane, (i64)lanes);
        __syncwarp();
        top = greatest(top, lanes);
        if (lane == 0) {
            longs[slot] = is_long;
            if (looks && !is_long) offers += make_offer(order, u, mine, top, best, choice);
        }
        if (!__syncthreads_or(is_long)) continue;
        for (u32 s = 0; s < slots; ++s) {
            if (!longs[s]) continue;
            u32 its = (u32)(part.base + at + s), its_rank = priority(order, its);
            part.find_row(at + s, begin, end);
            top = greatest(look(part, order, words, its, its_rank, begin, end, threadIdx.x, BLOCK), WARP);
            if (lane_id() == 0) of_warps[threadIdx.x / WARP] = top;
            __syncthreads();
            if (threadIdx.x == 0) {
                for (int warp = 1; warp < WARPS; ++warp) {
                    if (of_warps[warp] > top) top = of_warps[warp];
                }
                offers += make_offer(order, its, its_rank, top, best, choice);
            }
            __syncthreads();
        }
        __syncthreads();  // longs is of these rows
    }
    add_up(&control->offers, offers);
}

// The weight of the edge to v in a row of the part, whose neighbours ascend.
template <class W>
__device__ __forceinline__ W weight_to(const Part<W>& part, i64 row, u32 v) {
    i64 begin, end;
    part.find_row(row, begin, end);
    return part.bits[find(part.indices, begin, end, (i32)v)];
}

// Where prefixes are lossy: the exact weights of the offers of this round, each the greatest at its vertex or not. Who
// has a greater one than before has no suitor yet.
template <class W>
__global__ void raise(Part<W> part, const u32* choice, u64* best, u32* rank) {
    for (i64 row = thread_id(); row < part.rows; row += thread_count()) {
        u32 v = choice[part.base + row];
        if (v == UNTRIED || v == EXHAUSTED || !(v & FRESH)) continue;
        v &= ~FRESH;
        u64 weight = weight_to(part, row, v);
        if (atomicMax(best + v, weight) < weight) rank[v] = 0;
    }
}

// Then their priorities.
template <class W>
__global__ void claim(Part<W> part, Order order, const u64* best, u32* choice, u32* rank) {
    for (i64 row = thread_id(); row < part.rows; row += thread_count()) {
        u32 u = (u32)(part.base + row), v = choice[u];
        if (v == UNTRIED || v == EXHAUSTED || !(v & FRESH)) continue;
        v &= ~FRESH;
        choice[u] = v;
        if (best[v] == (u64)weight_to(part, row, v)) atomicMax(rank + v, priority(order, u));
    }
}

// ---- sifting ----

// A thread's next entries of a row: e, e + step, ...
template <class W>
struct Some {
    u32 v[AHEAD];
    W w[AHEAD];
    bool keeps[AHEAD];

    // Read them, and find out which may still matter: neither end holds a better offer than the other's, and they are
    // not each other's suitors, who are mates already.
    template <bool LOSSY>
    __device__ __forceinline__ void judge(const Part<W>& part, const Order& order, const Words<LOSSY>& words,
                                          const Key<LOSSY>& own, u32 mine, i64 e, i64 end, i64 step) {
        typedef Key<LOSSY> K;
        K keys[AHEAD], held[AHEAD];
        // Three loops, so that all questions are out before the first answer is needed.
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            keeps[k] = e + k * step < end;
            v[k] = keeps[k] ? (u32)part.indices[e + k * step] : 0;
            w[k] = keeps[k] ? part.bits[e + k * step] : (W)0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            keys[k] = K::of(order, w[k], priority(order, v[k]));
            keeps[k] = keeps[k] && !(own > keys[k]);
            held[k] = {};
            if (keeps[k]) held[k] = words.held(v[k]);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            K offer = K::of(order, w[k], mine);
            keeps[k] = keeps[k] && !(held[k] > offer) && !(own == keys[k] && held[k] == offer);
        }
    }
};

// How many of the entries begin + at, begin + at + step, ... may matter.
template <class W, bool LOSSY>
__device__ __forceinline__ u32 count_kept(const Part<W>& part, const Order& order, const Words<LOSSY>& words, u32 u,
                                          i64 begin, i64 end, i64 at, i64 step) {
    Key<LOSSY> own = words.held(u);
    u32 mine = priority(order, u), kept = 0;
    for (i64 e = begin + at; e < end; e += AHEAD * step) {
        Some<W> some;
        some.judge(part, order, words, own, mine, e, end, step);
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) kept += some.keeps[k];
    }
    return kept;
}

// A warp's groups of `lanes` write the entries begin..end - 1 that may matter, each those of its row, to `to` on.
// All lanes of the warp call it.
template <class W, bool LOSSY>
__device__ __forceinline__ void write_kept(const Part<W>& part, const Order& order, const Words<LOSSY>& words, u32 u,
                                           i64 begin, i64 end, u32 lanes, u64 to, i32* to_indices, W* to_bits) {
    u32 lane = lane_id() % lanes, shift = lane_id() - lane, all = lanes == WARP ? FULL : (1u << lanes) - 1;
    u32 turns = warp_max((u32)((end - begin + AHEAD * lanes - 1) / (AHEAD * lanes))), mine = priority(order, u);
    Key<LOSSY> own = {};
    if (begin < end) own = words.held(u);
    for (i64 e = begin + lane; turns > 0; --turns, e += AHEAD * lanes) {
        Some<W> some;
        some.judge(part, order, words, own, mine, e, end, (i64)lanes);
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            u32 mask = __ballot_sync(FULL, some.keeps[k]) >> shift & all;
            if (some.keeps[k]) {
                u64 place = to + __popc(mask & ((1u << lane) - 1));
                to_indices[place] = (i32)some.v[k];
                to_bits[place] = some.w[k];
            }
            to += __popc(mask);
        }
    }
}

// The entries of the part that may matter are appended to others: `kept` was `base` before the first of all, there is
// room for `room`, and rows are told places that are `shift` further, to where the host will move them. The rows of a
// tile stay together. The words do not change meanwhile, so both directions of an edge are judged alike.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK) sift(Part<W> part, Order order, u32 lanes, const u64* best, const u32* rank,
                                              i64 base, i64 shift, i64 room, i32* to_indices, W* to_bits, u32* first,
                                              u32* ends, Control* control) {
    constexpr u64 NOWHERE = ~0ull;
    __shared__ u32 counts[BLOCK], longs[BLOCK], pieces[BLOCK][WARPS];
    __shared__ u32 begins[BLOCK], stops[BLOCK];  // of the rows; `first` may be that of the part itself
    __shared__ u64 starts[BLOCK / TILE];  // of the tiles
    Words<LOSSY> words = {best, rank};
    u32 lane = threadIdx.x % lanes, slot = threadIdx.x / lanes, slots = BLOCK / lanes, warp = threadIdx.x / WARP;
    for (i64 at = (i64)blockIdx.x * slots; at < part.rows; at += (i64)gridDim.x * slots) {
        i64 begin, end;
        part.find_row(at + slot, begin, end);
        bool is_long = is_long_row(begin, end, lanes);
        u32 kept = 0, u = (u32)(part.base + at + slot);
        if (begin < end && !is_long) kept = count_kept(part, order, words, u, begin, end, (i64)lane, (i64)lanes);
        __syncwarp();
        for (u32 step = lanes / 2; step > 0; step /= 2) kept += __shfl_xor_sync(FULL, kept, step);
        if (lane == 0) {
            counts[slot] = kept;
            longs[slot] = is_long;
            begins[slot] = (u32)begin;
            stops[slot] = (u32)end;
        }
        bool some = __syncthreads_or(is_long);
        for (u32 s = 0; some && s < slots; ++s) {  // each warp has a piece of a long row
            if (!longs[s]) continue;
            i64 piece = (stops[s] - begins[s] + WARPS - 1) / WARPS, from = begins[s] + warp * piece;
            i64 upto = min((i64)stops[s], from + piece);
            kept = count_kept(part, order, words, (u32)(part.base + at + s), from, upto, (i64)lane_id(), WARP);
            kept = (u32)warp_sum((u64)kept);
            if (lane_id() == 0) {
                pieces[s][warp] = kept;
                atomicAdd(counts + s, kept);
            }
        }
        __syncthreads();

        // Room for the tiles, one a warp; counts[s] becomes the place of row s in its tile.
        if (threadIdx.x < slots) {
            u32 count = counts[threadIdx.x], upto = sum_up_to_lane(count), total = __shfl_sync(FULL, upto, WARP - 1);
            u64 place = 0;
            if (lane_id() == 0 && total) place = atomicAdd(&control->kept, (u64)total) - (u64)base;
            place = __shfl_sync(FULL, place, 0);
            counts[threadIdx.x] = upto - count;
            i64 row = at + threadIdx.x, v = part.base + row;
            if (lane_id() == 0) {
                starts[warp] = place + total <= (u64)room ? place : NOWHERE;
                if (row < part.rows) ends[v / TILE] = (u32)(shift + place + total);
            }
            if (row < part.rows) first[v] = (u32)(shift + place + upto - count);
        }
        __syncthreads();
        u64 start = starts[slot / TILE];
        if (start != NOWHERE) {
            if (is_long) end = begin;
            write_kept(part, order, words, u, begin, end, lanes, start + counts[slot], to_indices, to_bits);
        }
        for (u32 s = 0; some && s < slots; ++s) {
            u64 place = starts[s / TILE];
            if (!longs[s] || place == NOWHERE) continue;
            i64 piece = (stops[s] - begins[s] + WARPS - 1) / WARPS, from = begins[s] + warp * piece;
            i64 upto = min((i64)stops[s], from + piece);
            place += counts[s];
            for (u32 before = 0; before < warp; ++before) place += pieces[s][before];
            write_kept(part, order, words, (u32)(part.base + at + s), from, max(from, upto), WARP, place, to_indices,
                       to_bits);
        }
        __syncthreads();  // what is shared is of these rows
    }
}

// ---- the end ----

// mate[v] = the suitor of v, -1 for none: suitors are mutual now.
template <bool LOSSY>
__global__ void mates(const u64* __restrict__ best, const u32* __restrict__ rank, i64 n, Order order, i32* mate) {
    Words<LOSSY> words = {best, rank};
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        Key<LOSSY> held = words.held((u32)v);
        mate[v] = held.is_none() ? -1 : (i32)vertex(order, held.rank());
    }
}

// The words of the CPU's engine in place of the exact weights: prefix << 32 | priority.
__global__ void pack_words(const u32* __restrict__ rank, i64 n, Order order, u64* best) {
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        if (best[v]) best[v] = pack(prefix(order, best[v]), rank[v]);
    }
}
