// Greedy: the edges of a graph as keys to sort, and the rounds that take the sorted edges; see greedy.py.
//
// An edge is the bits of its weight and its rank (max priority, min priority) in one 64-bit word, both inverted, so
// that an ascending sort puts the heaviest first. Once sorted, an edge is its two ends in one word and its place among
// the edges that are left, which come in the order of greedy.

constexpr i64 NONE = HOST_NONE;  // no edge: greater than any place

// above[v + 1] = how many neighbours of v are greater than v; above[0] = 0.
__global__ void list_above(i32 n, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                           i64* __restrict__ above) {
    i64 v = thread_id();
    if (v == 0) above[0] = 0;
    if (v >= n) return;
    above[v + 1] = count_above(indptr, indices, v);
}

// keys[i], ranks[i] = edge i, in the order of rows. Row u has the edges from above[u] to above[u + 1], now running
// sums, and they are its last entries. A thread finds its row by bisection: rows of any length are the same to it.
template <class W>
__global__ void list_edges(i32 n, i64 m, const i64* __restrict__ above, const i64* __restrict__ indptr,
                           const i32* __restrict__ indices, const W* __restrict__ bits, Order order,
                           W* __restrict__ keys, u64* __restrict__ ranks) {
    i64 i = thread_id();
    if (i >= m) return;
    i64 u = row_of(above, 0, n - 1, i);
    i64 e = indptr[u + 1] - (above[u + 1] - i);
    u32 own = priority(order, (u32)u), other = priority(order, (u32)indices[e]);
    keys[i] = (W)~bits[e];
    ranks[i] = ~pack(max(own, other), min(own, other));
}

// ends[i] = both ends of the i-th edge in the order of greedy.
__global__ void name_ends(i64 m, const i64* __restrict__ by_rank, const i64* __restrict__ by_weight,
                          const u64* __restrict__ ranks, Order order, u64* __restrict__ ends) {
    i64 i = thread_id();
    if (i >= m) return;
    u64 rank = ~ranks[by_rank[by_weight[i]]];
    ends[i] = pack(vertex(order, high(rank)), vertex(order, low(rank)));
}

// first[v] = the first place, among all edges, of an edge at v; NONE before. Most edges lose, and see it without an
// atomic: a place that was read late can only be too great.
__global__ void claim(i64 count, const u64* __restrict__ ends, i64* first) {
    i64 i = thread_id();
    if (i >= count) return;
    u64 edge = ends[i];
    i64 *one = first + high(edge), *two = first + low(edge);
    if (i < peek(one)) atomicMin(one, i);
    if (i < peek(two)) atomicMin(two, i);
}

// Match the ends of every edge that is first at both of them.
__global__ void take(i64 count, const u64* __restrict__ ends, const i64* __restrict__ first, i32* __restrict__ mate) {
    i64 i = thread_id();
    if (i >= count) return;
    u32 u = high(ends[i]), v = low(ends[i]);
    if (first[u] != i || first[v] != i) return;
    mate[u] = (i32)v;
    mate[v] = (i32)u;
}

// kept[i] = whether both ends of edge i are free; their first place is NONE again, for the next round.
__global__ void drop(i64 count, const u64* __restrict__ ends, const i32* __restrict__ mate, i64* __restrict__ first,
                     bool* __restrict__ kept) {
    i64 i = thread_id();
    if (i >= count) return;
    u32 u = high(ends[i]), v = low(ends[i]);
    bool free = mate[u] < 0 && mate[v] < 0;
    kept[i] = free;
    if (free) first[u] = first[v] = NONE;
}
