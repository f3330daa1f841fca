// Suitor in the part of a graph that an MPI rank has on its card: ranks/part_suitor.py has the rounds and the invariant.
//
// state[v], of every local vertex, own ones and ghosts: the best offer that v holds as far as this rank knows,
// prefix << 32 | priority of the suitor, 0 for none. Words only grow. Kernels find offers, then which words a
// neighbour rank has not seen, then take those that came.

constexpr int BLOCK = HOST_BLOCK;
constexpr int WARPS = BLOCK / WARP;      // of a block
constexpr int WIDE = HOST_WIDE;          // entries for each lane of a team: longer rows are read by the whole warp
constexpr int AHEAD = 4;                 // entries of a lane that are on their way at a time
constexpr i64 TILE = HOST_TILE;          // items that a block looks through
constexpr int SCAN = HOST_SCAN;          // threads of the one block that numbers the tiles
constexpr u64 LOST = ~0ull;              // the neighbour holds a better offer
constexpr u32 NOBODY = ~0u;

// Local numbers: own vertices first, then ghosts. Rows are those of own vertices, by the global numbers of the others.
template <class W>
struct Part {
    const i64* indptr;
    const i32* indices;
    const W* bits;
    const i32* names;  // the global number of each local vertex
    const u32* ranks;  // and its priority
    i64 owned, first;  // the first own vertex where the own ones are consecutive, else -1
};
SAME_SIZE(Part<u8>, PART);

// Items: a vertex and a neighbour rank that has it too, either one as a ghost. They are by neighbour; those of neighbour
// s are starts[s]..starts[s + 1] - 1, from ghosts[s] on the vertices that it owns, in the order that both ranks know.
struct Items {
    const i32* vertices;
    const i64 *starts, *ghosts, *tiles;  // tiles[s]: the first of the tiles that its items are cut into
    i64 neighbours;
};
SAME_SIZE(Items, ITEMS);

// What a matching counts; `lookers` is how long the list of those is.
struct Control {
    u64 lookers, proposals, scans;
};
SAME_SIZE(Control, CONTROL);

__global__ void find_ranks(const i32* __restrict__ names, i64 local, Order order, u32* ranks) {
    i64 v = thread_id();
    if (v < local) ranks[v] = priority_at(order, (u32)names[v], (u32)v);
}

// ---- who is who ----

// The local number of the own vertex of this name, or -1 where it is another rank's.
template <class W>
__device__ inline i64 own_place(const Part<W>& part, u32 name) {
    if (part.first >= 0) {
        i64 place = (i64)name - part.first;
        return place >= 0 && place < part.owned ? place : -1;
    }
    i64 place = find(part.names, 0, part.owned, (i32)name);
    return place < part.owned ? place : -1;
}

// The entry of own vertex v's row that leads to the vertex of this name, which is in the row.
template <class W>
__device__ inline i64 entry_of(const Part<W>& part, i64 v, u32 name) {
    i64 start = part.indptr[v], stop = part.indptr[v + 1];
    while (start < stop) {
        i64 middle = (start + stop) >> 1;
        if ((u32)part.names[part.indices[middle]] < name) start = middle + 1;
        else stop = middle;
    }
    return start;
}

// The exact weight of an offer that v holds: in v's row, in the suitor's, or as the owner of ghost v told it.
template <class W>
__device__ inline W told_weight(const Part<W>& part, const Order& order, i64 v, u64 offer, const W* exact) {
    u32 suitor = vertex(order, low(offer));
    if (v < part.owned) return part.bits[entry_of(part, v, suitor)];
    i64 place = own_place(part, suitor);
    return place < 0 ? exact[v - part.owned] : part.bits[entry_of(part, place, (u32)part.names[v])];
}

// Whether v prefers an offer of this exact weight to the one that it holds.
template <class W, bool LOSSY>
__device__ __forceinline__ bool prefers(const Part<W>& part, const Order& order, i64 v, W weight, u64 offer, u64 held,
                                        const W* exact) {
    if (!LOSSY || high(offer) != high(held)) return offer > held;
    W theirs = told_weight(part, order, v, held, exact);
    return weight > theirs || (weight == theirs && offer > held);
}

// v gets an offer. Returns the offer that was displaced (0: v held none), or LOST.
template <class W, bool LOSSY>
__device__ __forceinline__ u64 make_offer(const Part<W>& part, const Order& order, i64 v, W weight, u64 offer,
                                          u64* state, const W* exact) {
    if (!LOSSY) {
        u64 old = atomicMax(state + v, offer);
        return old >= offer ? LOST : old;
    }
    u64 held = peek(state + v);
    while (prefers<W, LOSSY>(part, order, v, weight, offer, held, exact)) {
        u64 seen = atomicCAS(state + v, held, offer);
        if (seen == held) return held;
        held = seen;
    }
    return LOST;
}

// The own vertex that has to look again when an offer was displaced, or NOBODY.
template <class W>
__device__ __forceinline__ u32 loser(const Part<W>& part, const Order& order, u64 displaced) {
    if (!displaced || displaced == LOST) return NOBODY;
    i64 place = own_place(part, vertex(order, low(displaced)));
    return place < 0 ? NOBODY : (u32)place;
}

// ---- offers ----

// A neighbour; a weight of 0 means none.
template <class W>
struct Choice {
    W weight;
    u32 v;
};

// A look at a row: of whom, from where, how many entries. A vertex that has looked before asks what its neighbours hold,
// and passes over what is less than the offer that it holds itself: its mate will be no worse.
struct Look {
    i64 first;
    i32 count;
    u32 rank;
    u32 least;  // prefix of a weight
    u32 asks;

    __device__ __forceinline__ Look shuffle(int from) const {
        return {__shfl_sync(FULL, first, from), __shfl_sync(FULL, count, from), __shfl_sync(FULL, rank, from),
                __shfl_sync(FULL, least, from), __shfl_sync(FULL, asks, from)};
    }
};

// G lanes read a row together, and all of them get the heaviest neighbour that takes the offer. Priorities are read
// where weights tie, and only there: they are far apart in memory. All lanes of the warp call it.
template <class W, bool LOSSY, int G>
__device__ __forceinline__ Choice<W> heaviest(const Part<W>& part, const Order& order, const Look& look,
                                              const u64* state, const W* exact) {
    Choice<W> best = {0, 0};
    for (i32 at = lane_id() % G; at < look.count; at += G * AHEAD) {
        W weights[AHEAD];
        u32 others[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            bool there = at + k * G < look.count;
            weights[k] = there ? part.bits[look.first + at + k * G] : (W)0;
            others[k] = there ? (u32)part.indices[look.first + at + k * G] : 0;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; ++k) {
            W weight = weights[k];
            u32 v = others[k];
            if (!weight || weight < best.weight) continue;
            if (weight == best.weight && part.ranks[v] < part.ranks[best.v]) continue;
            if (look.asks) {
                u32 image = prefix(order, weight);
                if (image < look.least) continue;
                u64 held = peek(state + v);
                if (!prefers<W, LOSSY>(part, order, v, weight, pack(image, look.rank), held, exact)) continue;
            }
            best = {weight, v};
        }
    }
    __syncwarp();
    // The greatest weight, and of the lanes that have it, where there are several, the one of greatest priority.
    W most = best.weight;
#pragma unroll
    for (int step = G / 2; step > 0; step /= 2) {
        W other = __shfl_xor_sync(FULL, most, step);
        if (other > most) most = other;
    }
    u32 ours = lane_id() / G * G, team = (G == WARP ? FULL : ((1u << (G % WARP)) - 1)) << ours;
    u32 tied = __ballot_sync(FULL, most && best.weight == most) & team;
    u32 rank = tied >> lane_id() & 1 && tied & (tied - 1) ? part.ranks[best.v] : 0;
    u32 greatest = rank;
#pragma unroll
    for (int step = G / 2; step > 0; step /= 2) greatest = max(greatest, __shfl_xor_sync(FULL, greatest, step));
    u32 first = __ballot_sync(FULL, tied >> lane_id() & 1 && rank == greatest) & team;
    return {most, __shfl_sync(FULL, best.v, first ? __ffs(first) - 1 : (int)lane_id())};
}

// The vertices of a list look for a neighbour, LANES lanes for each, and so do those that they displace. With `fresh`
// they have made no offer yet: the first is made to the heaviest neighbour whatever that holds, and mostly stands. The
// list has `total` vertices, or, if that is -1, control->lookers; a team takes up to `turns` of them, one by one.
template <class W, bool LOSSY, int LANES>
__global__ void propose(Part<W> part, Order order, const i32* __restrict__ visits, i64 total, i64 turns, u32 fresh,
                        u64* state, const W* exact, Control* control) {
    constexpr int TEAMS = WARP / LANES;
    if (total < 0) total = (i64)control->lookers;
    i64 next = thread_id() / WARP * TEAMS * turns, stop = min(next + TEAMS * turns, total);
    u32 lane = lane_id(), leader = lane / LANES * LANES, u = NOBODY, asks = 1, made = 0, scans = 0;
    bool leads = lane == leader;
    for (;;) {
        u32 idle = __ballot_sync(FULL, leads && u == NOBODY);
        if (u == NOBODY) {
            i64 at = next + __popc(idle & ((1u << leader) - 1));
            u = at < stop ? (u32)visits[at] : NOBODY;
            asks = !fresh;
        }
        next = min(stop, next + __popc(idle));
        if (!__any_sync(FULL, u != NOBODY)) break;

        Look look = {0, 0, 0, 0, asks};
        if (u != NOBODY) {
            look.first = part.indptr[u];
            look.count = (i32)(part.indptr[u + 1] - look.first);
            look.rank = part.ranks[u];
            if (asks) look.least = high(peek(state + u));
        }
        bool long_row = look.count > WIDE * LANES;
        Look short_look = look;
        if (long_row) short_look.count = 0;
        Choice<W> found = heaviest<W, LOSSY, LANES>(part, order, short_look, state, exact);
        for (u32 left = __ballot_sync(FULL, leads && long_row); left; left &= left - 1) {
            int from = __ffs(left) - 1;
            Choice<W> its = heaviest<W, LOSSY, WARP>(part, order, look.shuffle(from), state, exact);
            if (leader == from) found = its;
        }

        u32 again = NOBODY;
        if (leads && u != NOBODY) {
            scans++;
            if (found.weight) {
                made++;
                u64 offer = pack(prefix(order, found.weight), look.rank);
                u64 old = make_offer<W, LOSSY>(part, order, found.v, found.weight, offer, state, exact);
                again = old == LOST ? u : loser(part, order, old);
            }
        }
        u = __shfl_sync(FULL, again, leader);
        asks = 1;
    }
    add_up_block(&control->proposals, made);
    add_up_block(&control->scans, scans);
}

// ---- words that a neighbour rank has not seen ----

// known[i]: the greatest word of item i that went across in either direction. All threads of the block call it, with the
// tile of the block; `from` and `to` are its items. Returns the neighbour.
__device__ __forceinline__ i64 tile_of(const Items& items, i64& from, i64& to) {
    i64 s = row_of(items.tiles, 0, items.neighbours - 1, blockIdx.x);
    from = items.starts[s] + ((i64)blockIdx.x - items.tiles[s]) * TILE;
    to = min(from + TILE, items.starts[s + 1]);
    return s;
}

// found[t] = how many items of tile t have a word to send. Also empties the list of those who look again.
__global__ void count_changed(Items items, const u64* __restrict__ state, const u64* __restrict__ known, u32* found,
                              Control* control) {
    __shared__ u32 partial[WARPS];
    i64 from, to;
    tile_of(items, from, to);
    u32 mine = 0, sum;
    for (i64 i = from + threadIdx.x; i < to; i += BLOCK) mine += state[items.vertices[i]] != known[i];
    sum_before<WARPS>(mine, partial, sum);
    if (threadIdx.x == 0) found[blockIdx.x] = sum;
    if (thread_id() == 0) control->lookers = 0;
}

// begins[t] = how many records are before those of tile t; counts[s] = how many go to neighbour s. One block.
__global__ void number_tiles(Items items, const u32* __restrict__ found, u64* begins, i64* counts) {
    __shared__ u64 partial[SCAN / WARP];
    i64 tiles = items.tiles[items.neighbours];
    u64 before = 0, sum;
    for (i64 base = 0; base < tiles; base += SCAN) {
        i64 t = base + threadIdx.x;
        u64 place = sum_before<SCAN / WARP>(t < tiles ? (u64)found[t] : 0ull, partial, sum);
        if (t < tiles) begins[t] = before + place;
        before += sum;
    }
    if (threadIdx.x == 0) begins[tiles] = before;
    __syncthreads();
    for (i64 s = threadIdx.x; s < items.neighbours; s += SCAN) {
        counts[s] = (i64)(peek(begins + items.tiles[s + 1]) - peek(begins + items.tiles[s]));
    }
}

// A record is the number of the item, complemented where the sender owns the vertex, the word, and, where prefixes are
// lossy, the exact weight of what an owner tells: all in 32-bit numbers.
template <class W, bool LOSSY>
__global__ void pack_changed(Part<W> part, Order order, Items items, const u64* __restrict__ state,
                             const W* __restrict__ exact, const u64* __restrict__ begins, u64* known, u32* values) {
    constexpr int WIDTH = LOSSY ? HOST_EXACT_RECORD : HOST_RECORD;
    __shared__ u32 partial[WARPS];
    i64 from, to;
    i64 s = tile_of(items, from, to);
    u64 at = begins[blockIdx.x];
    if (at == begins[blockIdx.x + 1]) return;
    for (i64 base = from; base < to; base += BLOCK) {
        i64 i = base + threadIdx.x;
        i64 v = i < to ? items.vertices[i] : 0;
        u64 word = i < to ? state[v] : 0;
        bool has = i < to && word != known[i];
        u32 sum, before = sum_before<WARPS>((u32)has, partial, sum);
        if (has) {
            u32* record = values + (at + before) * WIDTH;
            bool offers = i >= items.ghosts[s];
            record[0] = (u32)(offers ? (i32)(i - items.ghosts[s]) : ~(i32)(i - items.starts[s]));
            record[1] = high(word);
            record[2] = low(word);
            if (LOSSY) {
                u64 weight = offers ? 0ull : (u64)told_weight(part, order, v, word, exact);
                record[3] = high(weight);
                record[4] = low(weight);
            }
            known[i] = word;
        }
        at += sum;
    }
}

// Take the records that came, those of neighbour s from came[s] on: better words stand, and own vertices whose offers
// they displace are listed to look again. An item has one record at most. Two ranks may offer to one own vertex at
// once; a ghost is told of by its owner alone, so its word and its exact weight are written by one thread.
template <class W, bool LOSSY>
__global__ void take_records(Part<W> part, Order order, Items items, const i64* __restrict__ came,
                             const u32* __restrict__ values, u64* known, u64* state, W* exact, i32* lookers,
                             Control* control) {
    constexpr int WIDTH = LOSSY ? HOST_EXACT_RECORD : HOST_RECORD;
    i64 r = thread_id();
    u32 again = NOBODY;
    if (r < came[items.neighbours]) {
        i64 s = row_of(came, 0, items.neighbours - 1, r);
        const u32* record = values + r * WIDTH;
        i32 number = (i32)record[0];
        u64 word = pack(record[1], record[2]), old = LOST;
        i64 i = number >= 0 ? items.starts[s] + number : items.ghosts[s] + ~number;
        i64 v = items.vertices[i];
        if (number >= 0) {  // an offer to an own vertex
            W weight = LOSSY ? part.bits[entry_of(part, v, vertex(order, low(word)))] : (W)0;
            old = make_offer<W, LOSSY>(part, order, v, weight, word, state, exact);
        } else {  // what a ghost holds
            W weight = LOSSY ? (W)pack(record[3], record[4]) : (W)0;
            u64 held = state[v];
            if (prefers<W, LOSSY>(part, order, v, weight, word, held, exact)) {
                if (LOSSY) exact[v - part.owned] = weight;
                state[v] = word;
                old = held;
            }
        }
        if (old != LOST) known[i] = word;
        again = loser(part, order, old);
    }
    u64 place = place_in_list(again != NOBODY, &control->lookers);
    if (again != NOBODY) lookers[place] = (i32)again;
}
