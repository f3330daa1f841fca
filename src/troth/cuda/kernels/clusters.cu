// Clusters of strongest neighbours on a GPU; clusters.py has the plan, reference.py (`join_strongest`) the definition.
//
// best[v] is the strongest neighbour of v, or -1. Vertices that point to theirs make trees; label[v] is the root of v's
// tree, then that of its piece, then the first of its part: a member of v's cluster in any case, the same for all.
// What races are counts, of which it matters only how many came, and bytes that become 1.
//
// V is the type of the vertex weights, `columns` how many a vertex has; 0 where nothing can be too heavy.
//
// Kernels take their counts first, then what they read, then what they write, scratch and `control` last. The blocks of
// all of them meet; what was written before a meeting is read by peek.

#include "grid.cuh"

constexpr u32 MOST = HOST_MOST_JOINED;  // vertices of a cluster
constexpr u64 CUT = HOST_CUT;

// What is counted (`CONTROL` in the host file): whether a tree is too large; vertices of pieces that are too large; those
// that are alone; those that joined others without an edge; blocks that came to the meetings of the steps, in turn.
enum {
    LARGE = HOST_LARGE,
    LEFT = HOST_LEFT,
    SINGLES = HOST_SINGLES,
    JOINED = HOST_JOINED,
    FOUND = HOST_FOUND,
    SPLIT = HOST_SPLIT,
    BETWEEN = HOST_BETWEEN,
    LISTED = HOST_LISTED,
    PAIRED = HOST_PAIRED
};

// ---- trees ----

// The strongest neighbour of v; v itself for a root: the smaller of a pair, or a vertex without one.
__device__ __forceinline__ i32 parent_of(const i32* __restrict__ best, i32 v) {
    const i32 u = best[v];
    return u < 0 || (v < u && best[u] == v) ? v : u;
}

// v is a member of a tree or piece: count it, as far as that decides whether there are too many, and list it with the
// root, where members are listed: slots[MOST * root ...].
__device__ __forceinline__ void count_member(i32 root, i32 v, u32* members, i32* slots, bool listed) {
    if (peek(members + root) > MOST) return;
    const u32 place = atomicAdd(members + root, 1u);
    if (listed && place < MOST) slots[(i64)MOST * root + place] = v;
}

// Whether the vertices part[0..size), added up in this order, keep to the limits. One alone does in any case.
template <class V>
__device__ __forceinline__ bool are_light(i64 columns, const V* __restrict__ weights, const V* __restrict__ limits,
                                          const i32* part, u32 size) {
    bool good = true;
    for (i64 j = 0; j < columns && size > 1; j++) {
        V total = weights[part[0] * columns + j];
        for (u32 k = 1; k < size; k++) total += weights[part[k] * columns + j];
        good &= total <= limits[j];
    }
    return good;
}

// Ascending.
__device__ __forceinline__ void sort_few(i32* part, u32 size) {
    for (u32 i = 1; i < size; i++) {
        const i32 v = part[i];
        u32 j = i;
        for (; j > 0 && part[j - 1] > v; j--) part[j] = part[j - 1];
        part[j] = v;
    }
}

// A root whose members, as listed, are too heavy gets too many of them.
template <class V>
__device__ void weigh(i32 root, i64 columns, const V* __restrict__ weights, const V* __restrict__ limits, u32* members,
                      const i32* slots) {
    const u32 size = peek(members + root);
    if (size < 2 || size > MOST) return;
    i32 part[MOST];
    for (u32 k = 0; k < size; k++) part[k] = peek(slots + (i64)MOST * root + k);
    sort_few(part, size);
    if (!are_light(columns, weights, limits, part, size)) members[root] = MOST + 1;
}

// Some vertex points to v, and v is not of a pair: so it may be cut off from its parent.
__device__ __forceinline__ bool is_cuttable(const i32* __restrict__ best, const u8* pointed, i32 v) {
    return peek(pointed + v) && best[best[v]] != v;
}
__device__ __forceinline__ u64 number_of(u64 seed, i32 v) { return hash1(seed, CUT, (u64)v) | 1; }

// label[v] = the root of v's tree, or of its piece where the tree is too large; alone[v] = 1 where it has no neighbour.
// Vertices of pieces that are too large are listed in order, with their parents as keys; returns how many.
// `members`, `pieces`, `pointed` and `beaten` are 0. A vertex that is as far from its root as a cluster has members is
// of a tree that is too large: its label is -1 meanwhile.
template <class V>
__device__ __forceinline__ u64
    label_trees(i64 n, i64 columns, u64 seed, const i32* __restrict__ best, const V* __restrict__ weights,
                const V* __restrict__ limits, i32* label, u8* alone, i32* parent, u32* members, u32* pieces,
                u8* pointed, u8* beaten, u8* large, i32* slots, Keyed* keyed, u64* sums, u64* control) {
    u32 *arrived = (u32*)(control + FOUND), met = 0;
    for (i64 i = thread_id(); i < n; i += thread_count()) {
        const i32 v = (i32)i;
        i32 root = v, next = parent_of(best, v);
        parent[v] = next;
        alone[v] = best[v] < 0;
        for (u32 step = 0; step < MOST && next != root; step++) {
            root = next;
            next = parent_of(best, root);
        }
        const bool found = next == root;
        label[v] = found ? root : -1;
        if (found) count_member(root, v, members, slots, columns > 0);
    }
    meet(arrived, ++met * gridDim.x);
    if (columns) {
        for (i64 v = thread_id(); v < n; v += thread_count())
            if (label[v] == v) weigh((i32)v, columns, weights, limits, members, slots);
        meet(arrived, ++met * gridDim.x);
    }

    bool any = false;
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        const i32 root = label[v];
        const bool is_large = root < 0 || peek(members + root) > MOST;
        large[v] = is_large;
        any |= is_large;
        if (is_large && best[best[v]] != v) pointed[best[v]] = 1;
    }
    if (any) control[LARGE] = 1;
    meet(arrived, ++met * gridDim.x);
    if (!peek(control + LARGE)) return 0;

    // Of a vertex and its parent, both cuttable, the one with the smaller number is not cut off, nor one of equal ones.
    for (i64 i = thread_id(); i < n; i += thread_count()) {
        const i32 v = (i32)i, u = best[v];
        if (!large[v] || !is_cuttable(best, pointed, v) || !is_cuttable(best, pointed, u)) continue;
        const u64 ours = number_of(seed, v), above = number_of(seed, u);
        if (ours >= above) beaten[u] = 1;
        if (ours <= above) beaten[v] = 1;
    }
    meet(arrived, ++met * gridDim.x);
    for (i64 v = thread_id(); v < n; v += thread_count())
        if (large[v] && is_cuttable(best, pointed, (i32)v) && !peek(beaten + v)) parent[v] = (i32)v;
    meet(arrived, ++met * gridDim.x);
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        if (!large[v]) continue;
        i32 root = (i32)v, next;
        while ((next = peek(parent + root)) != root) root = next;
        label[v] = root;
        count_member(root, (i32)v, pieces, slots, columns > 0);
    }
    meet(arrived, ++met * gridDim.x);
    if (columns) {
        for (i64 v = thread_id(); v < n; v += thread_count())
            if (large[v] && label[v] == v) weigh((i32)v, columns, weights, limits, pieces, slots);
        meet(arrived, ++met * gridDim.x);
    }
    return list_in_order(
        n, sums, arrived, ++met * gridDim.x,
        [=](i64 v) { return peek(large + v) && peek(pieces + peek(label + v)) > MOST; },
        [=](u64 place, i64 v) { keyed[place] = {(u64)peek(parent + v), v}; });
}

// ---- parts ----

// Of listed vertices that have equal keys, in order: the first MOST are put together, the next MOST, and so on,
// and each of these is cut before a vertex that is too much. With `rooted`, keys are vertices: what has the vertex that
// the others point to stays together in any case, other parts only with `twohop`.
template <class V>
__device__ __noinline__ void label_parts(i64 count, const Keyed* list, i64 columns, bool rooted, bool twohop,
                                         const V* __restrict__ weights, const V* __restrict__ limits, i32* label,
                                         u8* alone, u64* control) {
    u64 joined = 0;
    for (i64 i = thread_id(); i < count; i += thread_count()) {
        if ((i - first_of_key(list, i)) % MOST) continue;
        const u64 key = peek(&list[i].key);
        i32 part[MOST];
        u32 size = 0;
        bool has_root = false;
        for (i64 k = i; k <= i + MOST; k++) {
            const bool more = k < min(i + MOST, count) && peek(&list[k].key) == key;
            if (more) part[size] = (i32)peek(&list[k].vertex);
            if (size && !(more && are_light(columns, weights, limits, part, size + 1))) {
                const bool together = has_root || twohop;
                const i32 next = part[more ? size : 0];
                for (u32 p = 0; p < size; p++) {
                    label[part[p]] = part[together ? 0 : p];
                    alone[part[p]] = size == 1;
                }
                if (together && !has_root) joined += size - 1;
                part[0] = next;
                size = 0;
                has_root = false;
            }
            if (!more) break;
            has_root |= rooted && key == (u64)part[size];
            size++;
        }
    }
    add_up(control + JOINED, joined);
}

// ---- single vertices ----

// Vertices that are alone are listed in order, with hashes of their neighbours as keys, as on the CPU; returns how many.
// A warp takes a row.
__device__ __forceinline__ u64 hash_singles(i64 n, const u8* alone, const i64* __restrict__ indptr,
                                            const i32* __restrict__ indices, Keyed* keyed, u64* sums, u64* control) {
    u32* arrived = (u32*)(control + LISTED);
    const i64 count = (i64)list_in_order(
        n, sums, arrived, gridDim.x, [=](i64 v) { return peek(alone + v) != 0; },
        [=](u64 place, i64 v) { keyed[place].vertex = v; });
    if (!count) return 0;
    meet(arrived, 2 * gridDim.x);
    for (i64 i = thread_id() / WARP; i < count; i += thread_count() / WARP) {
        const i64 v = peek(&keyed[i].vertex);
        u64 total = 0;
        for (i64 e = indptr[v] + lane_id(); e < indptr[v + 1]; e += WARP) total += mix64((u64)indices[e]);
        total = warp_sum(total);
        if (lane_id() == 0) keyed[i].key = total;
    }
    return (u64)count;
}

// ---- kernels ----

// All of it, where no more vertices may be listed than the grid sorts. `sums` has two words a block.
template <class V>
__global__ void __launch_bounds__(THREADS)
    join_few(i64 n, i64 columns, i64 weighed, i64 twohop, u64 seed, const i32* __restrict__ best,
             const V* __restrict__ weights, const V* __restrict__ limits, const i64* __restrict__ indptr,
             const i32* __restrict__ indices, i32* label, u8* alone, i32* parent, u32* members, u32* pieces,
             u8* pointed, u8* beaten, u8* large, i32* slots, Keyed* keyed, u64* sums, u64* control) {
    const i64 left = (i64)label_trees(n, weighed, seed, best, weights, limits, label, alone, parent, members, pieces,
                                      pointed, beaten, large, slots, keyed, sums, control);
    if (left) {
        const Keyed* list = sort_together(left, keyed, (u32*)(control + SPLIT));
        label_parts(left, list, columns, true, twohop, weights, limits, label, alone, control);
        meet((u32*)(control + BETWEEN), gridDim.x);
    }
    if (!twohop) return;
    // Other blocks may still read the sums that were of those left.
    const i64 singles = (i64)hash_singles(n, alone, indptr, indices, keyed, sums + gridDim.x, control);
    if (!singles) return;
    const Keyed* list = sort_together(singles, keyed, (u32*)(control + PAIRED));
    label_parts(singles, list, columns, false, true, weights, limits, label, alone, control);
}

// The same step by step: the host sorts where too many are listed, control[LEFT] and control[SINGLES] of them.
template <class V>
__global__ void __launch_bounds__(THREADS)
    find_trees(i64 n, i64 columns, u64 seed, const i32* __restrict__ best, const V* __restrict__ weights,
               const V* __restrict__ limits, i32* label, u8* alone, i32* parent, u32* members, u32* pieces, u8* pointed,
               u8* beaten, u8* large, i32* slots, Keyed* keyed, u64* sums, u64* control) {
    const u64 left = label_trees(n, columns, seed, best, weights, limits, label, alone, parent, members, pieces,
                                 pointed, beaten, large, slots, keyed, sums, control);
    if (thread_id() == 0) control[LEFT] = left;
}

template <class V>
__global__ void __launch_bounds__(THREADS)
    split_groups(i64 count, i64 columns, i64 sorted, i64 rooted, i64 twohop, const V* __restrict__ weights,
                 const V* __restrict__ limits, i32* label, u8* alone, Keyed* keyed, u64* control) {
    const Keyed* list = sorted ? keyed : sort_together(count, keyed, (u32*)(control + (rooted ? SPLIT : PAIRED)));
    label_parts(count, list, columns, rooted, twohop, weights, limits, label, alone, control);
}

__global__ void __launch_bounds__(THREADS)
    list_singles(i64 n, const u8* alone, const i64* __restrict__ indptr, const i32* __restrict__ indices, Keyed* keyed,
                 u64* sums, u64* control) {
    const u64 count = hash_singles(n, alone, indptr, indices, keyed, sums, control);
    if (thread_id() == 0) control[SINGLES] = count;
}
