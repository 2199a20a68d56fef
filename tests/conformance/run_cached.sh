#!/bin/sh
# run_cached.sh PROGRAM CASES ARGUMENT...: as run_suite.sh, twice with one cache of kernels: the daemon
# compiles them, and then has them.
WEBNND_KERNEL_CACHE=$(mktemp -d) || exit 1
export WEBNND_KERNEL_CACHE
trap 'rm -rf "$WEBNND_KERNEL_CACHE"' EXIT
for kernels in compiled cached; do
  echo "with kernels that are $kernels:"
  "$(dirname "$0")/run_suite.sh" "$@" || exit
done
