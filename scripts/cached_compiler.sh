#!/bin/sh
# cached_compiler.sh CCACHE COMPILER ARGUMENTS...: compiles through ccache.
#
# A precompiled header holds the paths of its checkout, so that by its bytes no other checkout's results would be taken
# for those of this one. ccache knows it by the file beside it instead: the sum of all headers that it was made of.
# Paths inside the checkout are compared from its root.
CCACHE_BASEDIR=$(cd "$(dirname "$0")/.." && pwd)
export CCACHE_BASEDIR CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=true
"$@" || exit
for argument; do
  case $argument in
    *.pch.d) sed 's/^[^:]*://; s/\\$//' "$argument" | xargs cat | sha256sum >"${argument%.d}.sum" ;;
  esac
done
