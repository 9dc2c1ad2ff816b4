#!/usr/bin/env bash
# Prepares a Debian 12 machine for building and testing Kiln: Debian packages, Abseil, a Python environment.
# Safe to run again at any time; a finished step is skipped in milliseconds.
#
#   scripts/setup.sh          everything
#   scripts/setup.sh build    what the C++ build needs
#   scripts/setup.sh python   what JAX and the tests need
#   scripts/setup.sh tsan     what the preset tsan needs besides: Abseil with ThreadSanitizer, which must see its mutexes
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
deps="$root/.deps"
mkdir -p "$deps"

build_packages=(
  clang-19 libclang-rt-19-dev llvm-19-dev llvm-19-tools cmake ninja-build ccache mold
  libgtest-dev libgmock-dev nlohmann-json3-dev libcli11-dev libzstd-dev zlib1g-dev dpkg-dev python3
)
[[ "$(dpkg --print-architecture)" != amd64 ]] || build_packages+=(bolt-19)  # scripts/optimize_layout.sh
python_packages=(python3-venv)

say() { printf 'setup: %s\n' "$*" >&2; }

# stamp_is NAME KEY: the step NAME was finished with this KEY.
stamp_is() { [[ -f "$deps/$1.stamp" && "$(<"$deps/$1.stamp")" == "$2" ]]; }
write_stamp() { printf '%s' "$2" >"$deps/$1.stamp"; }
hash_of() { cat "$@" | sha256sum | cut -c1-16; }

# Installs those of the given Debian packages that are missing.
install_packages() {
  local missing=() package
  for package in "$@"; do
    [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return 0
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "these Debian packages are missing, and neither root nor sudo is at hand to install them: ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# prepare_build [NAME FLAGS]: packages, and Abseil as .deps/NAME.
prepare_build() {
  local name=${1:-abseil} key
  install_packages "${build_packages[@]}"
  key=$(hash_of "$root/scripts/build_abseil.sh")
  if ! stamp_is "$name" "$key"; then
    "$root/scripts/build_abseil.sh" "$deps/$name" "${2:-}"
    write_stamp "$name" "$key"
  fi
}

prepare_python() {
  local python=${PYTHON:-python3} key
  install_packages "${python_packages[@]}"
  key="$(hash_of "$root/requirements.txt") $("$python" -V)"
  if ! stamp_is venv "$key" || [[ ! -x "$root/.venv/bin/python" ]]; then
    say "making the Python environment .venv"
    "$python" -m venv "$root/.venv"
    "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$root/requirements.txt"
    write_stamp venv "$key"
  fi
}

case "${1:-all}" in
  build) prepare_build ;;
  tsan) prepare_build abseil-tsan "-fsanitize=thread -g" ;;
  python) prepare_python ;;
  all) prepare_build && prepare_python ;;
  *) say "unknown step '$1'; the steps are: build, tsan, python, all"; exit 2 ;;
esac
