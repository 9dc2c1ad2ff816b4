#!/usr/bin/env bash
# Lays out the machine code of a release build's libkiln_pjrt.so by what programs execute, with LLVM's BOLT: what is hot
# stands together, in the order in which it runs. LLVM's code generator is thirty megabytes of small functions, most of
# whose time goes into fetching instructions; compiling takes 0.74 to 0.85 of the time behind this (compile_bench).
#
#   scripts/optimize_layout.sh BUILD PYTHON     BUILD/libkiln_pjrt.so, in place; nothing is done twice
#
# Counts are taken once per build folder (BUILD/layout/profile), of scripts/layout_workload.py on an instrumented copy:
# most of them are of LLVM's functions, which stay as they are.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 python=$2
library=$build/libkiln_pjrt.so folder=$build/layout
bolt=/usr/lib/llvm-19/bin/llvm-bolt  # by this path it finds its runtime

say() { printf 'layout: %s\n' "$*" >&2; }
sum_of() { sha256sum "$1" | cut -c1-64; }

if [[ "$(uname -m)" != x86_64 || ! -x "$bolt" ]]; then
  say "$library stays as it is linked: the package bolt-19 (for x86-64) is not installed"
  exit 0
fi
mkdir -p "$folder"
if [[ -f "$folder/stamp" && "$(<"$folder/stamp")" == "$(sum_of "$library")" ]]; then exit 0; fi

movable=$folder/libkiln_pjrt.so log=$folder/log
trap 'say "$library stays as it is linked: laying it out failed ($log)"; exit 0' ERR
ninja -C "$build" --quiet kiln_pjrt_movable
# Functions of other libraries are bound as this one is loaded, so that nothing runs the head of the linkage table. It is
# 32 bytes long, of which BOLT takes each half for an entry: the second begins amid an address, which may be no code.
llvm-objcopy-19 --dump-section .plt="$folder/plt" "$movable" /dev/null
printf '\x90%.0s' {1..32} | dd of="$folder/plt" conv=notrunc status=none
llvm-objcopy-19 --update-section .plt="$folder/plt" "$movable"
if [[ ! -s "$folder/profile" || "$0" -nt "$folder/profile" || scripts/layout_workload.py -nt "$folder/profile" ]]; then
  say "counting what runs, once per build folder (a minute or two)"
  "$bolt" "$movable" -o "$folder/counting.so" -instrument --instrumentation-file="$PWD/$folder/counts" >"$log" 2>&1
  rm -f "$folder/counts"
  PYTHONPATH="$PWD:$PWD/plugin/jax/src" KILN_LIBRARY_PATH="$PWD/$folder/counting.so" KILN_KERNEL_CACHE=off \
    JAX_PLATFORMS=kiln "$python" scripts/layout_workload.py
  rm "$folder/counting.so"
  mv "$folder/counts" "$folder/profile"
fi
say "laying out $library"
# Sections begin on usual pages: on those of two megabytes, which files are not read in, the library has two more.
"$bolt" "$movable" -o "$folder/ordered.so" --data="$folder/profile" --lite=0 --use-old-text --no-huge-pages \
  --reorder-blocks=ext-tsp --reorder-functions=cdsort --split-functions --split-all-cold --split-eh --icf=1 \
  >"$log" 2>&1
llvm-strip-19 "$folder/ordered.so"
"$python" scripts/drop_moved_sections.py "$folder/ordered.so" || say "$library keeps what has moved, three megabytes"
if grep -q 'too small to fit' "$log"; then
  say "$library stays as it is linked: laid out it does not fit where the code was ($log)"
  exit 0
fi
sum_of "$folder/ordered.so" >"$folder/stamp"
mv "$folder/ordered.so" "$library"
