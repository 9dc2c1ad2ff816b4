"""Writes ml_dtypes' view of every narrow float format, for small_float_test.cc.

Run with a Python that has numpy and ml_dtypes:  python make_small_float_table.py ../data/small_float.json
"""
import json
import sys

import ml_dtypes
import numpy as np

FORMATS = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e3m4": ml_dtypes.float8_e3m4, "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz, "f4e2m1fn": ml_dtypes.float4_e2m1fn,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
}


def fnv(data: bytes) -> int:
    state = 0xCBF29CE484222325
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def codes_of(dtype):
    size = np.dtype(dtype).itemsize
    count = {2: 65536, 1: 16 if dtype is ml_dtypes.float4_e2m1fn else 256}[size]
    return np.arange(count, dtype=np.uint16 if size == 2 else np.uint8)


def decode(dtype):
    values = codes_of(dtype).view(dtype).astype(np.float64)
    values[np.isnan(values)] = np.nan
    return values


def probes(dtype):
    """Floats where rounding decides: every value, the midpoints to the next one, and their f32 neighbours."""
    values = np.unique(decode(dtype)[np.isfinite(decode(dtype))])
    if len(values) > 4096:
        values = values[:: len(values) // 2048]
    top = values[-1]
    extra = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, top * 1.03, top * 1.0625, top * 1.1, top * 1.2,
             top * 1.5, top * 2, -top * 1.03, -top * 1.0625, -top * 1.2, -top * 2]
    with np.errstate(all="ignore"):
        middle = ((values[1:] + values[:-1]) / 2).astype(np.float32)
        base = np.concatenate([values.astype(np.float32), middle, np.array(extra).astype(np.float32)])
        base = np.concatenate([base, np.nextafter(base, np.float32(np.inf)), np.nextafter(base, np.float32(-np.inf))])
    return base


def write_probes(path):
    out = {}
    for name, dtype in FORMATS.items():
        values = np.unique(probes(dtype).view(np.uint32)).view(np.float32)
        values = values[~np.isnan(values)]
        if len(values) > 600:
            values = values[:: len(values) // 600]
        with np.errstate(all="ignore"):
            encoded = values.astype(dtype)
        bits = encoded.view(np.uint16 if np.dtype(dtype).itemsize == 2 else np.uint8)
        nan_code = np.array([np.nan], np.float32).astype(dtype).view(bits.dtype)[0]
        decoded = decode(dtype)
        out[name] = {
            # Every code as a double: NaN is null, infinities are text; of the 16-bit formats only the hash.
            "decoded": None if len(decoded) > 256 else [
                None if np.isnan(v) else repr(float(v)) if np.isinf(v) else float(v) for v in decoded],
            "decoded_hash": str(fnv(np.where(np.isnan(decoded), -12345.0, decoded).tobytes())),
            "nan": int(nan_code),
            "inputs": values.view(np.uint32).tolist(), "codes": bits.tolist(),
        }
    json.dump(out, open(path, "w"), separators=(",", ":"))


if __name__ == "__main__":
    write_probes(sys.argv[1])
