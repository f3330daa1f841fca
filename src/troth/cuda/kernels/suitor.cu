// Suitor: first the paper's loop, as it is; then troth's own kernels, whose plan is in cuda/suitor.py. Why the result
// does not depend on who comes first is said in cpu/suitor.py.
//
// state[v]: the best offer that v holds, prefix << 32 | priority of the suitor, 0 for none. Words only grow. Where
// prefixes are lossy, equal ones are settled by the exact weights (common.cuh `wins`).

// ---- the paper's loop ----

// Md. Naim et al., Optimizing approximate weighted matching on Nvidia Kepler K40, HiPC 2015, Algorithm 3, after
// F. Manne and M. Halappanavar, IPDPS 2014: a thread a vertex, which goes on with whomever it displaces. Their lock is
// one compare-and-swap of a word here. In: the rows, their number n, the order; in and out: state, at first 0.
template <class W>
__global__ void plain_suitor(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const W* __restrict__ bits, i64 n, Order order, u64* state) {
    if (thread_id() >= n) return;
    u32 u = (u32)thread_id();
    for (;;) {
        // The partner is the suitor of u, or the best neighbour that u prefers to it and that would take u's offer.
        const u32 rank = priority(order, u);
        const u64 own = peek(state + u);
        u32 partner = own ? vertex(order, low(own)) : 0, best_rank = low(own);
        W heaviest = own ? weight_at(indptr, indices, bits, u, partner) : (W)0;
        for (i64 e = indptr[u]; e < indptr[u + 1]; ++e) {
            const u32 v = (u32)indices[e], v_rank = priority(order, v);
            const W weight = bits[e];
            if (weight < heaviest || (weight == heaviest && v_rank <= best_rank)) continue;
            const u64 offer = pack(prefix(order, weight), rank);
            if (!wins(indptr, indices, bits, order, v, offer, peek(state + v))) continue;
            partner = v;
            heaviest = weight;
            best_rank = v_rank;
        }
        if (!heaviest) return;  // nobody would take u's offer, ever: words only grow

        // Make the offer, unless a better one has come in between.
        const u64 offer = pack(prefix(order, heaviest), rank);
        u64 held = peek(state + partner);
        bool made = false;
        while (!made && wins(indptr, indices, bits, order, partner, offer, held)) {
            const u64 seen = atomicCAS(state + partner, held, offer);
            made = seen == held;
            held = seen;
        }
        if (!made) continue;           // u looks again
        if (!held) return;             // the partner was free
        u = vertex(order, low(held));  // whom u displaced looks for another
    }
}

// mate[v] = the suitor of v, -1 for none: suitors are mutual now.
__global__ void mates(const u64* __restrict__ state, i64 n, Order order, i32* mate) {
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        u64 held = state[v];
        mate[v] = held ? (i32)vertex(order, low(held)) : -1;
    }
}

// ---- what is added to it ----

// A vertex whose offer fails or is displaced waits as an Item, with the key of the neighbour that it lost: neighbours
// of that key or a greater one have refused it for good. Nor need it look below the offer that it holds itself, since
// its mate will be no worse. So when it looks again it asks only neighbours whose keys are in between, the best first.

constexpr int BLOCK = HOST_BLOCK;
constexpr int WARPS = BLOCK / WARP;   // of a block
constexpr int STAGE = 4 * WARP;       // items that a warp keeps in shared memory
constexpr u32 FULL_STAGE = 3 * WARP;  // from here on they move to a list: atomics on one word take 3 ns each
constexpr u32 STEPS = 4;              // that `chase` takes with less than a warp of vertices
constexpr i64 FEWER = 4, LAST_BOUND = 8;  // of `settle`: with fewer than a quarter it goes eight times as far
constexpr u32 MIDDLE_STEPS = 4;       // of `settle`, for a row that a team reads
constexpr int TEAM = 16;              // lanes
constexpr i32 SHORT = HOST_SHORT;     // entries: up to here a lane reads a row,
constexpr i64 LONG = HOST_LONG;       // and up to here a team does; longer rows are cut into pieces, for a warp each
constexpr i64 PIECE = HOST_PIECE;     // entries
constexpr int TURNS = HOST_TURNS;     // the lists of which there is one for each of so many kernels
constexpr u64 LOST = ~0ull;           // the neighbour holds a better offer
constexpr u32 NOBODY = ~0u;
constexpr u32 FRESH = 1u << 31;       // of Item.u: no neighbour has been tried yet, there is no ceiling
constexpr int COUNT_SHIFT = 36;       // a word counts long rows above this bit and their pieces below it
constexpr u64 COUNT_MASK = (1ull << COUNT_SHIFT) - 1;

// A vertex that has to look again, and the key of the neighbour that it lost (see Key::ceiling).
struct alignas(16) Item {
    u64 key;
    u32 u;
    u32 more;  // of a long row: its first piece
};
SAME_SIZE(Item, ITEM);

// How many items the lists have; of long rows, also how many pieces. Of `settle`, three rounds take turns: one is read,
// one is filled, one is cleared.
struct Control {
    u64 queue[TURNS], middles[TURNS], longs[TURNS];
    u64 waiting[3], waiting_longs[3];
    u64 entries;  // that were read, but for those of the first look at every row
    u64 rounds;
    u32 arrived;  // at the grid's barrier, ever
    u32 stopped;  // where a warp of `settle` has done enough, the round after that; in the end whether anybody waits
};
SAME_SIZE(Control, CONTROL);

// Where vertices with other than short rows wait, and room for the pieces of long ones: longs[i].more is the first
// piece of row i, owners[p] the row of piece p, best[p] its best key, and done[i] how many of a row's pieces are.
// There are TURNS of each, for as many kernels or rounds.
template <class K>
struct Wide {
    Item *middles, *longs;
    u32 *owners, *done;
    K* best;
    i64 most_middles, most_longs, most_pieces;

    __device__ __forceinline__ Wide of(int turn) const {
        i64 piece = turn * most_pieces, row = turn * most_longs;
        return {middles + turn * most_middles, longs + row, owners + piece, done + row, best + piece, 0, 0, 0};
    }
};
SAME_SIZE(Wide<u64>, WIDE);

// ---- keys: how a vertex compares its neighbours ----

// By weight, then priority. Where prefixes tell all weights apart, both fit one word.
template <class W, bool LOSSY>
struct Key {
    u64 word;

    __device__ __forceinline__ static Key of(const Order& order, W bits, u32 v) { return {key_of(order, bits, v)}; }
    __device__ __forceinline__ bool operator>(const Key& other) const { return word > other.word; }
    __device__ __forceinline__ bool operator==(const Key& other) const { return word == other.word; }
    __device__ __forceinline__ bool outweighs(const Order& order, W bits) const { return prefix(order, bits) < high(word); }
    __device__ __forceinline__ u64 packed(const Order&) const { return word; }
    __device__ __forceinline__ bool reaches(const Order&, u64 held) const { return word >= held; }
    __device__ __forceinline__ Key shuffle(int from) const { return {__shfl_sync(FULL, word, from)}; }
    __device__ __forceinline__ Key shuffle_xor(int step) const { return {__shfl_xor_sync(FULL, word, step)}; }
    __device__ __forceinline__ Key greatest_of_warp() const { return {warp_max(word)}; }

    __device__ __forceinline__ static Key fetch(const Key* at) { return {peek(&at->word)}; }

    // The ceiling that an item stands for, and items: of u, refused by the neighbour of a key, and of the suitor whose
    // offer `old` was displaced at the vertex of priority `rank`.
    __device__ __forceinline__ static Key ceiling(const Item& item) { return {item.key}; }
    __device__ __forceinline__ Item refused(u32 u) const { return {word, u, 0}; }
    __device__ __forceinline__ static Item displaced(const Order& order, u64 old, u32 rank) {
        return {pack(high(old), rank), vertex(order, low(old)), 0};
    }
};

// Where they do not, the exact weight goes beside the priority.
template <class W>
struct Key<W, true> {
    u64 weight;
    u32 rank;

    __device__ __forceinline__ static Key of(const Order& order, W bits, u32 v) { return {bits, priority(order, v)}; }
    __device__ __forceinline__ bool operator>(const Key& other) const {
        return weight > other.weight || (weight == other.weight && rank > other.rank);
    }
    __device__ __forceinline__ bool operator==(const Key& other) const {
        return weight == other.weight && rank == other.rank;
    }
    __device__ __forceinline__ bool outweighs(const Order&, W bits) const { return bits < weight; }
    __device__ __forceinline__ u64 packed(const Order& order) const {
        return weight ? pack(prefix(order, weight), rank) : 0;
    }
    __device__ __forceinline__ bool reaches(const Order& order, u64 held) const {
        return prefix(order, weight) >= high(held);
    }
    __device__ __forceinline__ Key shuffle(int from) const {
        return {__shfl_sync(FULL, weight, from), __shfl_sync(FULL, rank, from)};
    }
    __device__ __forceinline__ Key shuffle_xor(int step) const {
        return {__shfl_xor_sync(FULL, weight, step), __shfl_xor_sync(FULL, rank, step)};
    }
    __device__ __forceinline__ Key greatest_of_warp() const {
        u64 most = warp_max(weight);
        return {most, warp_max(weight == most ? rank : 0u)};
    }
    __device__ __forceinline__ static Key fetch(const Key* at) { return {peek(&at->weight), peek(&at->rank)}; }
    __device__ __forceinline__ static Key ceiling(const Item& item) { return {item.key, item.more}; }
    __device__ __forceinline__ Item refused(u32 u) const { return {weight, u, rank}; }
    // The offer knows its weight's prefix alone: the ceiling is just above all weights that have it.
    __device__ __forceinline__ static Item displaced(const Order& order, u64 old, u32) {
        return {order.low + ((u64)high(old) << order.drop), vertex(order, low(old)), 0};
    }
};

static_assert(sizeof(Key<u64, true>) <= HOST_KEY_BYTES && sizeof(Key<u64, false>) <= HOST_KEY_BYTES,
              "the host has less room for the best key of a piece");

// Which keys u reads its row for.
template <class K>
struct Window {
    K ceiling;
    u64 held;    // by u: nothing below need be looked at
    u32 rank;    // u's priority
    bool fresh;  // there is no ceiling yet

    __device__ __forceinline__ bool has(const Order& order, const K& key) const {
        return (fresh || ceiling > key) && key.reaches(order, held);
    }
    __device__ __forceinline__ Window shuffle(int from) const {
        return {ceiling.shuffle(from), __shfl_sync(FULL, held, from), __shfl_sync(FULL, rank, from),
                __shfl_sync(FULL, (int)fresh, from) != 0};
    }
};

// What somebody holds, or held a while ago: the L1 cache may answer. An old word is a smaller one, so at worst an offer
// fails that would not have been made, and its maker goes on below that neighbour.
__device__ __forceinline__ u64 glance(const u64* word) { return *word; }

// Whether v, who holds `held`, would take the offer that the vertex of priority `rank` makes for a key.
template <class W, class K>
__device__ __forceinline__ bool would_take(const Rows<W>& rows, const Order& order, u32 v, const K& key, u32 rank,
                                           u64 held) {
    u64 offer = pack(high(key.packed(order)), rank);
    return wins(rows.indptr, rows.indices, rows.weights, order, v, offer, held);
}

// ---- four entries of a row ----

template <class W, bool LOSSY>
struct Quad : Four<W> {
    typedef Key<W, LOSSY> K;
    using Four<W>::v;
    using Four<W>::w;

    // The key of entry k, or none where that is not in the row. Nor where it is lighter than `least`, which tells before
    // the vertex is looked up: the priorities of "degree" are in memory.
    __device__ __forceinline__ K key(const Order& order, int k, i32 at, i32 count, const K& least) const {
        if ((u32)(at + k) >= (u32)count || (HOST_DEGREE && least.outweighs(order, w[k]))) return {};
        return K::of(order, w[k], (u32)v[k]);
    }

    // The better of `found` and the best key.
    __device__ __forceinline__ K best(const Order& order, i32 at, i32 count, K found) const {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            K each = key(order, k, at, count, found);
            if (each > found) found = each;
        }
        return found;
    }
};

// ---- choosing ----

// A lane reads a short row of its own: its best key, with ASK of those in the window whose vertex would take the offer.
// Sixteen entries are on their way at a time, and then up to eight questions.
template <class W, bool LOSSY, bool ASK>
__device__ __forceinline__ Key<W, LOSSY> best_of_row(const Rows<W>& rows, const Order& order, i64 first, i32 count,
                                                      const Window<Key<W, LOSSY>>& window, const u64* state) {
    typedef Key<W, LOSSY> K;
    K best = {};
    for (i32 at = -(i32)(first & 3); at < count; at += 16) {
        Quad<W, LOSSY> quad[4];
#pragma unroll
        for (int q = 0; q < 4; ++q) quad[q].template read<!ASK>(rows, first, at + 4 * q, count);
#pragma unroll
        for (int q = 0; q < 4 && !ASK; ++q) {
            if (at + 4 * q < count) best = quad[q].best(order, at + 4 * q, count, best);
        }
#pragma unroll
        for (int q = 0; q < 4 && ASK; q += 2) {
            if (at + 4 * q >= count) break;
            K keys[8];
            u64 held[8];
            // Three loops, so that all questions are out before the first answer is needed.
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                keys[i] = quad[q + i / 4].key(order, i % 4, at + 4 * q + i / 4 * 4, count, best);
                if (!window.has(order, keys[i])) keys[i] = {};
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                held[i] = keys[i] > best ? glance(state + quad[q + i / 4].v[i % 4]) : LOST;
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                u32 v = (u32)quad[q + i / 4].v[i % 4];
                bool takes = held[i] != LOST && would_take(rows, order, v, keys[i], window.rank, held[i]);
                if (takes && keys[i] > best) best = keys[i];
            }
        }
    }
    __syncwarp();
    return best;
}

// G lanes read a row together, and all get the best key, with ASK of those in the window whose vertex would take the
// offer. Two quads of a lane are on their way at a time; a lane asks the best of its eight, and the next if that
// refuses.
template <class W, int G, bool LOSSY, bool ASK>
__device__ __forceinline__ Key<W, LOSSY> best_of_group(const Rows<W>& rows, const Order& order, i64 first, i32 count,
                                                        const Window<Key<W, LOSSY>>& window, const u64* state) {
    typedef Key<W, LOSSY> K;
    K best = {};
    i32 before = (i32)(first & 3), most = (i32)warp_max((u32)(count ? count + before : 0));
    for (i32 at = 4 * (i32)(lane_id() % G) - before; most > 0; at += 8 * G, most -= 8 * G) {
        Quad<W, LOSSY> quad[2];
        quad[0].template read<!ASK>(rows, first, at, count);
        quad[1].template read<!ASK>(rows, first, at + 4 * G, count);
        if (!ASK) {
            best = quad[1].best(order, at + 4 * G, count, quad[0].best(order, at, count, best));
            if (most > 8 * G) continue;
        }
        // Mostly the best one takes the offer; else it is the ceiling of the next look.
        K ceiling = window.ceiling;
        for (bool fresh = window.fresh; ASK; fresh = false) {
            K found = best;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                K key = quad[i / 4].key(order, i % 4, at + i / 4 * 4 * G, count, found);
                if (key > found && (fresh || ceiling > key)) found = key;
            }
            if (found == best || !found.reaches(order, window.held)) break;
            u32 v = vertex(order, low(found.packed(order)));
            if (would_take(rows, order, v, found, window.rank, glance(state + v))) {
                best = found;
                break;
            }
            ceiling = found;
        }
        __syncwarp();
        if (G == WARP) best = best.greatest_of_warp();
#pragma unroll
        for (int step = G / 2; G < WARP && step > 0; step /= 2) {
            K other = best.shuffle_xor(step);
            if (other > best) best = other;
        }
    }
    return best;
}

// Team g of the warp reads the row of the g-th lane whose row is of middle length, until all are read; `mine` of those
// lanes gets the best key.
template <class W, bool LOSSY>
__device__ __forceinline__ void best_of_middles(const Rows<W>& rows, const Order& order, i64 first, i32 count,
                                                const Window<Key<W, LOSSY>>& window, const u64* state,
                                                Key<W, LOSSY>& mine) {
    typedef Key<W, LOSSY> K;
    constexpr int GROUPS = WARP / TEAM;
    u32 lane = lane_id(), left = __ballot_sync(FULL, count > SHORT);
    while (left) {
        u32 rest = left, own = left;
        for (int g = 0; g < GROUPS; ++g) rest &= rest - 1;
        for (u32 g = 0; g < lane / TEAM; ++g) own &= own - 1;
        int from = own ? __ffs(own) - 1 : 0;
        i64 its_first = __shfl_sync(FULL, first, from);
        i32 its_count = __shfl_sync(FULL, count, from);
        Window<K> its = window.shuffle(from);
        K best = best_of_group<W, TEAM, LOSSY, true>(rows, order, its_first, own ? its_count : 0, its, state);
        best = best.shuffle(place_in(left) % GROUPS * TEAM);
        if ((left & ~rest) >> lane & 1) mine = best;
        left = rest;
    }
}

// ---- offers ----

// v gets an offer. Returns the offer that was displaced (0: v held none), or LOST.
template <class W, bool LOSSY>
__device__ __forceinline__ u64 make_offer(const Rows<W>& rows, const Order& order, u32 v, u64 offer, u64* state) {
    if (!LOSSY) {
        u64 old = atomicMax(state + v, offer);
        return old > offer ? LOST : old;
    }
    u64 held = peek(state + v);
    while (wins(rows.indptr, rows.indices, rows.weights, order, v, offer, held)) {
        u64 seen = atomicCAS(state + v, held, offer);
        if (seen == held) return held;
        held = seen;
    }
    return LOST;
}

// u makes an offer to the neighbour of a key, if any. Returns the offer that was displaced, 0 for none, or LOST.
template <class W, class K>
__device__ __forceinline__ u64 propose(const Rows<W>& rows, const Order& order, u32 u, const K& key, u64* state) {
    u64 word = key.packed(order);
    if (!word) return 0;
    u64 offer = pack(high(word), priority(order, u));
    return make_offer<W, sizeof(K) != sizeof(u64)>(rows, order, vertex(order, low(word)), offer, state);
}

// Who has to look again after that.
template <class K>
__device__ __forceinline__ Item loser(const Order& order, u32 u, const K& key, u64 old) {
    if (!old) return {0, NOBODY, 0};
    return old == LOST ? key.refused(u) : K::displaced(order, old, low(key.packed(order)));
}

// ---- waiting ----

// Append the items of the lanes that have one to a list.
__device__ __forceinline__ void append(const Item& item, bool has, Item* list, u64* counter) {
    u32 mask = __ballot_sync(FULL, has);
    if (!mask) return;
    u64 at = 0;
    if (lane_id() == 0) at = atomicAdd(counter, (u64)__popc(mask));
    at = __shfl_sync(FULL, at, 0);
    if (has) list[at + place_in(mask)] = item;
}

// Append the items of the lanes that have one to the warp's stage.
__device__ __forceinline__ void put(const Item& item, Item* stage, u32& staged) {
    bool has = item.u != NOBODY;
    u32 mask = __ballot_sync(FULL, has);
    if (has) stage[staged + place_in(mask)] = item;
    staged += __popc(mask);
    __syncwarp();
}

// Take the last items of the stage, one a lane.
__device__ __forceinline__ Item take_staged(Item* stage, u32& staged) {
    u32 taken = min(staged, (u32)WARP);
    staged -= taken;
    Item item = {0, NOBODY, 0};
    if (lane_id() < taken) item = stage[staged + lane_id()];
    __syncwarp();
    return item;
}

// Move all items of the stage to a list.
__device__ __forceinline__ void flush(Item* stage, u32& staged, Item* list, u64* counter) {
    if (!staged) return;
    u64 at = 0;
    if (lane_id() == 0) at = atomicAdd(counter, (u64)staged);
    at = __shfl_sync(FULL, at, 0);
    for (u32 i = lane_id(); i < staged; i += WARP) list[at + i] = stage[i];
    staged = 0;
    __syncwarp();
}

// Rows that are too long for a team, of the lanes with length > LONG, go to the list of long rows, in pieces.
template <class K>
__device__ __forceinline__ void append_long(const Item& item, i64 length, const Wide<K>& wide, u64* counter) {
    u32 lane = lane_id(), mask = __ballot_sync(FULL, length > LONG);
    if (!mask) return;
    u32 parts = length > LONG ? (u32)((length + PIECE - 1) / PIECE) : 0, upto = sum_up_to_lane(parts);
    u64 word = 0;
    if (lane == WARP - 1) word = atomicAdd(counter, (u64)__popc(mask) << COUNT_SHIFT | upto);
    word = __shfl_sync(FULL, word, WARP - 1);
    u32 slot = (u32)(word >> COUNT_SHIFT) + place_in(mask);
    u32 first = (u32)(word & COUNT_MASK) + upto - parts;
    if (parts) wide.longs[slot] = {item.key, item.u, first};
    for (; mask; mask &= mask - 1) {
        int from = __ffs(mask) - 1;
        u32 count = __shfl_sync(FULL, parts, from), start = __shfl_sync(FULL, first, from);
        u32 owner = __shfl_sync(FULL, slot, from);
        for (u32 i = lane; i < count; i += WARP) wide.owners[start + i] = owner;
    }
}

// A vertex whose row is not short goes to the lists of number `turn`, by way of the warp's stage.
template <class K>
__device__ __forceinline__ void put_wide(Item item, i64 length, const Wide<K>& all, int turn, Item* stage, u32& staged,
                                         Control* control) {
    if (!__any_sync(FULL, length > SHORT)) return;
    Wide<K> wide = all.of(turn);
    append_long(item, length, wide, &control->longs[turn]);
    if (length <= SHORT || length > LONG) item.u = NOBODY;
    put(item, stage, staged);
    if (staged >= FULL_STAGE) flush(stage, staged, wide.middles, &control->middles[turn]);
}

// The warp reads piece p of a long row. Who reads the last one makes the row's offer. Returns who has to look again, to
// the first lane.
template <bool ASK, class W, class K>
__device__ __forceinline__ Item read_piece(const Rows<W>& rows, const Order& order, i64 p, const Wide<K>& wide,
                                           u64* state) {
    Item nobody = {0, NOBODY, 0};
    u32 slot = wide.owners[p];
    Item item = wide.longs[slot];
    u32 u = item.u & ~FRESH;
    i64 begin = rows.indptr[u], end = rows.indptr[u + 1], first = begin + (p - item.more) * PIECE;
    u32 parts = (u32)((end - begin + PIECE - 1) / PIECE), start = item.more, others = parts - 1;
    item.more = ~0u;
    Window<K> window = {K::ceiling(item), peek(state + u), priority(order, u), (item.u & FRESH) != 0};
    constexpr bool LOSSY = sizeof(K) != sizeof(u64);
    i32 count = (i32)min(PIECE, end - first);
    K best = best_of_group<W, WARP, LOSSY, ASK>(rows, order, first, count, window, state);
    if (lane_id() == 0) {
        wide.best[p] = best;
        __threadfence();
        others = atomicAdd(wide.done + slot, 1u);
        __threadfence();
    }
    if (__shfl_sync(FULL, others, 0) != parts - 1) return nobody;
    __syncwarp();
    for (u32 i = start + lane_id(); i < start + parts; i += WARP) {
        K piece = K::fetch(wide.best + i);
        if (piece > best) best = piece;
    }
    best = best.greatest_of_warp();
    if (lane_id() != 0) return nobody;
    wide.done[slot] = 0;
    return loser(order, u, best, propose(rows, order, u, best, state));
}

// ---- kernels ----
//
// All take, in this order: the rows (indptr, indices, bits), how many vertices and entries there are (n, total), the
// order, and where vertices with other than short rows wait (wide); then what is read by that kernel alone; then state,
// and the lists and counts that it changes.

// Every vertex with a short row makes an offer to its heaviest neighbour, found without a look at any offer. Who has to
// look again after the offers of vertices 32 g..32 g + 31 is in slots[32 g..], losers[g] of them. The other vertices go
// to the lists of `turn`.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 3) propose_all(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, u64* state, Item* slots, u32* losers, Control* control) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    u32 staged = 0;
    i64 stride = thread_count(), u = thread_id(), made_by = -1;
    i64 begin = u < n ? indptr[u] : 0, end = u < n ? indptr[u + 1] : 0;
    Window<K> all = {{}, 0, 0, true};
    K key = {};
    u64 old = 0;
    u32 lane = lane_id();
    // An offer's answer is read one turn later, when it has long arrived: hence one turn more than there are groups.
    for (i64 group = u - lane; group < n + stride; group += stride) {
        i64 next = u + stride;
        i64 next_begin = next < n ? indptr[next] : 0, next_end = next < n ? indptr[next + 1] : 0;
        put_wide({0, (u32)u | FRESH, 0}, end - begin, wide, (int)turn, stage, staged, control);
        i32 count = end - begin > SHORT ? 0 : (i32)(end - begin);
        K best = best_of_row<W, LOSSY, false>(rows, order, begin, count, all, state);
        if (made_by >= 0) {
            Item item = loser(order, (u32)made_by, key, old);
            u32 mask = __ballot_sync(FULL, item.u != NOBODY);
            i64 base = made_by - lane;
            if (item.u != NOBODY) slots[base + place_in(mask)] = item;
            if (lane == 0 && base < n) losers[base / WARP] = __popc(mask);
        }
        old = propose(rows, order, (u32)u, best, state);
        key = best, made_by = u;
        u = next, begin = next_begin, end = next_end;
    }
    flush(stage, staged, wide.of((int)turn).middles, &control->middles[turn]);
}

// Every vertex with a short row makes an offer to its best neighbour that takes it, and so does whom it displaces: those
// wait in the warp's stage until they are 32, so that all lanes have work. In the end the warp takes fewer of them, for a
// few steps, and `queue`, list 2, gets who is left. The other vertices go to the lists of turn 0.
// For graphs of few edges: everybody in the window is asked, and few registers let many warps wait at a time.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 4) chase(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, u64* state, Item* queue, Control* control) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    u32 staged = 0, lane = lane_id(), steps = 0, read = 0;
    for (i64 group = thread_id() - lane;;) {
        Item item = {0, NOBODY, 0};
        if (staged >= WARP || (staged && group >= n && steps < STEPS)) {
            steps += staged < WARP;
            item = take_staged(stage, staged);
        } else if (group < n) {
            if (group + lane < n) item.u = (u32)(group + lane) | FRESH;
            group += thread_count();
        } else {
            break;
        }
        bool has = item.u != NOBODY;
        u32 u = item.u & ~FRESH;
        i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
        if (__any_sync(FULL, end - begin > SHORT)) {
            append_long(item, end - begin, wide, &control->longs[0]);
            append(item, end - begin > SHORT && end - begin <= LONG, wide.middles, &control->middles[0]);
            if (end - begin > SHORT) end = begin;
        }
        Window<K> window = {K::ceiling(item), 0, priority(order, u), (item.u & FRESH) != 0};
        K best = {};
        if (!window.fresh) read += (u32)(end - begin);
        for (i64 e = begin; e < end; e += 4) {
            K keys[4];
            i32 v[4];
            u64 held[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                keys[k] = {};
                if (e + k < end) keys[k] = K::of(order, bits[e + k], (u32)(v[k] = indices[e + k]));
                if (!window.has(order, keys[k])) keys[k] = {};
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) held[k] = keys[k] > best ? glance(state + v[k]) : LOST;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                bool takes = held[k] != LOST && would_take(rows, order, (u32)v[k], keys[k], window.rank, held[k]);
                if (takes && keys[k] > best) best = keys[k];
            }
        }
        __syncwarp();
        put(loser(order, u, best, propose(rows, order, u, best, state)), stage, staged);
    }
    add_up(&control->entries, read);
    flush(stage, staged, queue, &control->queue[2]);
}

// The vertices with other than short rows in the lists of a turn look for a neighbour that takes their offer, and
// `queue`, list `to`, gets who has to look again. Without ASK the heaviest neighbour gets the offer, unasked.
template <bool ASK, class W, class K>
__device__ __forceinline__ void look_at_wide(const Rows<W>& rows, const Order& order, const Wide<K>& all, int turn,
                                             int to, u64* state, Item* stage, Item* queue, Control* control) {
    constexpr bool LOSSY = sizeof(K) != sizeof(u64);
    constexpr i64 GROUPS = WARP / TEAM;
    Wide<K> wide = all.of(turn);
    u32 staged = 0, lane = lane_id(), read = 0;
    i64 warp = thread_id() / WARP, warps = thread_count() / WARP;
    i64 parts = (i64)(control->longs[turn] & COUNT_MASK), count = (i64)control->middles[turn];
    for (i64 p = warp; p < parts; p += warps) {
        put(read_piece<ASK>(rows, order, p, wide, state), stage, staged);
        read += PIECE / WARP;
        if (staged >= FULL_STAGE) flush(stage, staged, queue, &control->queue[to]);
    }
    for (i64 at = warp * GROUPS; at < count; at += warps * GROUPS) {
        i64 place = at + lane / TEAM;
        Item item = {0, NOBODY, 0};
        if (place < count) item = wide.middles[place];
        bool has = item.u != NOBODY;
        u32 u = item.u & ~FRESH;
        i64 begin = has ? rows.indptr[u] : 0, end = has ? rows.indptr[u + 1] : 0;
        Window<K> window = {K::ceiling(item), has ? peek(state + u) : 0, priority(order, u), (item.u & FRESH) != 0};
        K best = best_of_group<W, TEAM, LOSSY, ASK>(rows, order, begin, (i32)(end - begin), window, state);
        read += (u32)(end - begin) / TEAM;
        Item again = {0, NOBODY, 0};
        if (has && lane % TEAM == 0) again = loser(order, u, best, propose(rows, order, u, best, state));
        put(again, stage, staged);
        if (staged >= FULL_STAGE) flush(stage, staged, queue, &control->queue[to]);
    }
    if (ASK) add_up(&control->entries, read);
    flush(stage, staged, queue, &control->queue[to]);
}

// look_at_wide of one turn; the queue of that turn gets who has to look again.
template <class W, bool LOSSY, bool ASK>
__global__ void __launch_bounds__(BLOCK, 4) look_wide(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, u64* state, Item* queue, Control* control) {
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    look_at_wide<ASK>(rows, order, wide, (int)turn, (int)turn, state, stage, queue, control);
}

// Those in slots, as propose_all leaves them (`slotted` places), and in `queue`, list `turn`, look again; whoever that
// displaces goes to `next`, and vertices with other than short rows to the lists of `turn` + 1.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 2) look_again(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, const Item* slots, const u32* __restrict__ losers,
        i64 slotted, const Item* queue, u64* state, Item* next, Control* control) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[3 * WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item *stage = stages[threadIdx.x / WARP], *out = stages[WARPS + threadIdx.x / WARP];
    Item* aside = stages[2 * WARPS + threadIdx.x / WARP];
    u32 staged = 0, waiting = 0, put_aside = 0, lane = lane_id(), read = 0;
    i64 queued = (i64)control->queue[turn], stride = thread_count();
    u64* to = &control->queue[turn + 1];
    for (i64 at = thread_id() - lane;;) {
        if (staged < WARP && at < slotted + queued) {
            Item item = {0, NOBODY, 0};
            if (at < slotted) {
                if (lane < losers[at / WARP]) item = slots[at + lane];
            } else if (at - slotted + lane < queued) {
                item = queue[at - slotted + lane];
            }
            put(item, stage, staged);
            at += stride;
            continue;
        }
        if (!staged) break;
        Item item = take_staged(stage, staged);
        bool has = item.u != NOBODY;
        u32 u = item.u & ~FRESH;
        i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
        Window<K> window = {K::ceiling(item), has ? peek(state + u) : 0, priority(order, u), (item.u & FRESH) != 0};
        put_wide(item, end - begin, wide, (int)turn + 1, aside, put_aside, control);
        i32 count = end - begin > SHORT ? 0 : (i32)(end - begin);
        K best = best_of_row<W, LOSSY, true>(rows, order, begin, count, window, state);
        read += (u32)count;
        put(loser(order, u, best, propose(rows, order, u, best, state)), out, waiting);
        if (waiting >= FULL_STAGE) flush(out, waiting, next, to);
    }
    add_up(&control->entries, read);
    flush(out, waiting, next, to);
    flush(aside, put_aside, wide.of((int)turn + 1).middles, &control->middles[turn + 1]);
}

// Rounds until nobody waits, from queue 2 and the wide lists of turns `turn`..2 on. `queue` has two sides, of `places`.
// A warp that has taken `most_steps`, of a microsecond or so, hands on what it has, and the round is the last; so it is
// where pieces of `most_entries` have been read and hardly fewer are waiting than at most, or LAST_BOUND times as many
// have been read. Then control->stopped says that somebody still waits.
// `mate` gets the mates; null: they are not wanted. All blocks run at one time.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 2) settle(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, i64 places, i64 most_steps, i64 most_entries,
        u64* state, Item* queue, Control* control, i32* mate) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    i64 steps = 0, pieces = 0, most_parts = 0;
    u32 read = 0;
    u32 staged = 0, lane = lane_id(), round = 0, met = 0;
    bool waits = false;
    i64 warp = thread_id() / WARP, warps = thread_count() / WARP;
    for (; turn < TURNS; ++turn) look_at_wide<true>(rows, order, wide, (int)turn, 2, state, stage, queue, control);
    meet(&control->arrived, ++met * gridDim.x);
    for (;; ++round) {
        u64 *theirs = &control->waiting[(round + 1) % 3], *their_longs = &control->waiting_longs[(round + 1) % 3];
        i64 count = (i64)peek(round ? &control->waiting[round % 3] : &control->queue[2]);
        i64 parts = (i64)(peek(&control->waiting_longs[round % 3]) & COUNT_MASK);
        waits = count || parts;
        const u32 last = peek(&control->stopped);
        most_parts = max(most_parts, parts);
        bool slow = pieces * PIECE >= (parts * FEWER > most_parts ? most_entries : LAST_BOUND * most_entries);
        if (!waits || (last && last <= round) || slow) break;
        pieces += parts;
        if (thread_id() == 0) control->waiting[(round + 2) % 3] = control->waiting_longs[(round + 2) % 3] = 0;
        Item *now = queue + round % 2 * places, *next = queue + (round + 1) % 2 * places;
        Wide<K> here = wide.of(round % 2), there = wide.of((round + 1) % 2);
        for (i64 p = warp; p < parts; p += warps) {
            put(read_piece<true>(rows, order, p, here, state), stage, staged);
            if (staged >= FULL_STAGE) flush(stage, staged, next, theirs);
            read += PIECE / WARP;
        }
        flush(stage, staged, next, theirs);

        // A warp takes its share of the queue, and then whoever it has displaced, to the end; where items are many,
        // only as long as there are 32 of them.
        bool few = count <= warps * WARP;
        i64 share = few ? (count + warps - 1) / warps : WARP, at = warp * share, stop = min(count, at + share);
        for (;;) {
            Item item = {0, NOBODY, 0};
            if (steps < most_steps && (staged >= WARP || (staged && few && at >= stop))) {
                item = take_staged(stage, staged);
            } else if (at < stop) {
                if (at + lane < stop) item = now[at + lane];
                at += few ? share : warps * WARP;
                if (!few) stop = min(count, at + WARP);
            } else {
                break;
            }
            if (steps >= most_steps) {
                put(item, stage, staged);
                if (staged >= FULL_STAGE) flush(stage, staged, next, theirs);
                continue;
            }
            bool has = item.u != NOBODY;
            u32 u = item.u & ~FRESH;
            i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
            Window<K> window = {K::ceiling(item), has ? peek(state + u) : 0, priority(order, u), (item.u & FRESH) != 0};
            append_long(item, end - begin, there, their_longs);
            i32 length = end - begin > LONG ? 0 : (i32)(end - begin);
            K found = best_of_row<W, LOSSY, true>(rows, order, begin, length > SHORT ? 0 : length, window, state);
            best_of_middles<W, LOSSY>(rows, order, begin, length, window, state, found);
            put(loser(order, u, found, propose(rows, order, u, found, state)), stage, staged);
            steps += 1 + MIDDLE_STEPS * __popc(__ballot_sync(FULL, length > SHORT));
            read += (u32)length;
        }
        if (steps >= most_steps && lane == 0) control->stopped = round + 1;
        flush(stage, staged, next, theirs);
        meet(&control->arrived, ++met * gridDim.x);
    }
    if (thread_id() == 0) {
        control->rounds = round;
        control->stopped = waits;
    }
    add_up(&control->entries, read);
    for (i64 v = mate ? thread_id() : n; v < n; v += thread_count()) {
        u64 held = __ldcg(state + v);
        mate[v] = held ? (i32)vertex(order, low(held)) : -1;
    }
}
