"""Vector and bit instructions for compiled kernels that Numba has no name for."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 32  # keys that ``count_below`` looks at
WIDE = 8  # lanes of the vectors below


@intrinsic
def trailing_zeros(typingctx, word):
    """The number of the lowest set bit of a uint64, which must not be 0."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def count_below(typingctx, keys, limit):
    """How many of the first ``LANES`` uint32 keys are less than ``limit``; one or two instructions on wide machines."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        row = ir.VectorType(ir.IntType(32), LANES)
        undefined = ir.Constant(row, ir.Undefined)
        found = builder.load(builder.bitcast(array.data, row.as_pointer()), align=4)
        first = builder.insert_element(undefined, args[1], ir.Constant(ir.IntType(32), 0))
        limits = builder.shuffle_vector(first, undefined, ir.Constant(row, [0] * LANES))
        below = builder.bitcast(builder.icmp_unsigned("<", found, limits), ir.IntType(LANES))
        return builder.zext(builder.ctpop(below), ir.IntType(64))

    return types.uint64(keys, types.uint32), codegen


@intrinsic
def two_largest(typingctx, keys, start, stop):
    """The two largest of the uint64 keys[start:stop], or 0; the array has as many more as vectors have lanes.

    Every lane keeps its own two, ``second = max(second, min(best, key)); best = max(best, key)``, and in the end lanes
    are joined by the same rule.
    """

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        word, row = ir.IntType(64), ir.VectorType(ir.IntType(64), WIDE)
        first, count = builder.gep(array.data, [args[1]]), builder.sub(args[2], args[1])
        whole = builder.and_(count, word(-WIDE))
        best, second = (cgutils.alloca_once_value(builder, ir.Constant(row, [0] * WIDE)) for _ in range(2))

        def load(at):
            return builder.load(builder.bitcast(builder.gep(first, [at]), row.as_pointer()), align=8)

        with cgutils.for_range_slice(builder, word(0), whole, word(WIDE)) as (at, _):
            largest = _join(builder, (builder.load(best), builder.load(second)), (load(at),))
            builder.store(largest[0], best)
            builder.store(largest[1], second)
        inside = builder.icmp_unsigned(
            "<", ir.Constant(row, [*range(WIDE)]), _splat(builder, builder.sub(count, whole))
        )
        last = builder.select(inside, load(whole), ir.Constant(row, [0] * WIDE))
        largest = _join(builder, (builder.load(best), builder.load(second)), (last,))
        lanes = WIDE
        while lanes > 1:
            lanes //= 2
            low, high = (_numbers(base, lanes) for base in (0, lanes))
            halves = ([builder.shuffle_vector(x, x, some) for x in largest] for some in (low, high))
            largest = _join(builder, *halves)
        zero = ir.IntType(32)(0)
        return context.make_tuple(builder, signature.return_type, [builder.extract_element(x, zero) for x in largest])

    return types.UniTuple(types.uint64, 2)(keys, types.uint64, types.uint64), codegen


@intrinsic
def two_largest_side_by_side(typingctx, keys, indptr, row, start, limit, firsts, seconds, at):
    """``two_largest`` of the rows from ``row`` on, as many as vectors have lanes, one in each lane.

    Row v's keys are keys[indptr[v] - start : indptr[v + 1] - start], and what is found goes to firsts[at:] and
    seconds[at:]. Rows of more than ``limit`` keys are not for this: where one of them is, nothing happens, and the
    answer is False. The array has ``limit`` more keys.
    """

    def codegen(context, builder, signature, args):
        word, number = ir.IntType(64), ir.IntType(32)
        lanes = ir.VectorType(word, WIDE)
        none = ir.Constant(lanes, [0] * WIDE)
        origin = context.make_array(signature.args[0])(context, builder, args[0]).data
        begins, ends = (
            builder.load(_lanes(context, builder, signature.args[1], args[1], builder.add(args[2], word(i))), align=8)
            for i in range(2)
        )
        counts = builder.sub(ends, begins)
        longest = _reduce(builder, counts, ">")
        fits = builder.icmp_unsigned("<=", longest, args[4])
        with builder.if_then(fits):
            best, second = (cgutils.alloca_once_value(builder, none) for _ in range(2))
            begins = builder.sub(begins, _splat(builder, args[3]))
            places = [builder.extract_element(begins, number(i)) for i in range(WIDE)]
            with cgutils.for_range_slice(builder, word(0), longest, word(1)) as (column, _):
                first, key = builder.gep(origin, [column]), ir.Constant(lanes, ir.Undefined)
                for i in range(WIDE):
                    found = builder.load(builder.gep(first, [places[i]]), align=8)
                    key = builder.insert_element(key, found, number(i))
                inside = builder.icmp_unsigned("<", _splat(builder, column), counts)
                key = builder.select(inside, key, none)
                largest = _join(builder, (builder.load(best), builder.load(second)), (key,))
                builder.store(largest[0], best)
                builder.store(largest[1], second)
            for kind, array, values in zip(signature.args[5:7], args[5:7], (best, second), strict=True):
                builder.store(builder.load(values), _lanes(context, builder, kind, array, args[7]), align=8)
        return fits

    return types.boolean(keys, indptr, types.uint64, types.uint64, types.uint64, firsts, seconds, types.uint64), codegen


@intrinsic
def copy_lanes(typingctx, target, at, source, start):
    """target[at:] = source[start:], so many numbers as vectors have lanes; there have to be that many."""
    size = source.dtype.bitwidth // 8

    def codegen(context, builder, signature, args):
        found = builder.load(_lanes(context, builder, signature.args[2], args[2], args[3]), align=size)
        builder.store(found, _lanes(context, builder, signature.args[0], args[0], args[1]), align=size)
        return context.get_dummy_value()

    return types.void(target, types.uint64, source, types.uint64), codegen


@intrinsic
def largest_bid(typingctx, keys, held, start, stop, low):
    """The largest of the uint64 keys[start:stop] of which ``upper half | low`` is more than held[same place], or 0.

    The arrays have as many more numbers as vectors have lanes.
    """

    def codegen(context, builder, signature, args):
        word, row = ir.IntType(64), ir.VectorType(ir.IntType(64), WIDE)
        none, upper = ir.Constant(row, [0] * WIDE), ir.Constant(row, [2**64 - 2**32] * WIDE)
        best, low = cgutils.alloca_once_value(builder, none), _splat(builder, args[4])
        count = builder.sub(args[3], args[2])
        with cgutils.for_range_slice(builder, word(0), count, word(WIDE)) as (at, _):
            place = builder.add(args[2], at)
            key, rival = (
                builder.load(_lanes(context, builder, kind, array, place), align=8)
                for kind, array in zip(signature.args[:2], args[:2], strict=True)
            )
            inside = builder.icmp_unsigned(
                "<", ir.Constant(row, [*range(WIDE)]), _splat(builder, builder.sub(count, at))
            )
            wins = builder.icmp_unsigned(">", builder.or_(builder.and_(key, upper), low), rival)
            key = builder.select(builder.and_(inside, wins), key, none)
            builder.store(_pick(builder, ">", builder.load(best), key), best)
        return _reduce(builder, builder.load(best), ">")

    return types.uint64(keys, held, types.uint64, types.uint64, types.uint64), codegen


def _lanes(context, builder, kind, array, at):
    """A pointer to array[at] as a vector."""
    first = builder.gep(context.make_array(kind)(context, builder, array).data, [at])
    return builder.bitcast(first, ir.VectorType(context.get_data_type(kind.dtype), WIDE).as_pointer())


def _join(builder, mine, other):
    """The two largest of (best, second), lane by lane, and of one or two more; the second is never above the best."""
    best, second = mine
    second = _pick(builder, ">", second, _pick(builder, "<", best, other[0]))
    return _pick(builder, ">", best, other[0]), _pick(builder, ">", second, other[1]) if other[1:] else second


def _pick(builder, relation, x, y):
    return builder.select(builder.icmp_unsigned(relation, x, y), x, y)


def _reduce(builder, vector, relation):
    """The one of all lanes that ``relation`` prefers."""
    lanes = WIDE
    while lanes > 1:
        lanes //= 2
        low, high = (builder.shuffle_vector(vector, vector, _numbers(base, lanes)) for base in (0, lanes))
        vector = _pick(builder, relation, low, high)
    return builder.extract_element(vector, ir.IntType(32)(0))


def _splat(builder, word):
    """A vector of so many times the same word."""
    vector = builder.insert_element(ir.Constant(ir.VectorType(word.type, WIDE), ir.Undefined), word, ir.IntType(32)(0))
    return builder.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE))


def _numbers(first, count):
    """The numbers first, first + 1, ... as lanes to choose."""
    return ir.Constant(ir.VectorType(ir.IntType(32), count), [*range(first, first + count)])
