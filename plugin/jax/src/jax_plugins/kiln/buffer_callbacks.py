"""jax.experimental.buffer_callback: host callbacks that write their results in place.

jaxlib makes the buffers that such a function gets on the platforms that it knows; here they are arrays of numpy.
"""

from .hooks import PLATFORM, hook


@hook
def lower_buffer_callbacks() -> None:
    import numpy as np
    from jax import errors, tree_util
    from jax._src import buffer_callback
    from jax._src import callback as callbacks
    from jax._src.interpreters import mlir

    class Buffer(np.ndarray):
        @property
        def writeable(self):
            return self.flags.writeable

    class Context:
        stage = buffer_callback.ExecutionStage.EXECUTE

        @property
        def stream(self):
            raise errors.JaxRuntimeError("UNIMPLEMENTED: Kiln has no streams")

    def rule(ctx, *operands, callback, in_tree, out_tree, has_side_effect, input_output_aliases, **_):
        def function(*arrays):
            results = [np.zeros(aval.shape, aval.dtype).view(Buffer) for aval in ctx.avals_out]
            for operand, result in input_output_aliases:
                results[result][...] = arrays[operand]
            for array in arrays:
                array.flags.writeable = False
            positional, named = tree_util.tree_unflatten(in_tree, [array.view(Buffer) for array in arrays])
            if callback(Context(), tree_util.tree_unflatten(out_tree, results), *positional, **named) is not None:
                raise ValueError("a buffer callback must not return values")
            return results

        avals = (ctx.avals_in, ctx.avals_out)
        return callbacks.emit_python_callback(ctx, function, None, operands, *avals, has_side_effect=has_side_effect)[0]

    mlir.register_lowering(buffer_callback.buffer_callback_p, rule, platform=PLATFORM)
