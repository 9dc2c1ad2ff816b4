#!/usr/bin/env bash
# install_wheel.sh PYTHON LIBRARY STAMP: makes the kiln-jax wheel in dist/ and installs it, when anything in it changed.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 library=$2 stamp=$3

key=$(sha256sum "$library" CMakeLists.txt .deps/venv.stamp plugin/jax/{pyproject.toml,setup.py} \
  plugin/jax/src/jax_plugins/kiln/*.py | sha256sum | cut -c1-16)
if [[ -f "$stamp" && "$(<"$stamp")" == "$key" ]]; then exit 0; fi

rm -rf dist plugin/jax/build
KILN_LIBRARY_PATH="$PWD/$library" "$python" -m pip wheel plugin/jax --quiet --disable-pip-version-check \
  --no-deps --no-build-isolation --wheel-dir dist
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall dist/kiln_jax-*.whl
mkdir -p "$(dirname "$stamp")"
printf '%s' "$key" >"$stamp"
echo "installed $(basename dist/kiln_jax-*.whl)"
