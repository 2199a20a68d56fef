#!/bin/sh
# run_suite.sh PROGRAM FOLDER ARGUMENT...: runs the cases in FOLDER, or skips loudly without it.
program=$1
folder=$2
shift 2
if [ ! -d "$folder" ]; then
  echo "SKIPPED: the conformance cases ($folder) are not there" >&2
  exit 77
fi
exec "$program" --cases "$folder" "$@"
