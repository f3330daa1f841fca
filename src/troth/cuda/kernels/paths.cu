// The heaviest matching of the edges {v, first[v]} and {v, second[v]}, which are paths and cycles; the definition is
// heaviest_on_paths in reference_auction.py, the plan in cuda/paths.py.
//
// Going along, gain(t) = max(0, w(t) - gain(t - 1)) is what edge t adds, and edge t is taken if its gain is positive and
// edge t + 1 is not taken: of every run of positive gains the last edge, the last but two, and so on. So whoever comes to
// the end of a run goes back over it, and nothing need be stored.
//
// T is the type of the weights as numbers.

constexpr int BLOCK = HOST_BLOCK;
constexpr i32 UNSEEN = -2;    // of mate[v]: not yet known; less: v is splitter number UNSEEN - 1 - mate[v]
constexpr u32 NOWHERE = ~0u;
constexpr i64 FAR = 1ll << 61;  // more than any gain
SAME_SIZE(Units, UNITS);

struct Control {
    u64 ends, splitters;
    u64 given_up;  // components that are longer than the limit: 1 or more where there are some
    u32 arrived, unused;
};
SAME_SIZE(Control, CONTROL);

// ahead[v] and behind[v] are the weights, in units, of v's edges to first[v] and second[v]. FRESH: they may change while
// a kernel runs.
template <bool FRESH>
struct Links {
    const i32 *first, *second;
    i64 *ahead, *behind;

    // All that may be needed of x is read at once: a walk's time is that of reads that wait for each other.
    __device__ __forceinline__ i32 next(i32 x, i32 came) const {
        i32 one = first[x], other = second[x];
        return one == came ? other : one;
    }
    __device__ __forceinline__ i64 weight(i32 x, i32 y) const {
        i64 one = FRESH ? __ldcg(ahead + x) : ahead[x], other = FRESH ? __ldcg(behind + x) : behind[x];
        return first[x] == y ? one : other;
    }
    __device__ __forceinline__ void change(i32 x, i32 y, i64 weight) const {
        (first[x] == y ? ahead : behind)[x] = weight;
        (first[y] == x ? ahead : behind)[y] = weight;
    }
    __device__ __forceinline__ bool is_end(i32 x) const { return (first[x] < 0) != (second[x] < 0); }

    // The last edge of `run` edges, from `came` to x, is taken, and every other one before it.
    __device__ __forceinline__ void pair_back(i32 x, i32 came, i64 run, i32* mate) const {
        for (;;) {
            mate[x] = came;
            mate[came] = x;
            run -= 2;
            if (run <= 0) return;
            i32 before = next(came, x);
            came = next(before, came);
            x = before;
        }
    }

    // Take edges from x on, away from `came`, up to the vertex `last`, or to the end.
    __device__ __forceinline__ void take(i32 x, i32 came, i32 last, i32* mate) const {
        i64 gain = 0, run = 0;
        for (;;) {
            i32 y = next(x, came);
            i64 more = max(0ll, weight(x, y) - gain);
            mate[x] = -1;
            if (x == last) y = -1;
            if (y < 0) more = 0;
            if (run && !more) pair_back(x, came, run, mate);
            if (y < 0) return;
            run = more ? run + 1 : 0;
            gain = more;
            came = x;
            x = y;
        }
    }

    // The path that ends at v, where v is the end to start from; false where the other is more than `limit` edges away.
    __device__ __forceinline__ bool take_path(const Order& mixing, i32 v, i64 limit, i32* mate) const {
        i32 came = -1, x = v;
        for (i64 steps = 0;; ++steps) {
            i32 y = next(x, came);
            if (y < 0) break;
            if (steps == limit) return false;
            came = x;
            x = y;
        }
        if (starts(mixing, v, x)) take(v, -1, -1, mate);
        return true;
    }

    // Whether a path with the ends v and u is walked from v.
    __device__ __forceinline__ bool starts(const Order& mixing, i32 v, i32 u) const {
        bool here = first[v] >= 0, there = first[u] >= 0;
        return here != there ? here : priority(mixing, (u32)v) > priority(mixing, (u32)u);
    }

    // The cycle that v is on, where v has the greatest priority there; false where `limit` edges do not tell.
    __device__ __forceinline__ bool take_cycle(const Order& mixing, i32 v, i64 limit, i32* mate) const {
        u32 rank = priority(mixing, (u32)v);
        i32 c1 = first[v], came = v, x = c1;
        for (i64 steps = 1; x != v; ++steps) {
            if (priority(mixing, (u32)x) > rank) return true;
            if (steps == limit) return false;
            i32 y = next(x, came);
            if (y < 0) return true;  // this is a path, too long for its ends
            came = x;
            x = y;
        }
        // All edges but the first one, against the first one and all but its neighbours: both sums may be beyond 64 bits,
        // their difference is not.
        u64 difference = (u64)weight(v, c1);
        i64 outside = 0, inside = 0;
        came = v;
        for (x = c1; x != v;) {
            i32 y = next(x, came);
            i64 w = weight(x, y);
            outside = max(0ll, w - outside);
            difference -= (u64)outside;
            if (came != v && y != v) {
                inside = max(0ll, w - inside);
                difference += (u64)inside;
            }
            came = x;
            x = y;
        }
        if ((i64)difference > 0) {
            take(next(c1, v), c1, second[v], mate);
            mate[v] = c1;
            mate[c1] = v;
        } else {
            take(c1, v, v, mate);
        }
        return true;
    }
};

// ---- kernels ----
//
// All take the number of vertices, then what they read, then what they write. With `oriented` the second of v always has
// v for its first: then a path starts where there is no second, and only first edges' weights are needed.

// Pairs are settled; the other vertices that have edges are UNSEEN, their weights are found and path ends are listed.
template <class T>
__global__ void list_ends(i64 n, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                          const T* __restrict__ weights, Units units, i64 oriented, const i32* __restrict__ first,
                          const i32* __restrict__ second, i64* __restrict__ ahead, i64* __restrict__ behind,
                          i32* __restrict__ mate, i32* __restrict__ ends, Control* control) {
    i64 v = thread_id();
    i32 f = v < n ? first[v] : -1, s = v < n ? second[v] : -1;
    if (v < n) mate[v] = f == s ? f : UNSEEN;
    if (f != s) {
        if (f >= 0) ahead[v] = units_up(weights[edge_place(indptr, indices, (i32)v, f)], units);
        if (s >= 0 && !oriented) behind[v] = units_up(weights[edge_place(indptr, indices, (i32)v, s)], units);
    }
    bool listed = oriented ? f >= 0 && s < 0 : (f < 0) != (s < 0);
    __syncwarp();
    u64 to = place_in_list(listed, &control->ends);
    if (listed) ends[to] = (i32)v;
}

// Every path of up to `limit` edges, a thread for each listed end.
__global__ void walk_paths(i64 limit, Order mixing, const i32* __restrict__ first, const i32* __restrict__ second,
                           i64* ahead, i64* behind, const i32* __restrict__ ends, i32* mate, Control* control) {
    Links<false> links = {first, second, ahead, behind};
    i64 count = (i64)control->ends;
    for (i64 i = thread_id(); i < count; i += thread_count()) {
        if (!links.take_path(mixing, ends[i], limit, mate)) control->given_up = 1;
    }
}

// Every cycle of up to `limit` edges: candidates are whom no path has reached.
__global__ void walk_cycles(i64 n, i64 limit, Order mixing, const i32* __restrict__ first,
                            const i32* __restrict__ second, i64* ahead, i64* behind, i32* mate, Control* control) {
    Links<false> links = {first, second, ahead, behind};
    i64 v = thread_id();
    if (v >= n || peek(mate + v) != UNSEEN || first[v] < 0 || second[v] < 0) return;
    if (!links.take_cycle(mixing, (i32)v, limit, mate)) control->given_up = 1;
}

// ---- long ones ----
//
// A component that is too long for one thread is cut at *splitters*: its ends, and every vertex of a priority that few
// have, so that the greatest of a cycle is one. A *segment* leads from a splitter, by its first (side 0) or its second
// (side 1), to the next one. Threads summarise segments; one thread goes along the segments of a component; then threads
// take their edges.

// What a segment makes of the gain x before it, 0 <= x <= FAR: the gain after it is sign x + shift, bounded by the
// values at 0 and at FAR, and its edges' gains add up to base + max(0, full - x). (The heaviest matching of the segment
// is base without its first vertex, and base + full with it.)
struct Clamp {
    i64 near, far, sign, shift;
    u64 base;  // modulo 2^64
    i64 full;

    __device__ __forceinline__ static Clamp nothing() { return {0, FAR, 1, 0, 0, 0}; }
    __device__ __forceinline__ static Clamp fetch(const Clamp* at) {
        return {__ldcg(&at->near), __ldcg(&at->far),  __ldcg(&at->sign),
                __ldcg(&at->shift), __ldcg(&at->base), __ldcg(&at->full)};
    }
    // One edge more. `shift` is small where the bounds differ, and of no use where they do not.
    __device__ __forceinline__ void add(i64 w) {
        u64 most = base + (u64)full + (u64)max(0ll, w - near);
        base += (u64)max(0ll, w - far);
        full = (i64)(most - base);
        near = max(0ll, w - near);
        far = max(0ll, w - far);
        sign = -sign;
        shift = near == far ? 0 : w - shift;
    }
    __device__ __forceinline__ i64 after(i64 x) const {
        if (near == far) return near;
        return min(max(sign * x + shift, min(near, far)), max(near, far));
    }
    __device__ __forceinline__ u64 sum(i64 x) const { return base + (u64)max(0ll, full - x); }
};

struct Segment {
    Clamp clamp;
    i64 entry;        // the gain before it; -1 where it is not walked, but the same edges from the other side
    u32 to, next;     // the splitter at its end, and the segment that goes on from there, or NOWHERE
    u32 before;       // the segment that leads to it
    u32 edges;
    u32 rule;         // whether its first edge is taken: 0: no; 1: yes; 2: if the edge after it is not; 3: if that is
    u32 follower;     // whether the edge after it is taken
};
SAME_SIZE(Segment, SEGMENT);

struct Splitter {
    i32 v;
    u32 last;    // of a component's start: its last segment; else NOWHERE
    u32 inside;  // of a cycle's start: the edge to its first is taken
    u32 unused;
};
SAME_SIZE(Splitter, SPLITTER);

struct Long {
    Links<true> links;
    Splitter* splitters;
    Segment* segments;  // 2 i + side for splitter i
    i32* mate;

    __device__ __forceinline__ i32 vertex_of(u32 i) const { return __ldcg(&splitters[i].v); }
    __device__ __forceinline__ i32 neighbour(i32 v, u32 side) const { return side ? links.second[v] : links.first[v]; }

    // Segment k, from its first edge to the next splitter.
    __device__ inline void summarise(u32 k) const {
        i32 x = vertex_of(k / 2), came = neighbour(x, 1 - k % 2);
        Segment& segment = segments[k];
        Clamp clamp = Clamp::nothing();
        u32 edges = 0;
        i32 mark;
        do {
            i32 y = links.next(x, came);
            clamp.add(links.weight(x, y));
            came = x;
            x = y;
            ++edges;
            mark = __ldcg(mate + x);
        } while (mark >= UNSEEN);
        u32 to = (u32)(UNSEEN - 1 - mark), side = links.first[x] == came ? 1 : 0;
        segment.clamp = clamp;
        segment.edges = edges;
        segment.to = to;
        segment.next = neighbour(x, side) < 0 ? NOWHERE : 2 * to + side;
    }

    // The gains of a component add up to this, walked from splitter i, segment k, to its end or back to i.
    __device__ inline u64 sum(u32 i, u32 k) const {
        u64 total = 0;
        i64 gain = 0;
        do {
            Clamp clamp = Clamp::fetch(&segments[k].clamp);
            total += clamp.sum(gain);
            gain = clamp.after(gain);
            if (__ldcg(&segments[k].to) == i) break;
            k = __ldcg(&segments[k].next);
        } while (k != NOWHERE);
        return total;
    }

    // The gain before every segment.
    __device__ inline void enter(u32 i, u32 k) const {
        i64 gain = 0;
        u32 before = NOWHERE;
        do {
            segments[k].entry = gain;
            segments[k].before = before;
            gain = Clamp::fetch(&segments[k].clamp).after(gain);
            before = k;
            if (__ldcg(&segments[k].to) == i) break;
            k = __ldcg(&segments[k].next);
        } while (k != NOWHERE);
        splitters[i].last = before;
    }

    // Splitter i decides how its component is walked, where that starts at i.
    __device__ inline void start(const Order& mixing, u32 i, bool oriented) const {
        i32 v = vertex_of(i);
        u32 k = 2 * i;
        if (links.is_end(v)) {
            if (links.first[v] < 0) {
                if (oriented) return;
                k += 1;
            }
            u32 last = k;
            while (__ldcg(&segments[last].next) != NOWHERE) last = __ldcg(&segments[last].next);
            if (links.starts(mixing, v, vertex_of(__ldcg(&segments[last].to)))) enter(i, k);
            return;
        }
        // A cycle's greatest vertex: of this one's edges, the one to its first and perhaps two others get no weight.
        u32 last = k, rank = priority(mixing, (u32)v);
        for (;;) {
            u32 to = __ldcg(&segments[last].to);
            if (to == i) break;
            if (priority(mixing, (u32)vertex_of(to)) > rank) return;
            last = __ldcg(&segments[last].next);
            if (last == NOWHERE) return;
        }
        i32 c1 = links.first[v], c2 = links.next(c1, v), end = links.second[v];
        i64 w0 = links.weight(v, c1), w1 = links.weight(c1, c2), w2 = links.weight(end, v);
        u32 second = __ldcg(&segments[k].edges) == 1 ? __ldcg(&segments[k].next) : k;  // where c1 - c2 is
        links.change(v, c1, 0);
        summarise(k);
        u64 outside = sum(i, k);
        set_inside(k, second, last, c1, c2, end, v, 0, 0);
        bool inside = (i64)((u64)w0 + sum(i, k) - outside) > 0;
        if (!inside) set_inside(k, second, last, c1, c2, end, v, w1, w2);
        splitters[i].inside = inside;
        enter(i, k);
    }
    __device__ inline void set_inside(u32 k, u32 second, u32 last, i32 c1, i32 c2, i32 end, i32 v, i64 w1,
                                      i64 w2) const {
        links.change(c1, c2, w1);
        links.change(end, v, w2);
        summarise(k);
        if (second != k) summarise(second);
        if (last != k && last != second) summarise(last);
    }

    // The rule of segment k: a run of gains from its first edge on ends before the first gain of 0, or goes on behind it.
    __device__ inline void find_rule(u32 k) const {
        Segment& segment = segments[k];
        i32 x = vertex_of(k / 2), came = neighbour(x, 1 - k % 2);
        i64 gain = __ldcg(&segment.entry);
        u32 edges = __ldcg(&segment.edges), run = 0;
        while (run < edges) {
            i32 y = links.next(x, came);
            gain = max(0ll, links.weight(x, y) - gain);
            if (!gain) break;
            ++run;
            came = x;
            x = y;
        }
        segment.rule = run < edges ? run % 2 : 3 - run % 2;
    }

    // From the end of the component that starts at splitter i back: whether the edge after each segment is taken.
    __device__ inline void follow_back(u32 i) const {
        u32 taken = 0;
        for (u32 k = __ldcg(&splitters[i].last); k != NOWHERE; k = __ldcg(&segments[k].before)) {
            u32 rule = __ldcg(&segments[k].rule);
            segments[k].follower = taken;
            taken = rule < 2 ? rule : rule == 2 ? !taken : taken;
        }
    }

    // Take the edges of segment k. Splitters' mates are -1 before.
    __device__ inline void take(u32 k) const {
        const Segment& segment = segments[k];
        i32 x = vertex_of(k / 2), came = neighbour(x, 1 - k % 2);
        i64 gain = __ldcg(&segment.entry), run = 0;
        u32 edges = __ldcg(&segment.edges);
        for (u32 t = 1; t <= edges; ++t) {
            i32 y = links.next(x, came);
            i64 more = max(0ll, links.weight(x, y) - gain);
            if (run && !more) links.pair_back(x, came, run, mate);
            run = more ? run + 1 : 0;
            gain = more;
            came = x;
            x = y;
            if (t < edges) mate[x] = -1;
        }
        if (!__ldcg(&segment.follower)) {
            if (run) links.pair_back(x, came, run, mate);
        } else if (run > 1) {
            links.pair_back(came, links.next(came, x), run - 1, mate);
        }
    }
};

// All components that were given up. `most` splitters have room; those of `rare` priority or above are some. What is
// left (a cycle without a splitter, or all if there are too many splitters) is walked by one thread each. All blocks run
// at one time.
__global__ void __launch_bounds__(BLOCK, 2) settle_long(
        i64 n, i64 oriented, i64 most, u64 rare, Order mixing, const i32* __restrict__ first,
        const i32* __restrict__ second, i64* ahead, i64* behind, Splitter* splitters, Segment* segments, i32* mate,
        Control* control) {
    if (!control->given_up) return;
    Links<true> links = {first, second, ahead, behind};
    Long all = {links, splitters, segments, mate};
    u32 met = 0;
    i64 me = thread_id(), threads = thread_count();
    for (i64 base = (i64)blockIdx.x * BLOCK; base < n; base += (i64)gridDim.x * BLOCK) {
        i32 v = (i32)(base + threadIdx.x);
        bool splits = v < n && mate[v] == UNSEEN && (links.is_end(v) || priority(mixing, (u32)v) >= rare);
        u64 i = place_in_list(splits, &control->splitters);
        if (splits && i < (u64)most) {
            splitters[i] = {v, NOWHERE, 0, 0};
            mate[v] = UNSEEN - 1 - (i32)i;
        }
    }
    meet(&control->arrived, ++met * gridDim.x);
    i64 count = (i64)peek(&control->splitters);
    if (count <= most) {
        for (i64 k = me; k < 2 * count; k += threads) {
            segments[k].entry = -1;
            bool exists = !(oriented && k % 2) && all.neighbour(all.vertex_of((u32)(k / 2)), k % 2) >= 0;
            if (exists) all.summarise((u32)k);
        }
        meet(&control->arrived, ++met * gridDim.x);
        for (i64 i = me; i < count; i += threads) all.start(mixing, (u32)i, oriented);
        meet(&control->arrived, ++met * gridDim.x);
        for (i64 k = me; k < 2 * count; k += threads) {
            if (__ldcg(&segments[k].entry) >= 0) all.find_rule((u32)k);
        }
        meet(&control->arrived, ++met * gridDim.x);
        for (i64 i = me; i < count; i += threads) {
            all.follow_back((u32)i);
            mate[all.vertex_of((u32)i)] = -1;
        }
        meet(&control->arrived, ++met * gridDim.x);
        for (i64 k = me; k < 2 * count; k += threads) {
            if (__ldcg(&segments[k].entry) >= 0) all.take((u32)k);
        }
        meet(&control->arrived, ++met * gridDim.x);
        for (i64 i = me; i < count; i += threads) {
            if (!__ldcg(&splitters[i].inside)) continue;
            i32 v = all.vertex_of((u32)i), c1 = links.first[v];
            mate[v] = c1;
            mate[c1] = v;
        }
        meet(&control->arrived, ++met * gridDim.x);
    }
    for (i64 v = me; v < n; v += threads) {
        if (peek(mate + v) > UNSEEN) continue;
        if (links.is_end((i32)v)) links.take_path(mixing, (i32)v, n, mate);
        else links.take_cycle(mixing, (i32)v, n, mate);
    }
}
