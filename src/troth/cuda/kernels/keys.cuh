// Keys, by which a vertex compares its neighbours, and the lists in which it waits: for suitor.cu.
//
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
