"""Atomic operations and prefetching for compiled kernels; Numba has none of its own on the CPU.

Each takes an array and an unsigned index. ``compare_and_swap``, ``fetch_add`` and ``fetch_max`` are sequentially
consistent, ``load`` and ``store`` are relaxed ("monotonic"): no tearing, never hoisted out of a loop, and no fence.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _at(emit):
    """The code of an operation on array[index]: ``emit(builder, pointer, ...)`` gets the arguments after these two."""

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        array = context.make_array(kind)(context, builder, args[0])
        pointer = cgutils.get_item_pointer(context, builder, kind, array, [args[1]], wraparound=False)
        found = emit(builder, pointer, *args[2:])
        return context.get_dummy_value() if signature.return_type == types.void else found

    return codegen


@intrinsic
def load(typingctx, array, index):
    """array[index], read once and from memory."""
    size = array.dtype.bitwidth // 8
    return array.dtype(array, types.uintp), _at(lambda builder, at: builder.load_atomic(at, "monotonic", size))


@intrinsic
def store(typingctx, array, index, value):
    """array[index] = value, written whole."""
    size = array.dtype.bitwidth // 8
    code = _at(lambda builder, at, value: builder.store_atomic(value, at, "monotonic", size))
    return types.void(array, types.uintp, array.dtype), code


@intrinsic
def compare_and_swap(typingctx, array, index, expected, value):
    """If array[index] is ``expected``, write ``value``; return what was there before."""

    def emit(builder, at, expected, value):
        pair = builder.cmpxchg(at, expected, value, ordering="seq_cst", failordering="seq_cst")
        return builder.extract_value(pair, 0)

    return array.dtype(array, types.uintp, array.dtype, array.dtype), _at(emit)


@intrinsic
def fetch_add(typingctx, array, index, value):
    """array[index] += value; return what was there before."""
    code = _at(lambda builder, at, value: builder.atomic_rmw("add", at, value, ordering="seq_cst"))
    return array.dtype(array, types.uintp, array.dtype), code


@intrinsic
def fetch_max(typingctx, array, index, value):
    """array[index] = max(array[index], value), of unsigned integers; return what was there before."""
    code = _at(lambda builder, at, value: builder.atomic_rmw("umax", at, value, ordering="seq_cst"))
    return array.dtype(array, types.uintp, array.dtype), code


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of array[index]; no effect on any value, and none where the index is out of range."""

    def emit(builder, at):
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        read, keep, data = flag(0), flag(3), flag(1)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(at, byte), read, keep, data])

    return types.void(array, types.uintp), _at(emit)
