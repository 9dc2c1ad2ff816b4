"""Cases of data movement, reductions, contractions, linear algebra, random bits and control flow.

The reference backend says what is right where it has the op, numpy elsewhere.
"""
import ml_dtypes
import numpy as np

from evaluator_case_tools import RANDOM, TYPES, Family, shape_text


def numbers(shape, name="f32"):
    if name == "pred":
        return RANDOM.integers(0, 2, shape).astype(np.bool_)
    if name in ("c64", "c128"):
        return (RANDOM.normal(0, 1, shape) + 1j * RANDOM.normal(0, 1, shape)).astype(TYPES[name])
    if name[0] in "su":
        info = ml_dtypes.iinfo(TYPES[name])
        return RANDOM.integers(max(info.min, -100), min(int(info.max), 100), shape).astype(TYPES[name])
    return RANDOM.normal(0, 1, shape).astype(TYPES[name])


def simple(family, name, arguments, result, op, computations="", **tolerance):
    text = computations + "ENTRY main {\n"
    for i, argument in enumerate(arguments):
        text += f"  p{i} = {shape_text(argument)} parameter({i})\n"
    family.add(name, text + f"  ROOT out = {result} {op}\n}}\n", arguments, **tolerance)


def movement_cases():
    family = Family("movement")
    for name in ["f32", "pred", "s8", "bf16", "c128", "s4", "f8e4m3fn"]:
        x = numbers((2, 3, 4), name)
        if name == "f8e4m3fn" or name == "s4":
            plain = np.asarray(x)
            simple(family, "transpose_" + name, [x], f"{name}[4,2,3]", "transpose(p0), dimensions={2,0,1}",
                   results=[np.ascontiguousarray(plain.transpose(2, 0, 1))])
            continue
        simple(family, "transpose_" + name, [x], f"{name}[4,2,3]", "transpose(p0), dimensions={2,0,1}")
        simple(family, "reverse_" + name, [x], f"{name}[2,3,4]", "reverse(p0), dimensions={0,2}")
        simple(family, "slice_" + name, [x], f"{name}[1,3,2]", "slice(p0), slice={[1:2], [0:3], [0:4:3]}")
        simple(family, "reshape_" + name, [x], f"{name}[6,4]", "reshape(p0)")
        simple(family, "broadcast_" + name, [x[0]], f"{name}[3,2,4]", "broadcast(p0), dimensions={0,2}")
        simple(family, "concatenate_" + name, [x, x[:, :1]], f"{name}[2,7,4]", "concatenate(p0, p1, p0), dimensions={1}")
        pad = numbers((), name)
        simple(family, "pad_" + name, [x, pad], f"{name}[3,8,2]", "pad(p0, p1), padding=1_0x1_2_1x-1_-1")
        simple(family, "pad_crop_" + name, [x, pad], f"{name}[4,4,9]", "pad(p0, p1), padding=-1_0_3x-1_2x-2_1_2")
    for name in ["s32", "f32", "u8", "bf16", "c64"]:
        simple(family, "iota_" + name, [], f"{name}[3,4]", "iota(), iota_dimension=1")
    x = numbers((5, 6))
    for i, (a, b) in enumerate([(1, 2), (-3, 9), (4, 5), (2**31 - 1, -2**31)]):
        starts = [np.int32(a), np.int32(b)]
        simple(family, f"dynamic_slice_{i}", [x] + starts, "f32[2,3]", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}")
        simple(family, f"dynamic_update_slice_{i}", [x, numbers((2, 3))] + starts, "f32[5,6]",
               "dynamic-update-slice(p0, p1, p2, p3)")
    simple(family, "dynamic_slice_u64", [x, np.uint64(2**64 - 1), np.uint64(1)], "f32[2,3]",
           "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}", results=[x[3:5, 1:4]])
    return family


def reducer(name, kind, op):
    return f"{name} {{\n  a = {kind}[] parameter(0)\n  b = {kind}[] parameter(1)\n  ROOT r = {kind}[] {op}(a, b)\n}}\n"


def indexed_cases():
    family = Family("indexed")
    x = numbers((5, 6, 3))
    simple(family, "gather_rows", [x, np.array([[1], [4], [-2], [9]], np.int32)], "f32[4,6,3]",
           "gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
           "slice_sizes={1,6,3}")
    simple(family, "gather_windows", [x, np.array([[1, 2], [4, 5], [0, -1]], np.int64)], "f32[2,3,3,2]",
           "gather(p0, p1), offset_dims={0,2,3}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1, "
           "slice_sizes={2,3,2}")
    simple(family, "gather_implicit_vector", [x, np.array([2, 0], np.uint8)], "f32[6,2,3]",
           "gather(p0, p1), offset_dims={0,2}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
           "slice_sizes={1,6,3}")
    simple(family, "gather_batching", [x, numbers((5, 2, 1), "s32") % 6], "f32[5,2,3]",
           "gather(p0, p1), offset_dims={2}, collapsed_slice_dims={1}, operand_batching_dims={0}, "
           "start_indices_batching_dims={0}, start_index_map={1}, index_vector_dim=2, slice_sizes={1,1,3}")
    for name in ["f32", "s32", "f64", "c64", "u8"]:
        op = numbers((6, 4), name)
        simple(family, "scatter_add_" + name, [op, np.array([[1], [1], [5], [7], [-1]], np.int32), numbers((5, 4), name)],
               f"{name}[6,4]",
               "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
               "index_vector_dim=1, to_apply=f", reducer("f", name, "add"), rtol=1e-6)
    op = numbers((6, 4))
    simple(family, "scatter_window", [op, np.array([[1, 1], [5, 2], [4, 3], [-1, 0]], np.int32), numbers((4, 2, 2))],
           "f32[6,4]", "scatter(p0, p1, p2), update_window_dims={1,2}, inserted_window_dims={}, "
           "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=f",
           "f {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\n")
    simple(family, "scatter_subtract", [op, np.array([2, 2], np.int32), numbers((2, 4))], "f32[6,4]",
           "scatter(p0, p1, p2), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
           "index_vector_dim=1, to_apply=f", reducer("f", "f32", "subtract"))
    simple(family, "scatter_batching", [numbers((3, 5)), numbers((3, 2, 1), "s32") % 5, numbers((3, 2))], "f32[3,5]",
           "scatter(p0, p1, p2), update_window_dims={}, inserted_window_dims={1}, input_batching_dims={0}, "
           "scatter_indices_batching_dims={0}, scatter_dims_to_operand_dims={1}, index_vector_dim=2, to_apply=f",
           reducer("f", "f32", "maximum"))
    simple(family, "scatter_two", [numbers((4,)), numbers((4,), "s32"), np.array([[1], [3], [1]], np.int32), numbers((3,)),
                                   numbers((3,), "s32")], "(f32[4], s32[4])",
           "scatter(p0, p1, p2, p3, p4), update_window_dims={}, inserted_window_dims={0}, "
           "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f",
           "f {\n  a = f32[] parameter(0)\n  b = s32[] parameter(1)\n  c = f32[] parameter(2)\n  d = s32[] parameter(3)\n"
           "  m = f32[] multiply(a, c)\n  s = s32[] add(b, d)\n  ROOT r = (f32[], s32[]) tuple(m, s)\n}\n")
    return family


ARGMAX = """am {
  v = f32[] parameter(0)
  i = s32[] parameter(1)
  w = f32[] parameter(2)
  j = s32[] parameter(3)
  g = pred[] compare(v, w), direction=GE
  a = f32[] select(g, v, w)
  b = s32[] select(g, i, j)
  ROOT r = (f32[], s32[]) tuple(a, b)
}
"""


def reduction_cases():
    family = Family("reduction")
    for name, op in [("f32", "add"), ("f32", "maximum"), ("s32", "multiply"), ("bf16", "add"), ("f64", "minimum"),
                     ("c64", "add"), ("pred", "or"), ("u8", "add"), ("f16", "multiply"), ("s64", "xor")]:
        x, init = numbers((3, 4, 5), name), np.zeros((), TYPES[name]) + (1 if op == "multiply" else 0)
        init = np.asarray(init).astype(TYPES[name])
        loose = {"rtol": {"bf16": 2e-2, "f16": 2e-3}.get(name, 1e-6)} if name[0] in "fcb" else {}
        for dims, out in [("1", "[3,5]"), ("0,2", "[4]"), ("0,1,2", "[]")]:
            simple(family, f"reduce_{op}_{name}_{dims.replace(',', '')}", [x, init], name + out,
                   f"reduce(p0, p1), dimensions={{{dims}}}, to_apply=f", reducer("f", name, op), **loose)
    x = numbers((4, 7))
    simple(family, "reduce_argmax", [x, np.tile(np.arange(7, dtype=np.int32), (4, 1)), np.float32(-np.inf), np.int32(0)],
           "(f32[4], s32[4])", "reduce(p0, p1, p2, p3), dimensions={1}, to_apply=am", ARGMAX)
    simple(family, "reduce_empty", [numbers((3, 0)), np.float32(2.5)], "f32[3]", "reduce(p0, p1), dimensions={1}, to_apply=f",
           reducer("f", "f32", "add"))
    windows = {"plain": ("[3,3]", "size=2x3 stride=1x2"), "pad": ("[4,8]", "size=3x2 pad=1_1x0_2"),
               "dilate": ("[7,3]", "size=1x3 lhs_dilate=2x1 rhs_dilate=1x2")}
    for key, (out, window) in windows.items():
        for op, init in [("add", 0.0), ("maximum", -np.inf), ("add", 2.0)]:
            if init == 2.0 and key != "plain":
                continue
            simple(family, f"reduce_window_{key}_{op}_{init}", [x, np.float32(init)], "f32" + out,
                   f"reduce-window(p0, p1), window={{{window}}}, to_apply=f", reducer("f", "f32", op), rtol=1e-6)
    compare = "s {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=GE\n}\n"
    simple(family, "select_and_scatter", [x, numbers((2, 3)), np.float32(0)], "f32[4,7]",
           "select-and-scatter(p0, p1, p2), window={size=2x3 stride=2x2}, select=s, scatter=f",
           compare + reducer("f", "f32", "add"), rtol=1e-6)
    simple(family, "select_and_scatter_pad", [x, numbers((5, 5)), np.float32(0.5)], "f32[4,7]",
           "select-and-scatter(p0, p1, p2), window={size=2x3 pad=1_1x0_0}, select=s, scatter=f",
           compare + reducer("f", "f32", "add"), rtol=1e-6)
    simple(family, "select_and_scatter_subtract", [x, numbers((3, 6)), np.float32(0.5)], "f32[4,7]",
           "select-and-scatter(p0, p1, p2), window={size=2x2}, select=s, scatter=f",
           compare + reducer("f", "f32", "subtract"), rtol=1e-6)
    less = ("c {{\n  a = {t}[] parameter(0)\n  b = {t}[] parameter(1)\n  k = s32[] parameter(2)\n  l = s32[] parameter(3)\n"
            "  ROOT r = pred[] compare(a, b), direction={d}{o}\n}}\n")
    for name, direction, order in [("f32", "LT", ", type=TOTALORDER"), ("s32", "GT", ""), ("u8", "LT", ""), ("f64", "GT", "")]:
        keys = numbers((3, 20), name)
        keys[:, 3:9] = keys[:, :6]
        if name == "f32":
            keys[0, :4] = [np.nan, -0.0, 0.0, -np.inf]
        iota = np.tile(np.arange(20, dtype=np.int32), (3, 1))
        simple(family, f"sort_{name}_{direction}", [keys, iota], f"({name}[3,20], s32[3,20])",
               "sort(p0, p1), dimensions={1}, is_stable=true, to_apply=c", less.format(t=name, d=direction, o=order))
    simple(family, "sort_columns", [numbers((6, 3)), numbers((6, 3), "s32")], "(f32[6,3], s32[6,3])",
           "sort(p0, p1), dimensions={0}, is_stable=true, to_apply=c", less.format(t="f32", d="LT", o=""))
    values = np.array([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]], np.float32)
    order = np.argsort(-values, axis=1, kind="stable")[:, :3].astype(np.int32)
    simple(family, "topk", [values], "(f32[2,3], s32[2,3])", "topk(p0), k=3, largest=true",
           results=[np.take_along_axis(values, order, 1), order])
    order = np.argsort(values, axis=1, kind="stable")[:, :3].astype(np.int32)
    simple(family, "topk_smallest", [values], "(f32[2,3], s32[2,3])", "topk(p0), k=3, largest=false",
           results=[np.take_along_axis(values, order, 1), order])
    body = ("b {\n  i = f32[3] parameter(0)\n  c = f32[3] parameter(1)\n  s = f32[3] subtract(c, i)\n"
            "  t = f32[3] multiply(i, c)\n  ROOT r = (f32[3], f32[3]) tuple(t, s)\n}\n")
    for dimension, shape in [(0, (4, 3)), (1, (3, 4))]:
        simple(family, f"scan_{dimension}", [numbers(shape), numbers((3,))], f"(f32[{shape[0]},{shape[1]}], f32[3])",
               f"scan(p0, p1), dimensions={{{dimension}}}, num_carries=1, to_apply=b", body, rtol=1e-6)
    simple(family, "map", [numbers((2, 3)), numbers((2, 3))], "f32[2,3]", "map(p0, p1), dimensions={0,1}, to_apply=f",
           reducer("f", "f32", "subtract"))
    return family


def contraction_cases():
    family = Family("contraction")
    loose = {"f32": 1e-6, "bf16": 8e-3, "f16": 1e-3, "c64": 1e-6, "f64": 1e-14, "c128": 1e-14}
    for name in ["f32", "f64", "bf16", "f16", "c64", "c128", "s32", "s8", "u32"]:
        tolerance = {"rtol": loose[name]} if name in loose else {}
        simple(family, "dot_" + name, [numbers((3, 5), name), numbers((5, 4), name)], name + "[3,4]",
               "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}", **tolerance)
        simple(family, "dot_batch_" + name, [numbers((3, 2, 5), name), numbers((5, 4, 2, 2), name)], name + "[2,3,4,2]",
               "dot(p0, p1), lhs_batch_dims={1}, rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={0}",
               **tolerance)
    simple(family, "dot_s8_s32", [numbers((3, 5), "s8"), numbers((5, 4), "s8")], "s32[3,4]",
           "dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    simple(family, "dot_two_contracting", [numbers((2, 3, 4)), numbers((4, 5, 3))], "f32[2,5]",
           "dot(p0, p1), lhs_contracting_dims={1,2}, rhs_contracting_dims={2,0}", rtol=1e-6)
    simple(family, "dot_outer", [numbers((2,)), numbers((3,))], "f32[2,3]", "dot(p0, p1)", rtol=1e-6)
    convolutions = {
        "plain": ((2, 5, 6, 3), (3, 2, 3, 4), "[2,3,5,4]", "size=3x2", "b01f_01io->b01f", ""),
        "stride_pad": ((2, 5, 6, 3), (3, 3, 3, 4), "[2,3,3,4]", "size=3x3 stride=2x2 pad=1_1x0_1", "b01f_01io->b01f", ""),
        "crop": ((2, 5, 6, 3), (2, 2, 3, 4), "[2,3,6,4]", "size=2x2 pad=-1_0x1_0", "b01f_01io->b01f", ""),
        "dilate": ((1, 4, 4, 2), (2, 2, 2, 3), "[1,5,5,3]", "size=2x2 lhs_dilate=2x2 rhs_dilate=2x2 pad=0_0x0_0",
                   "b01f_01io->b01f", ""),
        "reversal": ((1, 4, 5, 2), (2, 3, 2, 3), "[1,3,3,3]", "size=2x3 rhs_reversal=1x1", "b01f_01io->b01f", ""),
        "labels": ((3, 2, 6), (4, 3, 2), "[2,4,5]", "size=2", "fb0_oi0->bf0", ""),
        "groups": ((2, 5, 4), (3, 2, 6), "[2,3,6]", "size=3", "b0f_0io->b0f", ", feature_group_count=2"),
        "depthwise": ((2, 5, 4), (3, 1, 8), "[2,3,8]", "size=3", "b0f_0io->b0f", ", feature_group_count=4"),
        "batch_groups": ((4, 5, 3), (3, 3, 6), "[2,3,6]", "size=3", "b0f_0io->b0f", ", batch_group_count=2"),
        "no_spatial": ((2, 5), (5, 3), "[2,3]", "", "bf_io->bf", ""),
    }
    for key, (lhs, rhs, out, window, labels, extra) in convolutions.items():
        for name in ["f32"] if key != "plain" else ["f32", "f64", "bf16", "s32"]:
            tolerance = {"rtol": loose[name]} if name in loose else {}
            window_text = f"window={{{window}}}, " if window else ""
            simple(family, f"conv_{key}_{name}", [numbers(lhs, name), numbers(rhs, name)], name + out,
                   f"convolution(p0, p1), {window_text}dim_labels={labels}{extra}", **tolerance)
    lhs, rhs, sizes = numbers((7, 4)), numbers((3, 4, 5)), np.array([2, 0, 3], np.int32)
    out = np.zeros((7, 5))
    out[0:2], out[2:5] = lhs[0:2].astype(float) @ rhs[0], lhs[2:5].astype(float) @ rhs[2]
    simple(family, "ragged_dot", [lhs, rhs, sizes], "f32[7,5]",
           "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, "
           "rhs_group_dims={0}", results=[out.astype(np.float32)], rtol=1e-6)
    lhs, rhs = numbers((4, 7)), numbers((7, 5))
    out = np.stack([lhs[:, a:b].astype(float) @ rhs[a:b] for a, b in [(0, 2), (2, 2), (2, 5)]])
    simple(family, "ragged_dot_contracting", [lhs, rhs, sizes], "f32[3,4,5]",
           "ragged-dot(p0, p1, p2), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}, "
           "rhs_group_dims={}", results=[out.astype(np.float32)], rtol=1e-6)
    return family


def linear_algebra_cases():
    family = Family("linalg")
    for name in ["f32", "f64", "c64", "c128"]:
        tolerance = {"rtol": 1e-5 if name in ("f32", "c64") else 1e-13}
        a = numbers((2, 4, 4), name)
        spd = (a @ np.conj(np.swapaxes(a, 1, 2)) + 4 * np.eye(4)).astype(TYPES[name])
        factor = np.linalg.cholesky(spd.astype(np.complex128 if name[0] == "c" else np.float64))
        simple(family, "cholesky_lower_" + name, [spd], name + "[2,4,4]", "cholesky(p0), lower=true",
               results=[factor.astype(TYPES[name])], **tolerance)
        simple(family, "cholesky_upper_" + name, [spd], name + "[2,4,4]", "cholesky(p0), lower=false",
               results=[np.conj(np.swapaxes(factor, 1, 2)).astype(TYPES[name])], **tolerance)
        b = {True: numbers((2, 4, 3), name), False: numbers((2, 3, 4), name)}
        for left in [True, False]:
            for lower in [True, False]:
                for transpose in ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]:
                    for unit in [True, False]:
                        wide = a.astype(np.complex128 if name[0] == "c" else np.float64) + 2 * np.eye(4)
                        matrix = wide.astype(TYPES[name])
                        t = np.tril(matrix) if lower else np.triu(matrix)
                        t = t.astype(wide.dtype)
                        if unit:
                            t[:, range(4), range(4)] = 1
                        t = {"NO_TRANSPOSE": t, "TRANSPOSE": np.swapaxes(t, 1, 2),
                             "ADJOINT": np.conj(np.swapaxes(t, 1, 2))}[transpose]
                        rhs = b[left].astype(wide.dtype)
                        x = np.linalg.solve(t, rhs) if left else np.swapaxes(
                            np.linalg.solve(np.swapaxes(t, 1, 2), np.swapaxes(rhs, 1, 2)), 1, 2)
                        if name in ("f32", "c128") or (transpose == "ADJOINT" and left):
                            simple(family, f"triangular_solve_{name}_{int(left)}{int(lower)}{int(unit)}_{transpose}",
                                   [matrix, b[left]], shape_text(b[left]),
                                   f"triangular-solve(p0, p1), left_side={str(left).lower()}, lower={str(lower).lower()}, "
                                   f"unit_diagonal={str(unit).lower()}, transpose_a={transpose}",
                                   results=[x.astype(TYPES[name])], **tolerance)
    for n in [1, 2, 3, 4, 5, 7, 8, 12, 13, 30, 49]:
        for name, part in [("c64", "f32"), ("c128", "f64")]:
            tolerance = {"rtol": 1e-6 if name == "c64" else 1e-14}
            z, x = numbers((2, n), name), numbers((2, n), part)
            simple(family, f"fft_{name}_{n}", [z], f"{name}[2,{n}]", f"fft(p0), fft_type=FFT, fft_length={{{n}}}",
                   results=[np.fft.fft(z.astype(np.complex128)).astype(TYPES[name])], **tolerance)
            simple(family, f"ifft_{name}_{n}", [z], f"{name}[2,{n}]", f"fft(p0), fft_type=IFFT, fft_length={{{n}}}",
                   results=[np.fft.ifft(z.astype(np.complex128)).astype(TYPES[name])], **tolerance)
            simple(family, f"rfft_{name}_{n}", [x], f"{name}[2,{n // 2 + 1}]", f"fft(p0), fft_type=RFFT, fft_length={{{n}}}",
                   results=[np.fft.rfft(x.astype(np.float64)).astype(TYPES[name])], **tolerance)
            half = z[:, :n // 2 + 1]
            simple(family, f"irfft_{name}_{n}", [half], f"{part}[2,{n}]", f"fft(p0), fft_type=IRFFT, fft_length={{{n}}}",
                   results=[np.fft.irfft(half.astype(np.complex128), n).astype(TYPES[part])], **tolerance)
    z = numbers((2, 3, 4, 5), "c64")
    simple(family, "fft_3d", [z], "c64[2,3,4,5]", "fft(p0), fft_type=FFT, fft_length={3,4,5}", rtol=1e-6)
    x = numbers((3, 4, 6))
    simple(family, "rfft_2d", [x], "c64[3,4,4]", "fft(p0), fft_type=RFFT, fft_length={4,6}", rtol=1e-6)
    z = numbers((3, 4, 4), "c64")
    simple(family, "irfft_2d", [z], "f32[3,4,6]", "fft(p0), fft_type=IRFFT, fft_length={4,6}",
           results=[np.fft.irfft2(z.astype(np.complex128), (4, 6)).astype(np.float32)], rtol=1e-6)
    x, v = numbers((3, 2, 5)), [numbers((2,)) for _ in range(4)]
    v[3] = np.abs(v[3]) + 0.5
    simple(family, "batch_norm_training", [x] + v[:2], "(f32[3,2,5], f32[2], f32[2])",
           "batch-norm-training(p0, p1, p2), epsilon=0.01, feature_index=1", rtol=1e-6)
    simple(family, "batch_norm_inference", [x] + v, "f32[3,2,5]",
           "batch-norm-inference(p0, p1, p2, p3, p4), epsilon=0.01, feature_index=1", rtol=1e-6)
    simple(family, "batch_norm_grad", [x, v[0], v[2], v[3], numbers((3, 2, 5))], "(f32[3,2,5], f32[2], f32[2])",
           "batch-norm-grad(p0, p1, p2, p3, p4), epsilon=0.01, feature_index=1", rtol=1e-6)
    return family


def random_cases():
    family = Family("random")
    shapes = ["[]", "[1]", "[5]", "[8]", "[3,4]", "[3,5]", "[5,3,7]", "[2,3,4]", "[0]"]
    for shape in shapes:
        for name in ["u32", "u64", "u8", "u16"] if shape != "[0]" else ["u32"]:
            for algorithm, words in [("rng_three_fry", 2), ("rng_philox", 2), ("rng_philox", 3), ("rng_default", 2)]:
                state = RANDOM.integers(0, 2**64, words, dtype=np.uint64)
                if shape == "[8]":
                    state[1] = 2**64 - 1  # the counter overflows
                simple(family, f"{algorithm}_{words}_{name}_{shape[1:-1].replace(',', 'x')}", [state],
                       f"(u64[{words}], {name}{shape})", f"rng-bit-generator(p0), algorithm={algorithm}")
    return family


def control_cases():
    family = Family("control")
    family.add("while_fibonacci", """cond {
  s = (s32[], s64[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(50)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], s64[2]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = s64[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  w = s64[2] reverse(v), dimensions={0}
  m = s64[2] constant({0, 1})
  mv = s64[2] multiply(m, v)
  t = s64[2] add(w, mv)
  ROOT r = (s32[], s64[2]) tuple(j, t)
}
ENTRY main {
  z = s32[] constant(0)
  v = s64[2] constant({0, 1})
  s = (s32[], s64[2]) tuple(z, v)
  w = (s32[], s64[2]) while(s), condition=cond, body=body
  i = s32[] get-tuple-element(w), index=0
  f = s64[2] get-tuple-element(w), index=1
  ROOT r = (s32[], s64[2]) tuple(i, f)
}
""", [])
    branches = "".join(f"b{i} {{\n  p = f32[] parameter(0)\n  c = f32[] constant({i + 2})\n  ROOT r = f32[] multiply(p, c)\n}}\n"
                       for i in range(3))
    for index in [-1, 0, 1, 2, 7]:
        simple(family, f"case_{index}", [np.int32(index), np.float32(1.5)], "f32[]",
               "conditional(p0, p1, p1, p1), branch_computations={b0, b1, b2}", branches)
    for predicate in [True, False]:
        simple(family, f"conditional_{predicate}", [np.bool_(predicate), np.float32(1.5)], "f32[]",
               "conditional(p0, p1, p1), true_computation=b0, false_computation=b1", branches)
    simple(family, "call", [np.float32(1.5)], "f32[]", "call(p0), to_apply=b1", branches)
    return family
