// The auction's prices, and the arms of the exchanges, which are chosen alike; reference_auction.py defines both, and
// the plan is in cuda/auction.py.
//
// state[v]: the greatest bid for v, its float32 bits << 32 | priority of the bidder, 0 for none. Words only grow.
// prices[v]: that bid, once more: bidders read it at random, and half the bytes stay in the cache.
//
// T is the type of the weights as numbers: float, double, or the unsigned integer of their width.

constexpr int BLOCK = HOST_BLOCK;
constexpr int ENTRIES = HOST_ENTRIES;  // of a row that each of a group's lanes reads at most; longer ones are a warp's
constexpr int BIDS = 4;                // that a thread has on their way at a time
constexpr i64 PIECE = HOST_PIECE;      // entries: rows of more are cut into such pieces, for a warp each
constexpr u32 NOBODY = ~0u;
constexpr int COUNT_SHIFT = 36;        // a word counts long rows above this bit and their pieces below it
constexpr u64 COUNT_MASK = (1ull << COUNT_SHIFT) - 1;
constexpr double MONEY = 0x1p30;       // what a price of 1 counts, in whole numbers, where prices are added up

// What the rounds count; three take turns, so that one can be cleared while others are read and filled.
struct Control {
    u64 waiting[3], longs[3];  // who is active: how many with rows that are not long, and the long rows with their pieces
    u64 unmet[3], paid[3];     // the profits that they look for, and what a round adds to all prices
    u32 arrived;               // at the grid's barrier, ever
    u32 rounds;                // the last word: the host reads it there
};
SAME_SIZE(Control, CONTROL);

// Long rows: row i is that of vertex row[i], piece first[i] its first, owner[p] the row of piece p; done[i] counts the
// pieces that were read, and best[2 p..] has the two best keys of a piece. There are two of the first three, since one
// is read while the other is filled.
struct Longs {
    u32 *row, *first, *owner, *done;
    u64* best;
    i64 most_rows, most_pieces;

    __device__ __forceinline__ Longs of(u32 round) const {
        i64 side = round % 2;
        return {row + side * most_rows, first + side * most_rows, owner + side * most_pieces, done, best, 0, 0};
    }
    __device__ inline void append(u32 u, i64 size, u64* counts) const {
        u64 pieces = (u64)((size + PIECE - 1) / PIECE), at = atomicAdd(counts, 1ull << COUNT_SHIFT | pieces);
        u64 slot = at >> COUNT_SHIFT, p = at & COUNT_MASK;
        row[slot] = u;
        first[slot] = (u32)p;
        for (u64 i = 0; i < pieces; ++i) owner[p + i] = (u32)slot;
    }
};
SAME_SIZE(Longs, LONGS);

SAME_SIZE(Scale, SCALE);

// ---- choosing ----

// The two greatest keys, profit bits << 32 | priority of v ^ mask(u) in the mixing order; 0 where there is none.
struct Two {
    u64 best, second;

    __device__ __forceinline__ void add(u64 key) {
        second = max(second, min(best, key));
        best = max(best, key);
    }
    __device__ __forceinline__ void add(const Two& other) {
        second = max(max(second, other.second), min(best, other.best));
        best = max(best, other.best);
    }
    // Over groups of `lanes` lanes, a power of two; all of them get it. The whole warp calls it.
    __device__ __forceinline__ Two of_group(int lanes) const {
        Two two = *this;
        for (int step = lanes / 2; step; step /= 2) {
            Two other = {__shfl_xor_sync(FULL, two.best, step), __shfl_xor_sync(FULL, two.second, step)};
            two.add(other);
        }
        return two;
    }
};

// Rows, and the prices at which their entries are judged. These may change between meetings of the grid, each of which
// empties the L1 cache (a fence that acquires does): plain reads are right, and hubs' prices stay near. A lane has QUADS
// times four entries on their way at a time.
template <class T, int QUADS>
struct Chooser {
    Rows<T> rows;
    Scale scale;
    Order mixing;
    u64 seed;
    const float* prices;

    __device__ __forceinline__ u32 mask(u32 u) const { return (u32)(hash1(seed, BID, u) >> 32); }
    __device__ __forceinline__ i64 size(u32 u) const { return rows.indptr[u + 1] - rows.indptr[u]; }

    // One lane's part of `count` entries from `begin` on: QUADS times four in a row at a time, those of the next lane
    // behind them. `most` is the greatest reach(begin, count) in the warp, all of which calls it. Without PRICED all
    // prices are 0. A price is read only where the value itself reaches what two entries of one lane of the group have.
    template <bool PRICED>
    __device__ __forceinline__ Two read(i64 begin, i32 count, i32 most, int lane, int lanes, u32 mask) const {
        Two two = {0, 0};
        u32 floor = 1;
        i32 apart = 4 * lanes, step = QUADS * apart;
        for (i32 at = 4 * lane - (i32)(begin & 3); most > 0; at += step, most -= step) {
            Four<T> four[QUADS];
            float profit[4 * QUADS];
#pragma unroll
            for (int q = 0; q < QUADS; ++q) four[q].template read<false>(rows, begin, at + q * apart, count);
#pragma unroll
            for (int i = 0; i < 4 * QUADS; ++i) {
                bool there = (u32)(at + i / 4 * apart + i % 4) < (u32)count;
                profit[i] = there ? value_of(four[i / 4].w[i % 4], scale) : 0.0f;
            }
            if (PRICED) {
                float paid[4 * QUADS];
#pragma unroll
                for (int i = 0; i < 4 * QUADS; ++i) {
                    paid[i] = __float_as_uint(profit[i]) >= floor ? prices[four[i / 4].v[i % 4]] : profit[i];
                }
#pragma unroll
                for (int i = 0; i < 4 * QUADS; ++i) profit[i] -= paid[i];
            }
#pragma unroll
            for (int i = 0; i < 4 * QUADS; ++i) {
                u32 bits = __float_as_uint(profit[i]);
                if (profit[i] > 0.0f && bits >= floor) {
                    two.add(pack(bits, priority(mixing, (u32)four[i / 4].v[i % 4] ^ mask)));
                }
            }
            if (most > step) {
                floor = max(floor, high(two.second));
                __syncwarp();
                if (PRICED && lanes == WARP) floor = warp_max(floor);
                for (int x = lanes / 2; PRICED && lanes < WARP && x; x /= 2) {
                    floor = max(floor, __shfl_xor_sync(FULL, floor, x));
                }
            }
        }
        __syncwarp();
        return two;
    }

    // How many entries are read for `count` from `begin` on, from a multiple of four on.
    __device__ __forceinline__ static i32 reach(i64 begin, i32 count) { return count ? count + (i32)(begin & 3) : 0; }

    // The two best of some entries, which the whole warp reads.
    template <bool PRICED>
    __device__ __forceinline__ Two read_alone(i64 begin, i32 count, u32 mask) const {
        return read<PRICED>(begin, count, reach(begin, count), (int)lane_id(), WARP, mask).of_group(WARP);
    }

    // The two best of the row of each group of 2^shift lanes, known to all of them; its lanes give the same arguments.
    // The warp reads rows of more than ENTRIES a lane together, one after the other. The whole warp calls it.
    template <bool PRICED>
    __device__ __forceinline__ Two best_two(i64 begin, i32 count, int shift, u32 mask) const {
        int lanes = 1 << shift, lane = lane_id() & (lanes - 1);
        bool wide = count > ENTRIES << shift;
        i32 size = wide ? 0 : count, most = (i32)warp_max((u32)reach(begin, size));
        Two two = read<PRICED>(begin, size, most, lane, lanes, mask).of_group(lanes);
        u32 left = __ballot_sync(FULL, wide && lane == 0);
        while (left) {
            int from = __ffs(left) - 1;
            left &= left - 1;
            i64 its_begin = __shfl_sync(FULL, begin, from);
            i32 its_count = __shfl_sync(FULL, count, from);
            u32 its_mask = __shfl_sync(FULL, mask, from);
            Two found = read_alone<PRICED>(its_begin, its_count, its_mask);
            if ((int)lane_id() >> shift == from >> shift) two = found;
        }
        return two;
    }

    // A warp each reads the pieces of long rows. Whoever is the last of a row calls found(u, slot, two), with one lane.
    template <bool PRICED, class Found>
    __device__ __forceinline__ void read_longs(const Longs& longs, i64 pieces, Found found) const {
        for (i64 p = thread_id() / WARP; p < pieces; p += thread_count() / WARP) {
            u32 slot = __ldcg(longs.owner + p), u = __ldcg(longs.row + slot), first = __ldcg(longs.first + slot);
            i64 size = this->size(u), from = (p - first) * PIECE;
            u32 parts = (u32)((size + PIECE - 1) / PIECE), others = 0;
            i32 count = (i32)min(PIECE, size - from);
            Two two = read_alone<PRICED>(rows.indptr[u] + from, count, mask(u));
            if (lane_id() == 0) {
                longs.best[2 * p] = two.best;
                longs.best[2 * p + 1] = two.second;
                __threadfence();
                others = atomicAdd(longs.done + slot, 1u);
                __threadfence();
            }
            if (__shfl_sync(FULL, others, 0) != parts - 1) continue;
            __syncwarp();
            two = {0, 0};
            for (u64 i = (u64)first + lane_id(); i < (u64)first + parts; i += WARP) {
                two.add(Two{peek(longs.best + 2 * i), peek(longs.best + 2 * i + 1)});
            }
            two = two.of_group(WARP);
            if (lane_id() != 0) continue;
            longs.done[slot] = 0;
            found(u, slot, two);
        }
    }

    // The rows of the vertices 0..n - 1 that look (all where `looks` is null) but the long ones, which are listed:
    // found(u, two) by one lane each; two is 0 where the row is long.
    template <bool PRICED, class Found>
    __device__ __forceinline__ void read_rows(i64 n, int shift, const u8* __restrict__ looks, const Longs& longs,
                                              u64* counts, Found found) const {
        bool leads = (lane_id() & ((1 << shift) - 1)) == 0;
        for (i64 at = thread_id() - lane_id(); at >> shift < n; at += thread_count()) {
            i64 u = (at + lane_id()) >> shift;
            bool looking = u < n && (!looks || looks[u]);
            if (!__any_sync(FULL, looking)) continue;
            i64 begin = looking ? rows.indptr[u] : 0, size = looking ? rows.indptr[u + 1] - begin : 0;
            if (size > PIECE && leads) longs.append((u32)u, size, counts);
            i32 count = size > PIECE ? 0 : (i32)size;
            __syncwarp();
            Two two = best_two<PRICED>(begin, count, shift, mask((u32)u));
            if (leads && looking) found((u32)u, two);
        }
    }
};

// ---- bids ----

__device__ __forceinline__ u64 money(u32 bits) { return (u64)((double)__uint_as_float(bits) * MONEY); }

// The bid of u, who has found `two`, goes to targets[place] and words[place]; the word is 0 where there was no profit.
// Returns the profit, in money.
template <bool PRICED, class Choose>
__device__ __forceinline__ u64 make_bid(const Choose& choose, const Order& order, float eps, u32 u, const Two& two,
                                        u64 place, u32* targets, u64* words) {
    if (!two.best) {
        words[place] = 0;
        return 0;
    }
    u32 v = vertex(choose.mixing, low(two.best)) ^ choose.mask(u);
    float best = __uint_as_float(high(two.best)), second = __uint_as_float(high(two.second));
    float price = PRICED ? choose.prices[v] : 0.0f;
    float bid = (price + (best - second)) + eps * (price + best);
    u32 bits = max(__float_as_uint(bid), __float_as_uint(price) + 1);  // at least the next float above
    targets[place] = v;
    words[place] = pack(bits, priority(order, u));
    return money(high(two.best));
}

// Round 1, in which all prices are 0: everybody's bid, but for those with long rows, which are listed for round 1.
template <class T>
__global__ void __launch_bounds__(BLOCK, 6) open_auction(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n, i64 shift,
        Scale scale, Order order, Order mixing, u64 seed, float eps, Longs longs, u32* targets, u64* words,
        Control* control) {
    Chooser<T, 1> choose = {{indptr, indices, weights, indptr[n]}, scale, mixing, seed, nullptr};
    choose.template read_rows<false>(n, (int)shift, nullptr, longs.of(1), &control->longs[1], [&](u32 u, const Two& two) {
        make_bid<false>(choose, order, eps, u, two, u, targets, words);
    });
}

// From the bids of round 1 to the end. A round: the active make bids from the prices as they are (`targets` and
// `words`, at their place in the list, at n + i for long row i); all blocks meet; the bids count, and who loses or is
// displaced is in the next list, exactly one vertex a bid or none; all blocks meet. `active` has two sides, of n.
// All blocks run at one time.
template <class T>
__global__ void __launch_bounds__(BLOCK, 3) hold_auction(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n, i64 shift,
        Scale scale, Order order, Order mixing, u64 seed, float eps, double slack, i64 rounds, Longs all_longs, u64* state,
        float* prices, u32* active, u32* targets, u64* words, Control* control) {
    Chooser<T, 2> choose = {{indptr, indices, weights, indptr[n]}, scale, mixing, seed, prices};
    u32 met = 0, round = 1;
    u64 paid = 0;
    const bool any_long = peek(&control->longs[1]) != 0;
    for (; round <= rounds; ++round) {
        i64 count = round == 1 ? n : (i64)peek(&control->waiting[round % 3]);
        u64 listed = peek(&control->longs[round % 3]);
        i64 rows = (i64)(listed >> COUNT_SHIFT), pieces = (i64)(listed & COUNT_MASK);
        if (!count && !rows) break;
        if (thread_id() == 0) {  // what was read before the last meeting, and is not filled before the next
            control->waiting[(round + 2) % 3] = control->longs[(round + 2) % 3] = 0;
            control->unmet[(round + 1) % 3] = control->paid[(round + 1) % 3] = 0;
        }
        Longs longs = all_longs.of(round), next_longs = all_longs.of(round + 1);
        const u32* now = active + round % 2 * n;
        u32* next = active + (round + 1) % 2 * n;

        u64 unmet = 0;
        if (round == 1) {
            choose.template read_longs<false>(longs, pieces, [&](u32 u, u32 slot, const Two& two) {
                make_bid<false>(choose, order, eps, u, two, n + slot, targets, words);
            });
        } else {
            choose.template read_longs<true>(longs, pieces, [&](u32 u, u32 slot, const Two& two) {
                unmet += make_bid<true>(choose, order, eps, u, two, n + slot, targets, words);
            });
            int wide = (int)shift;  // where few are active, more lanes read a row
            while (wide < 5 && count << (wide + 1) <= thread_count()) ++wide;
            bool leads = (lane_id() & ((1 << wide) - 1)) == 0;
            // Whose turn it is after the next, and where the row of the next is, are on their way meanwhile.
            i64 at = thread_id() - lane_id(), i = (at + lane_id()) >> wide, each = thread_count() >> wide;
            u32 next_u = i < count ? __ldcg(now + i) : 0, third_u = i + each < count ? __ldcg(now + i + each) : 0;
            i64 next_begin = indptr[next_u], next_end = indptr[next_u + 1];
            for (; at >> wide < count; at += thread_count(), i += each) {
                u32 u = next_u;
                i64 begin = next_begin;
                i32 size = i < count ? (i32)(next_end - begin) : 0;
                next_u = third_u;
                next_begin = indptr[next_u], next_end = indptr[next_u + 1];
                third_u = i + 2 * each < count ? __ldcg(now + i + 2 * each) : 0;
                __syncwarp();
                Two two = choose.template best_two<true>(begin, size, wide, choose.mask(u));
                if (leads && i < count) unmet += make_bid<true>(choose, order, eps, u, two, i, targets, words);
            }
            add_up_block(&control->unmet[round % 3], unmet);
        }
        meet(&control->arrived, ++met * gridDim.x);
        if (round > 1 && (double)peek(&control->unmet[round % 3]) <= slack * (double)paid) break;

        u64 more = 0;
        i64 apart = count + rows < BIDS * thread_count() ? thread_count() : BLOCK;
        i64 first = apart == BLOCK ? (i64)blockIdx.x * BIDS * BLOCK + threadIdx.x : thread_id();
        for (; first - threadIdx.x < count + rows; first += BIDS * thread_count()) {
            u64 word[BIDS], old[BIDS];
            u32 target[BIDS], loser[BIDS], losers = 0;
#pragma unroll
            for (int k = 0; k < BIDS; ++k) {
                i64 i = first + k * apart, place = i < count ? i : n + (i - count);
                word[k] = i < count + rows ? __ldcg(words + place) : 0;
                target[k] = i < count + rows ? __ldcg(targets + place) : 0;
            }
#pragma unroll
            for (int k = 0; k < BIDS; ++k) old[k] = word[k] ? atomicMax(state + target[k], word[k]) : 0;
#pragma unroll
            for (int k = 0; k < BIDS; ++k) {
                u64 lost = old[k];
                if (old[k] > word[k]) {
                    lost = word[k];
                } else if (word[k]) {
                    atomicMax((u32*)prices + target[k], high(word[k]));
                    more += money(high(word[k])) - money(high(old[k]));
                }
                loser[k] = lost ? vertex(order, low(lost)) : NOBODY;
                if (any_long && lost && choose.size(loser[k]) > PIECE) {
                    next_longs.append(loser[k], choose.size(loser[k]), &control->longs[(round + 1) % 3]);
                    loser[k] = NOBODY;
                }
                losers += loser[k] != NOBODY;
            }
            __syncwarp();
            u64 to = places_in_list(losers, &control->waiting[(round + 1) % 3]);
#pragma unroll
            for (int k = 0; k < BIDS; ++k) {
                if (loser[k] != NOBODY) next[to++] = loser[k];
            }
        }
        add_up_block(&control->paid[round % 3], more);
        meet(&control->arrived, ++met * gridDim.x);
        paid += peek(&control->paid[round % 3]);
    }
    if (thread_id() == 0) control->rounds = round - 1;
}

// holder[v] = the bidder who has v, item[u] = what u has; -1 where there is none, as all of item are before.
__global__ void read_arcs(i64 n, const u64* __restrict__ state, Order order, i32* item, i32* __restrict__ holder) {
    i64 v = thread_id();
    if (v >= n) return;
    u64 word = state[v];
    holder[v] = word ? (i32)vertex(order, low(word)) : -1;
    if (word) item[vertex(order, low(word))] = (i32)v;
}

// ---- arms ----

// held[v] = the value of v's matched edge, 0 where v is free; for those who look, and with a vertex its mate does.
template <class T>
__global__ void hold_values(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                            const T* __restrict__ weights, i64 n, Scale scale, const i32* __restrict__ mate,
                            const u8* __restrict__ looks, float* __restrict__ held) {
    i64 v = thread_id();
    if (v >= n || !looks[v]) return;
    i32 u = mate[v];
    if (u < 0) {
        held[v] = 0.0f;
    } else if (v < u) {
        held[v] = held[u] = value_of(weights[edge_place(indptr, indices, (i32)v, u)], scale);
    }
}

// arms[2 v..] = the two best keys of v, who looks, at the prices `held`. Long rows are listed, and find_long_arms reads them.
template <class T>
__global__ void __launch_bounds__(BLOCK, 6) find_arms(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n, i64 shift,
        Scale scale, Order mixing, u64 seed, const u8* __restrict__ looks, const float* held, Longs longs, u64* arms,
        Control* control) {
    Chooser<T, 1> choose = {{indptr, indices, weights, indptr[n]}, scale, mixing, seed, held};
    choose.template read_rows<true>(n, (int)shift, looks, longs.of(0), &control->longs[0], [&](u32 u, const Two& two) {
        arms[2 * (u64)u] = two.best;
        arms[2 * (u64)u + 1] = two.second;
    });
}

template <class T>
__global__ void __launch_bounds__(BLOCK, 4) find_long_arms(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const T* __restrict__ weights, i64 n, i64 shift,
        Scale scale, Order mixing, u64 seed, const u8* __restrict__ looks, const float* held, Longs longs, u64* arms,
        Control* control) {
    Chooser<T, 1> choose = {{indptr, indices, weights, indptr[n]}, scale, mixing, seed, held};
    i64 pieces = (i64)(control->longs[0] & COUNT_MASK);
    choose.template read_longs<true>(longs.of(0), pieces, [&](u32 u, u32, const Two& two) {
        arms[2 * (u64)u] = two.best;
        arms[2 * (u64)u + 1] = two.second;
    });
}
