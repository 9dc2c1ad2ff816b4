#!/usr/bin/env bash
# build_abseil.sh PREFIX [FLAGS]: builds Debian's Abseil into PREFIX as static libraries that a shared library can hold,
# with further compiler flags if given.
#
# Debian's own static libraries are not position independent, and linking its shared ones would mix with the Abseil that
# frameworks load into the same process. So this takes Debian's source package, through apt and its signature checks, and
# builds it position independent and hidden. The machine's own apt configuration is left as it is.
set -euo pipefail

prefix=$1
flags=${2:-}
work="$(dirname "$prefix")/$(basename "$prefix")-work"
rm -rf "$work" "$prefix"
mkdir -p "$work"/{sources.list.d,lists/partial,cache/archives/partial,source}
work=$(cd "$work" && pwd)

# The system's package sources, as source-package sources.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
  if [[ -f "$list" ]]; then sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$list"; fi
done | sort -u >"$work/sources.list.d/kiln.list"
for sources in /etc/apt/sources.list.d/*.sources; do
  if [[ -f "$sources" ]]; then
    sed 's/^Types:.*/Types: deb-src/' "$sources" >"$work/sources.list.d/$(basename "$sources")"
  fi
done

apt_options=(
  -q
  -o Dir::Etc::SourceList=/dev/null
  -o "Dir::Etc::SourceParts=$work/sources.list.d"
  -o "Dir::State::Lists=$work/lists"
  -o "Dir::Cache=$work/cache"
  -o Acquire::AllowInsecureRepositories=false
  -o APT::Get::AllowUnauthenticated=false
)
# Root's downloads would go through the user _apt, which may not enter this directory.
if [[ $(id -u) -eq 0 ]]; then apt_options+=(-o APT::Sandbox::User=root); fi

echo "abseil: fetching the Debian source package" >&2
apt-get "${apt_options[@]}" update >"$work/apt.log" 2>&1 ||
  echo "abseil: some package sources have no source index; going on without them" >&2
if ! (cd "$work/source" && apt-get "${apt_options[@]}" source abseil) >>"$work/apt.log" 2>&1; then
  tail -20 "$work/apt.log" >&2
  echo "abseil: apt could not fetch the source package 'abseil'" >&2
  exit 1
fi
source_directory=$(find "$work/source" -mindepth 1 -maxdepth 1 -type d -name 'abseil-*')

# Debian pins Abseil's own string_view, optional and the like for the sake of its shared library's ABI. Here they are the
# standard's, as Abseil itself has it by default.
sed -i -E 's/^(#define ABSL_OPTION_USE_STD_[A-Z_]+) 0$/\1 2/' "$source_directory/absl/base/options.h"

echo "abseil: building $(basename "$source_directory")" >&2
{
  cmake -S "$source_directory" -B "$work/build" -G Ninja \
    -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_CXX_FLAGS="$flags" \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_STANDARD=20 -DABSL_PROPAGATE_CXX_STD=ON \
    -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON
  cmake --build "$work/build" --target install
} >"$work/build.log" 2>&1 || { tail -30 "$work/build.log" >&2; exit 1; }
rm -rf "$work"
