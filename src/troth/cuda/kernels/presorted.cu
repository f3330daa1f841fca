// Locally-Dominant and Suitor on rows that are sorted by decreasing key: a vertex walks down its list and never turns.
//
// Reference: Md. Naim et al., Optimizing approximate weighted matching on Nvidia Kepler K40, HiPC 2015, section 2.1:
// with sorted lists the work is Theta(V + E). kernels/locally_dominant.cu and cpu/suitor.py say why no race matters.
//
// lists: the neighbours of a row, the best first; reached[v]: the place in them that v has come to. Invariant: all
// before it are matched (Locally-Dominant) or hold a better offer than v's (Suitor), and both for good. A stale, lower
// place only costs a second look.

// Three keys of every entry, the last counts most: what a stable sort needs to put each row in decreasing order.
template <class W>
__global__ void list_keys(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits,
                          i64 n, i64 total, Order order, u64* __restrict__ keys) {
    for (i64 v = thread_id() / WARP; v < n; v += thread_count() / WARP) {
        for (i64 e = indptr[v] + lane_id(); e < indptr[v + 1]; e += WARP) {
            keys[e] = (u32)~priority(order, (u32)indices[e]);
            keys[total + e] = ~(u64)bits[e];
            keys[2 * total + e] = (u64)v;
        }
    }
}

// ---- Locally-Dominant ----

// Algorithm 2: the candidate of s is the first unmatched vertex of what is left of its list.
__device__ __forceinline__ void process_vertex(const i64* __restrict__ indptr, const i32* __restrict__ lists, i32 s,
                                               i64* reached, i32* candidate, i32* mate, i32* queue, u32* tail) {
    i64 e = reached[s], stop = indptr[s + 1];
    while (e < stop && peek(mate + lists[e]) >= 0) ++e;
    reached[s] = e;
    i32 t = e < stop ? lists[e] : -1;
    *(volatile i32*)(candidate + s) = t;
    if (t < 0) return;
    __threadfence();
    if (peek(candidate + t) != s || atomicCAS(mate + min(s, t), -1, max(s, t)) != -1) return;
    *(volatile i32*)(mate + max(s, t)) = min(s, t);
    u32 place = atomicAdd(tail, 2u);
    queue[place] = s;
    queue[place + 1] = t;
}

// Lines 6 and 7 of Algorithm 1: thread s processes vertex s.
__global__ void walk_all(const i64* __restrict__ indptr, const i32* __restrict__ lists, i64 n, i64* reached,
                         i32* candidate, i32* mate, i32* queue, u32* tail) {
    i64 s = thread_id();
    if (s < n) process_vertex(indptr, lists, (i32)s, reached, candidate, mate, queue, tail);
}

// Lines 9 to 12: thread i takes u = queue[start + i] and processes the neighbours that wait for u.
__global__ void walk_queue(const i64* __restrict__ indptr, const i32* __restrict__ lists, i64 start, i64 stop,
                           i64* reached, i32* candidate, i32* mate, i32* queue, u32* tail) {
    i64 i = start + thread_id();
    if (i >= stop) return;
    i32 u = queue[i], partner = peek(mate + u);
    for (i64 e = indptr[u]; e < indptr[u + 1]; ++e) {
        i32 v = lists[e];
        if (v != partner && peek(candidate + v) == u)
            process_vertex(indptr, lists, v, reached, candidate, mate, queue, tail);
    }
}

// ---- Suitor ----

// Algorithm 3: thread u makes u's offer to the first of its list that takes it, and goes on with whom it displaces. A
// neighbour that refused has a better offer, and words of `state` only grow. Equal prefixes of lossy weights are
// settled in the rows as they were (indices, bits), which ascend.
template <class W>
__global__ void walk_suitors(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const W* __restrict__ bits, const i32* __restrict__ lists,
                             const W* __restrict__ list_bits, i64 n, Order order, i64* reached, u64* state) {
    if (thread_id() >= n) return;
    u32 u = (u32)thread_id();
    for (;;) {
        const u32 rank = priority(order, u);
        const i64 stop = indptr[u + 1];
        i64 e = *(volatile i64*)(reached + u);
        u64 held = 0;
        bool made = false;
        for (; e < stop; ++e) {
            const u32 v = (u32)lists[e];
            const u64 offer = pack(prefix(order, list_bits[e]), rank);
            held = peek(state + v);
            if (!wins(indptr, indices, bits, order, v, offer, held)) continue;
            *(volatile i64*)(reached + u) = e;  // before anyone can displace u
            __threadfence();
            while (!made && wins(indptr, indices, bits, order, v, offer, held)) {
                const u64 seen = atomicCAS(state + v, held, offer);
                made = seen == held;
                held = seen;
            }
            if (made) break;
        }
        if (!made || !held) return;  // nobody is left, or nobody was displaced
        __threadfence();
        u = vertex(order, low(held));
    }
}

// mate[v] = the vertex whose offer v holds, -1 where it holds none.
__global__ void read_suitors(const u64* __restrict__ state, i64 n, Order order, i32* __restrict__ mate) {
    i64 v = thread_id();
    if (v < n) mate[v] = state[v] ? (i32)vertex(order, low(state[v])) : -1;
}
