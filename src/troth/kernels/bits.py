"""Two vector and bit instructions for compiled kernels that Numba has no name for."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 32  # keys that ``count_below`` looks at


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
