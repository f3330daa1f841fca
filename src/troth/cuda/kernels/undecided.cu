// The edges that may still be in the matching, given offers that stand: cuda/undecided.py says why the others may go.

// Whether v would take u's offer for a weight, or holds it already.
template <class W>
__device__ __forceinline__ bool may_take(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                         const W* __restrict__ bits, const Order& order, u32 v, u32 u, W weight,
                                         const u64* __restrict__ state) {
    const u64 offer = pack(prefix(order, weight), priority(order, u)), held = state[v];
    return offer == held || wins(indptr, indices, bits, order, v, offer, held);
}

// G lanes go over a row, and `visit(e, place, keep)` is called for its entries, by G of them together: whether entry e
// may still be matched, and how many of the row before it may. Returns how many of the row may. (A lane alone has no
// need to meet others; a warp's lanes all call `visit`, those behind the row with keep false.)
template <class W, int G, class Visit>
__device__ __forceinline__ i64 go_over_row(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                           const W* __restrict__ bits, const Order& order, u32 u,
                                           const u64* __restrict__ state, Visit visit) {
    const u32 lane = G == WARP ? lane_id() : 0;
    const i64 end = indptr[u + 1];
    i64 kept = 0;
    for (i64 first = indptr[u]; first < end; first += G) {
        const i64 e = first + lane;
        bool keep = false;
        if (e < end) {
            const u32 v = (u32)indices[e];
            keep = may_take(indptr, indices, bits, order, v, u, bits[e], state) &&
                   may_take(indptr, indices, bits, order, u, v, bits[e], state);
        }
        const u32 mask = G == WARP ? __ballot_sync(FULL, keep) : (u32)keep;
        visit(e, kept + (G == WARP ? place_in(mask) : 0), keep);
        kept += __popc(mask);
    }
    return kept;
}

// starts[v + 1] = how many entries of row v may still be matched; G lanes a row.
template <class W, int G>
__global__ void count_undecided(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                const W* __restrict__ bits, i64 n, Order order, const u64* __restrict__ state,
                                i64* __restrict__ starts) {
    const i64 u = thread_id() / G;
    if (u >= n) return;
    const i64 kept = go_over_row<W, G>(indptr, indices, bits, order, (u32)u, state, [](i64, i64, bool) {});
    if (G == 1 || lane_id() == 0) starts[u + 1] = kept;
}

// These entries, row by row from starts[v] on.
template <class W, int G>
__global__ void copy_undecided(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                               const W* __restrict__ bits, i64 n, Order order, const u64* __restrict__ state,
                               const i64* __restrict__ starts, i32* __restrict__ kept_indices,
                               W* __restrict__ kept_bits) {
    const i64 u = thread_id() / G;
    if (u >= n) return;
    const i64 start = starts[u];
    go_over_row<W, G>(indptr, indices, bits, order, (u32)u, state, [&](i64 e, i64 place, bool keep) {
        if (!keep) return;
        kept_indices[start + place] = indices[e];
        kept_bits[start + place] = bits[e];
    });
}
