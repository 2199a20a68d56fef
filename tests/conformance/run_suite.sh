#!/bin/sh
# run_suite.sh PROGRAM CASES ARGUMENT...: runs the cases of a file or folder, or skips loudly without.
program=$1
cases=$2
shift 2
if [ ! -e "$cases" ]; then
  echo "SKIPPED: the conformance cases ($cases) are not there" >&2
  exit 77
fi
exec "$program" --cases "$cases" "$@"
