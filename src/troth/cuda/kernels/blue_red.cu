// Blue-red: vertices are coloured at random, blue ones propose, red ones respond.
//
// Reference: B. O. Fagginger Auer and R. H. Bisseling, A GPU algorithm for greedy graph matching, Facing the Multicore
// Challenge II, LNCS 7174 (2012), and their talk of 2011. Colours and lots are those of reference.py.
//
// A round is colour, propose, respond over a list of n places: the blue vertices from its front, the red ones from its
// back. All of them are free. The talk's fourth step, match, is the end of respond: a red vertex writes the mates of
// itself and of a blue one, who asked nobody else.
//
// Invariant: proposal[v] == GONE and colour[v] == NEITHER for every matched v once a round is coloured. So whoever
// looks at a row also sees if any neighbour is free; one who has none is dead and leaves the list. It does not matter
// when the dead are marked: their neighbours are all matched and look at nobody. A round in which all of the list turn
// out to be dead is one that reference.py does not run.
//
// Each kernel reads arrays that it does not write: propose reads colour and writes proposal, respond reads proposal and
// writes mate and colour, and colour_list touches only words of its own vertices.

constexpr int BLOCK = HOST_BLOCK;      // threads of a block, always
constexpr int OUTCOME = HOST_OUTCOME;  // numbers of `outcome` before the pairs of each round
constexpr int AHEAD = 4;               // entries of a row that a lane reads at a time
constexpr u8 NEITHER = 0, BLUE = 1, RED = 2;
constexpr i32 NOBODY = -1, GONE = -2;

// Of one round: blue and red vertices in the list, those with a free neighbour, pairs, entries read.
struct Counts {
    u64 blue, red, alive, pairs, entries;
};
static_assert(sizeof(Counts) == HOST_COUNTS * sizeof(u64), "the host has other counts");

// What was seen in a row: the greatest key of those to choose from, and whether any neighbour is free. The key is
// (bits of the weight, priority) or (lot, ~id). {0, 0} is nobody's: weights are positive, and ids below 2^31.
template <class K>
struct Sight {
    K most;
    u32 rank;
    bool free;
};

// Take over a key if it is greater; without branches, since which one is greater is anyone's guess.
template <class K>
__device__ __forceinline__ void raise(Sight<K>& seen, K most, u32 rank) {
    bool greater = (seen.most < most) | ((seen.most == most) & (seen.rank < rank));
    seen.most = greater ? most : seen.most;
    seen.rank = greater ? rank : seen.rank;
}

// Keys of weights are as wide as the weights, lots have 64 bits.
template <class W, bool WEIGHTED> struct Width { typedef W type; };
template <class W> struct Width<W, false> { typedef u64 type; };
template <class W, bool WEIGHTED> using KeyOf = typename Width<W, WEIGHTED>::type;

// What a group of LANES lanes has seen, known to all of them. All lanes of the warp call it.
template <int LANES, class K>
__device__ __forceinline__ Sight<K> together(Sight<K> seen) {
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        K most = (K)__shfl_xor_sync(FULL, seen.most, apart);
        raise(seen, most, __shfl_xor_sync(FULL, seen.rank, apart));
    }
    u32 group = FULL >> (WARP - LANES) << lane_id() / LANES * LANES;
    seen.free = __ballot_sync(FULL, seen.free) & group;
    return seen;
}

// The arrays of the graph, and what decides besides it.
template <class W>
struct Rule {
    const i64* indptr;
    const i32* indices;
    const W* bits;
    const Order& order;
    u64 seed, r;
};

// The entries start, start + step, ... of v's row: v may choose those u with state[u] == wanted, by the largest
// (w(v, u), priority(u)) or the largest hash(seed, r, v, u), of equal ones the smallest u. AHEAD states are read at a
// time, since who waits for one word may as well wait for more. Past the end it is the last entry, once more: a maximum
// does not mind.
template <bool WEIGHTED, class W, class T, class K = KeyOf<W, WEIGHTED>>
__device__ __forceinline__ Sight<K> look(const Rule<W>& rule, i32 v, i64 start, i64 stop, int step, const T* state,
                                         T wanted, T gone) {
    Sight<K> seen = {};
    u64 stream = WEIGHTED ? 0 : hash2(rule.seed, PROPOSE, rule.r, (u64)v);
    for (i64 e = start; e < stop; e += AHEAD * step) {
        i32 neighbours[AHEAD];
        T states[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) neighbours[k] = rule.indices[min(e + k * step, stop - 1)];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) states[k] = state[neighbours[k]];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            seen.free |= states[k] != gone;
            if (states[k] != wanted) continue;
            u32 u = neighbours[k];
            if (WEIGHTED) raise(seen, (K)rule.bits[min(e + k * step, stop - 1)], priority(rule.order, u));
            else raise(seen, (K)mix64(stream ^ u), ~u);
        }
    }
    return seen;
}

// Every vertex v of list[0], list[direction], ... looks at its row for u with state[u] == wanted(v), and one thread
// calls decide(v, u, whether any neighbour is free); u is NOBODY where there is none. LANES lanes look at a short row,
// and the whole block at each of its long ones.
template <int LANES, bool WEIGHTED, class W, class T, class Wanted, class Decide>
__device__ __forceinline__ void choose(const Rule<W>& rule, const i32* list, int direction, i64 count, const T* state,
                                       T gone, Counts* counts, Wanted wanted, Decide decide) {
    constexpr int GROUPS = BLOCK / LANES;
    constexpr i64 LONG = 32 * LANES;  // entries
    typedef KeyOf<W, WEIGHTED> K;
    __shared__ i32 long_rows[GROUPS];
    __shared__ Sight<K> parts[BLOCK / WARP];

    u64 alive = 0, entries = 0;
    auto settle = [&](i32 v, const Sight<K>& seen) {
        i32 u = WEIGHTED ? (i32)vertex(rule.order, seen.rank) : (i32)~seen.rank;
        decide(v, seen.most || seen.rank ? u : NOBODY, seen.free);
        alive += seen.free;
        entries += rule.indptr[v + 1] - rule.indptr[v];
    };
    int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    for (i64 first = (i64)blockIdx.x * GROUPS; first < count; first += (i64)gridDim.x * GROUPS) {
        i32 v = first + group < count ? list[(first + group) * direction] : -1;
        i64 start = v < 0 ? 0 : rule.indptr[v], stop = v < 0 ? 0 : rule.indptr[v + 1];
        bool is_long = stop - start > LONG;
        if (lane == 0) long_rows[group] = is_long ? v : -1;
        if (is_long) stop = start;
        Sight<K> seen = look<WEIGHTED>(rule, v, start + lane, stop, LANES, state, wanted(v), gone);
        seen = together<LANES>(seen);
        if (v >= 0 && lane == 0 && !is_long) settle(v, seen);

        if (!__syncthreads_or(is_long)) continue;
        for (int k = 0; k < GROUPS; k++) {
            v = long_rows[k];
            if (v < 0) continue;
            start = rule.indptr[v];
            stop = rule.indptr[v + 1];
            seen = look<WEIGHTED>(rule, v, start + threadIdx.x, stop, BLOCK, state, wanted(v), gone);
            seen = together<WARP>(seen);
            if (lane_id() == 0) parts[threadIdx.x / WARP] = seen;
            __syncthreads();
            if (threadIdx.x == 0) {
                for (int part = 1; part < BLOCK / WARP; part++) {
                    raise(seen, parts[part].most, parts[part].rank);
                    seen.free |= parts[part].free;
                }
                settle(v, seen);
            }
            __syncthreads();
        }
        __syncthreads();
    }
    add_up(&counts->alive, alive);
    add_up(&counts->entries, entries);
}

// ---- the three steps ----

// Who of the old list is free and not dead gets the colour of round r and a place in the list; the others are gone.
// `fresh`: there is no old list, and all n vertices are considered; `mate` is -1 for all of them in the first round.
__device__ __forceinline__ void colour_step(bool fresh, const i32* old_list, const Counts* old_counts, i32 n,
                                            const i32* mate, u64 seed, u64 r, u64 blue_below, u8* colour,
                                            i32* proposal, i32* list, Counts* counts) {
    __shared__ u32 places[2][BLOCK / WARP];  // first the sizes, then the offsets of the warps' parts, by colour
    __shared__ u64 ahead[2];                 // what other blocks have put into the list
    i64 old_blue = fresh ? n : peek(&old_counts->blue);
    i64 count = fresh ? n : old_blue + peek(&old_counts->red);
    u32 warp = threadIdx.x / WARP;
    for (i64 first = (i64)blockIdx.x * BLOCK; first < count; first += thread_count()) {
        i64 i = first + threadIdx.x;
        i32 v = 0;
        u8 new_colour = NEITHER;
        if (i < count) {
            v = fresh ? (i32)i : i < old_blue ? old_list[i] : old_list[n - 1 - (i - old_blue)];
            bool stays = mate[v] < 0 && (fresh || (colour[v] != NEITHER && proposal[v] != GONE));
            if (stays) new_colour = hash2(seed, COLOUR, r, (u64)v) < blue_below ? BLUE : RED;
            colour[v] = new_colour;
            proposal[v] = stays ? NOBODY : GONE;
        }
        u32 blue = __ballot_sync(FULL, new_colour == BLUE), red = __ballot_sync(FULL, new_colour == RED);
        if (lane_id() == 0) {
            places[0][warp] = __popc(blue);
            places[1][warp] = __popc(red);
        }
        __syncthreads();
        if (threadIdx.x < 2) {
            u32 sum = 0;
            for (int part = 0; part < BLOCK / WARP; part++) {
                u32 size = places[threadIdx.x][part];
                places[threadIdx.x][part] = sum;
                sum += size;
            }
            ahead[threadIdx.x] = atomicAdd(threadIdx.x ? &counts->red : &counts->blue, (u64)sum);
        }
        __syncthreads();
        if (new_colour == BLUE) list[ahead[0] + places[0][warp] + place_in(blue)] = v;
        if (new_colour == RED) list[n - 1 - (i64)(ahead[1] + places[1][warp] + place_in(red))] = v;
        __syncthreads();
    }
}

// proposal[v] = the red neighbour that blue v chooses, or NOBODY; GONE where v has no free neighbour.
template <class W, int LANES, bool WEIGHTED>
__device__ __forceinline__ void propose_step(const Rule<W>& rule, const i32* list, Counts* counts, const u8* colour,
                                             i32* proposal) {
    choose<LANES, WEIGHTED>(
        rule, list, 1, peek(&counts->blue), colour, NEITHER, counts, [](i32) { return RED; },
        [&](i32 v, i32 u, bool free) { proposal[v] = free ? u : GONE; });
}

// Red v takes one of the blue u with proposal[u] == v, and they are mates. colour[v] = NEITHER where v has no free
// neighbour.
template <class W, int LANES, bool WEIGHTED>
__device__ __forceinline__ void respond_step(const Rule<W>& rule, const i32* list, i32 n, Counts* counts,
                                             const i32* proposal, i32* mate, u8* colour) {
    u64 pairs = 0;
    choose<LANES, WEIGHTED>(
        rule, list + n - 1, -1, peek(&counts->red), proposal, GONE, counts, [](i32 v) { return v; },
        [&](i32 v, i32 u, bool free) {
            if (!free) colour[v] = NEITHER;
            if (u == NOBODY) return;
            mate[v] = u;
            mate[u] = v;
            pairs++;
        });
    add_up(&counts->pairs, pairs);
}

// ---- kernels ----
//
// Arguments come in this order: the rows (indptr, indices, bits) and the order; seed and round; what is read; what is
// changed. `counts` is read and changed: propose reads how many are blue, respond how many are red.

// In: whether there is no old list; the old list and its counts; n, mate, seed, round r; below which hash a vertex is
// blue. Out: colour and proposal of the listed vertices, the new list, its counts (0 before).
__global__ void colour_list(i32 fresh, const i32* __restrict__ old_list, const Counts* old_counts, i32 n,
                            const i32* __restrict__ mate, u64 seed, u64 r, u64 blue_below, u8* __restrict__ colour,
                            i32* __restrict__ proposal, i32* __restrict__ list, Counts* counts) {
    colour_step(fresh, old_list, old_counts, n, mate, seed, r, blue_below, colour, proposal, list, counts);
}

// In: the rows, the order, seed, round r, the list, colour. Out: proposal; counts->alive and ->entries grow.
template <class W, int LANES, bool WEIGHTED>
__global__ void propose(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits,
                        Order order, u64 seed, u64 r, const i32* __restrict__ list, Counts* counts,
                        const u8* __restrict__ colour, i32* __restrict__ proposal) {
    Rule<W> rule = {indptr, indices, bits, order, seed, r};
    propose_step<W, LANES, WEIGHTED>(rule, list, counts, colour, proposal);
}

// In: the rows, the order, seed, round r, the list of n places, proposal. Out: mate and colour; counts grow.
template <class W, int LANES, bool WEIGHTED>
__global__ void respond(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits,
                        Order order, u64 seed, u64 r, const i32* __restrict__ list, i32 n, Counts* counts,
                        const i32* __restrict__ proposal, i32* __restrict__ mate, u8* __restrict__ colour) {
    Rule<W> rule = {indptr, indices, bits, order, seed, r};
    respond_step<W, LANES, WEIGHTED>(rule, list, n, counts, proposal, mate, colour);
}

// Rounds first, first + 1, ... by one block, `limit` of them at most, where there is too little to do for more. The
// lists and the two counts change places after each. outcome = rounds run, 1 if nobody is left, entries read, and the
// pairs of each round.
// In: the rows, the order, seed, the first round, below which hash a vertex is blue, limit, whether there is no old
// list, its counts, n. In and out: mate, colour, proposal, the old list. Out: the list, two counts, outcome.
template <class W, int LANES, bool WEIGHTED>
__global__ void finish(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits,
                       Order order, u64 seed, u64 first, u64 blue_below, i64 limit, i32 fresh, const Counts* counts,
                       i32 n, i32* mate, u8* colour, i32* proposal, i32* old_list, i32* list, Counts* pair,
                       i64* outcome) {
    i64 done = 0, entries = 0;
    bool over = false;
    while (done < limit && !over) {
        Counts* now = pair + done % 2;
        if (threadIdx.x == 0) *now = {};
        __syncthreads();
        u64 r = first + done;
        Rule<W> rule = {indptr, indices, bits, order, seed, r};
        colour_step(fresh && !done, old_list, counts, n, mate, seed, r, blue_below, colour, proposal, list, now);
        __syncthreads();
        propose_step<W, LANES, WEIGHTED>(rule, list, now, colour, proposal);
        __syncthreads();
        respond_step<W, LANES, WEIGHTED>(rule, list, n, now, proposal, mate, colour);
        __syncthreads();
        u64 alive = peek(&now->alive), pairs = peek(&now->pairs);
        entries += peek(&now->entries);
        over = alive == 2 * pairs;  // all dead, or all matched
        if (alive) {
            if (threadIdx.x == 0) outcome[OUTCOME + done] = pairs;
            done++;
        }
        counts = now;
        i32* spare = old_list;
        old_list = list;
        list = spare;
    }
    if (threadIdx.x == 0) {
        outcome[0] = done;
        outcome[1] = over;
        outcome[2] = entries;
        static_assert(OUTCOME == 3, "rounds, over, entries");
    }
}
