// Seeded graphs: the kernels of families/host.py, families/draw.py and families/weights.py on a GPU, bit for bit.
//
// Random words (common.cuh) become numbers by shifts and by +, * and / of doubles, rounded one by one as on the CPU,
// since the compiler fuses none (--fmad=false). Where rows differ in length, a block takes a tile of consecutive entries
// and each thread finds the rows of its own: no hub keeps one thread busy, and neighbouring threads touch neighbouring
// words.

constexpr i32 TILE = HOST_TILE;  // entries of a block

// visit(row, e) for each entry e of the block's tile. All threads of the block call it, once.
template <class Visit>
__device__ __forceinline__ void each_entry(i64 n, i64 entries, const i64* __restrict__ indptr, Visit visit) {
    __shared__ i64 ends[2];  // the rows of the first and of the last entry
    i64 start = (i64)blockIdx.x * TILE;
    i64 stop = start + TILE < entries ? start + TILE : entries;
    if (threadIdx.x < 2) ends[threadIdx.x] = row_of(indptr, 0, n - 1, threadIdx.x ? stop - 1 : start);
    __syncthreads();
    i64 row = ends[0], last = ends[1];
    for (i64 e = start + threadIdx.x; e < stop; e += blockDim.x) {
        row = row_of(indptr, row, last, e);
        visit(row, e);
    }
}

// ---- lattices ----

constexpr u32 CENTRE = 1u << 13;  // the node itself, among the 27 about it

// The nodes that `node` is joined to, as bits 9 (dz + 1) + 3 (dy + 1) + (dx + 1), which ascend with the nodes' numbers.
// A coordinate allows the step -1 unless it is 0, and +1 unless it is the last one. The three sets of steps are sums of
// powers of 2, of 8 and of 512 with exponents 0, 1, 2; no two triples give one bit, so their product is the set of
// triples.
__device__ __forceinline__ u32 around(u32 node, u32 depth, u32 height, u32 width, u32 offsets) {
    u32 line = node / width, x = node - line * width;
    u32 z = line / height, y = line - z * height;
    u32 xs = (u32)(x > 0) | 1u << 1 | (u32)(x + 1 < width) << 2;
    u32 ys = (u32)(y > 0) | 1u << 3 | (u32)(y + 1 < height) << 6;
    u32 zs = (u32)(z > 0) | 1u << 9 | (u32)(z + 1 < depth) << 18;
    return xs * ys * zs & offsets;
}

// indptr[v + 1] = the length of row v: all unknowns of the nodes around v's, but for v.
__global__ void count_lattice(i64 n, u32 depth, u32 height, u32 width, u32 unknowns, u32 offsets, i64* indptr) {
    i64 v = thread_id();
    if (v >= n) return;
    u32 nodes = __popc(around((u32)v / unknowns, depth, height, width, offsets));
    indptr[v + 1] = (i64)nodes * unknowns - 1;
}

// indices[e] = the neighbour of entry e. Entry k of a row that also held the vertex itself, at place `own`, would be
// unknown k % unknowns of the node of set bit number k / unknowns; the entries from `own` on have moved up by one.
__global__ void fill_lattice(i64 n, i64 entries, u32 depth, u32 height, u32 width, u32 unknowns, u32 offsets,
                             const i64* __restrict__ indptr, i32* __restrict__ indices) {
    each_entry(n, entries, indptr, [&](i64 v, i64 e) {
        u32 node = (u32)v / unknowns;
        u32 nodes = around(node, depth, height, width, offsets);
        u32 own = __popc(nodes & (CENTRE - 1)) * unknowns + ((u32)v - node * unknowns);
        u32 k = (u32)(e - indptr[v]);
        k += k >= own;
        u32 before = k / unknowns;
        for (u32 i = before; i; i--) nodes &= nodes - 1;
        u32 bit = __ffs(nodes) - 1;
        // Modulo 2^32, where a step back is a large number.
        u32 other = node + ((bit / 9 - 1) * height + bit / 3 % 3 - 1) * width + bit % 3 - 1;
        indices[e] = (i32)(other * unknowns + (k - before * unknowns));
    });
}

// ---- points in the square ----

constexpr int SIDE = HOST_SIDE;  // bits of a coordinate

__device__ __forceinline__ u32 coordinate(u64 seed, i64 i, u64 axis) {
    return (u32)(hash2(seed, PLACE, (u64)i, axis) >> (64 - SIDE));
}

// keys[i] = (cell of point i, i): no two are equal, so their order has the points of a cell in the order of i.
__global__ void number_points(i64 n, u64 seed, i64 cells, u64* keys) {
    i64 i = thread_id();
    if (i >= n) return;
    i64 x = coordinate(seed, i, 0), y = coordinate(seed, i, 1);
    keys[i] = pack((u32)((y * cells >> SIDE) * cells + (x * cells >> SIDE)), (u32)i);
}

// points[v] = (y, x) of the v-th point in the order of the sorted keys; start[c] = the first point of cell c or a later
// one, for c in 0..cells^2. The first point of a cell writes for the empty cells before it too.
__global__ void place_points(i64 n, u64 seed, i64 cells, const u64* __restrict__ keys, u64* points, i32* start) {
    i64 v = thread_id();
    if (v >= n) return;
    u64 key = keys[v];
    points[v] = pack(coordinate(seed, low(key), 1), coordinate(seed, low(key), 0));
    for (i64 c = v ? (i64)high(keys[v - 1]) + 1 : 0; c <= high(key); c++) start[c] = (i32)v;
    if (v == n - 1)
        for (i64 c = (i64)high(key) + 1; c <= cells * cells; c++) start[c] = (i32)n;
}

// Points whose squared distance is below `reach` are neighbours; they lie in the 3 by 3 cells about each other.
// Without FILL: indptr[v + 1] = how many v has. With FILL: row v of indices, from indptr[v] on.
template <bool FILL>
__global__ void join_near(i64 n, i64 cells, i64 reach, const u64* __restrict__ points, const i32* __restrict__ start,
                          i64* indptr, i32* __restrict__ indices) {
    i64 v = thread_id();
    if (v >= n) return;
    i32 x = (i32)low(points[v]), y = (i32)high(points[v]);
    i64 row = y * cells >> SIDE, col = x * cells >> SIDE;
    i64 left = col > 0 ? col - 1 : 0, right = col + 1 < cells ? col + 1 : col;
    i64 at = FILL ? indptr[v] : 0;
    for (i64 r = row > 0 ? row - 1 : 0; r <= row + 1 && r < cells; r++) {
        // Three cells in a row are one range of vertices.
        i64 stop = start[r * cells + right + 1];
        for (i64 u = start[r * cells + left]; u < stop; u++) {
            u64 point = points[u];
            i64 dx = (i32)low(point) - x, dy = (i32)high(point) - y;
            if (dx * dx + dy * dy < reach && u != v) {
                if (FILL) indices[at] = (i32)u;
                at++;
            }
        }
    }
    if (!FILL) indptr[v + 1] = at;
}

// weights[e] = 1 - d^2 / reach for entry e, whose ends are at distance d: whole numbers, and a quotient that is rounded.
template <class T>
__global__ void weigh_near(i64 n, i64 entries, i64 reach, const u64* __restrict__ points,
                           const i64* __restrict__ indptr, const i32* __restrict__ indices, T* __restrict__ weights) {
    each_entry(n, entries, indptr, [&](i64 v, i64 e) {
        u64 here = points[v], there = points[indices[e]];
        i64 dx = (i32)low(there) - (i32)low(here), dy = (i32)high(there) - (i32)high(here);
        weights[e] = (T)((double)(reach - (dx * dx + dy * dy)) / (double)reach);
    });
}

// ---- drawn edges ----

// A uniform integer in [0, bound): the top 53 bits of a word as a fraction, times the bound, rounded down.
__device__ __forceinline__ i64 below(u64 word, i64 bound) {
    return (i64)((double)(i64)(word >> 11) * 0x1p-53 * (double)bound);
}

// Graph500's quadrants: 0.57, 0.76 and 0.95 of 2^64, rounded down.
constexpr u64 A = HOST_A, AB = HOST_AB, ABC = HOST_ABC;

// (row[e], col[e]) = edge e of an R-MAT graph: one quadrant, a bit of each end, for each level.
__global__ void draw_rmat(i64 count, u64 seed, i64 scale, i32* __restrict__ row, i32* __restrict__ col) {
    i64 e = thread_id();
    if (e >= count) return;
    u32 u = 0, v = 0;
    for (u32 level = 0; level < (u32)scale; level++) {
        u64 word = hash2(seed, PLACE, (u64)e, level);
        u = u << 1 | (u32)(word >= AB);
        v = v << 1 | (u32)((word >= A) ^ (word >= AB) ^ (word >= ABC));
    }
    row[e] = (i32)u;
    col[e] = (i32)v;
}

// (row[e], col[e]) = two different vertices.
__global__ void draw_pairs(i64 count, u64 seed, i64 n, i32* __restrict__ row, i32* __restrict__ col) {
    i64 e = thread_id();
    if (e >= count) return;
    i64 u = below(hash2(seed, PLACE, (u64)e, 0), n);
    i64 v = below(hash2(seed, PLACE, (u64)e, 1), n - 1);
    row[e] = (i32)u;
    col[e] = (i32)(v + (v >= u));  // v is one of the others
}

// (row[e], col[e]) = a vertex of the left side and one of the right.
__global__ void draw_across(i64 count, u64 seed, i64 left, i64 right, i32* __restrict__ row, i32* __restrict__ col) {
    i64 e = thread_id();
    if (e >= count) return;
    row[e] = (i32)below(hash2(seed, PLACE, (u64)e, 0), left);
    col[e] = (i32)(left + below(hash2(seed, PLACE, (u64)e, 1), right));
}

// (row[e], col[e]) = a hub and its neighbour j, from the j-th of `degree` equal parts of the other vertices. Among all
// edges of the graph the first of these has the number `number`.
__global__ void draw_spokes(i64 count, u64 seed, i64 n, i64 hubs, i64 degree, i64 number, i32* __restrict__ row,
                            i32* __restrict__ col) {
    i64 e = thread_id();
    if (e >= count) return;
    i64 hub = e / degree * n / hubs, j = e % degree;
    i64 first = j * (n - 1) / degree, last = (j + 1) * (n - 1) / degree;
    i64 v = first + below(hash2(seed, PLACE, (u64)(number + e), 0), last - first);
    row[e] = (i32)hub;
    col[e] = (i32)(v + (v >= hub));
}

// ---- weights ----

// The rules of families/weights.py that are made here; any other code is the uniform rule.
constexpr i32 EXPONENTIAL = HOST_EXPONENTIAL, INTEGERS = HOST_INTEGERS, TRAP = HOST_TRAP;
constexpr double EPSILON = 0x1p-20;

// A uniform multiple of 2^-BITS in (0, 1].
template <int BITS>
__device__ __forceinline__ double uniform(u64 word) {
    return (double)(i64)((word >> (64 - BITS)) + 1) * (1.0 / (double)(1ull << BITS));
}

// An exponential variate of mean 1 (families/draw.py): its whole part is the first try whose descending run of words is
// odd.
template <int BITS>
__device__ inline double exponential(u64 word) {
    u64 step = 0;
    for (double whole = 0.0;; whole += 1.0) {
        u64 first = mix64(word ^ step++), last = first, fresh;
        bool odd = true;
        while ((fresh = mix64(word ^ step++)) < last) {
            last = fresh;
            odd = !odd;
        }
        if (odd) return whole + uniform<BITS>(first);
    }
}

// The weight of the edge u < v, exact for whole numbers up to 2^53.
template <int BITS>
__device__ __forceinline__ double weight(i32 code, u64 seed, i64 most, i64 u, i64 v) {
    if (code == TRAP) {
        if (v != u + 1 || u % 4 == 3) return EPSILON;
        return u % 4 == 1 ? 1.0 + EPSILON : 1.0;
    }
    u64 word = hash2(seed, WEIGHT, (u64)u, (u64)v);
    if (code == INTEGERS) return (double)(1 + below(word, most));
    if (code == EXPONENTIAL) return exponential<BITS>(word);
    return uniform<BITS>(word);
}

template <class T>
constexpr int BITS = 24;
template <>
constexpr int BITS<double> = 53;

// weights[e] = the weight of entry e by a rule other than unit and increasing.
template <class T>
__global__ void weigh(i64 n, i64 entries, i32 code, u64 seed, i64 most, const i64* __restrict__ indptr,
                      const i32* __restrict__ indices, T* __restrict__ weights) {
    each_entry(n, entries, indptr, [&](i64 u, i64 e) {
        i64 v = indices[e];
        weights[e] = (T)weight<BITS<T>>(code, seed, most, u < v ? u : v, u < v ? v : u);
    });
}

// upper[u] = how many neighbours of u are greater.
__global__ void count_upper(i64 n, const i64* __restrict__ indptr, const i32* __restrict__ indices, i64* upper) {
    i64 u = thread_id();
    if (u >= n) return;
    upper[u] = count_above(indptr, indices, u);
}

// weights[e] = the number, from 1 on, of the edge of entry e among all (u, v), u < v, in row order. `upper` is summed
// up by now, so upper[u] is the number of the last such edge of row u, which is the last entry of the row.
template <class T>
__global__ void number_edges(i64 n, i64 entries, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const i64* __restrict__ upper, T* __restrict__ weights) {
    each_entry(n, entries, indptr, [&](i64 u, i64 e) {
        i64 v = indices[e], place = e;
        if (v < u) {
            place = find(indices, indptr[v], indptr[v + 1], (i32)u);
            u = v;
        }
        weights[e] = (T)(upper[u] - (indptr[u + 1] - 1 - place));
    });
}
