#!/bin/sh
# run_suite.sh PROGRAM FOLDER ARGUMENT...: runs the cases in FOLDER, or skips loudly without it. Fails
# unless exactly the cases of known_deviations.txt, each with its reason there, fail.
program=$1
folder=$2
shift 2
if [ ! -d "$folder" ]; then
  echo "SKIPPED: the conformance cases ($folder) are not there" >&2
  exit 77
fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT
"$program" --cases "$folder" "$@" > "$output" 2>&1
status=$?
cat "$output"
known=$(dirname "$0")/known_deviations.txt
grep -v '^#' "$known" > "$output.known"
unexpected=$(grep '^FAILED' "$output" | grep -v -F -f "$output.known")
expected=$(grep '^FAILED' "$output" | grep -c -F -f "$output.known")
wanted=$(grep -c . "$output.known")
rm -f "$output.known"
# 0: nothing failed. 1: cases failed. Anything else is the runner's own end.
[ "$status" -le 1 ] || exit "$status"
if [ -n "$unexpected" ] || [ "$expected" != "$wanted" ]; then
  echo "unexpected: ${unexpected:-fewer deviations than known_deviations.txt lists}" >&2
  exit 1
fi
echo "all as expected; $wanted known deviation(s)"
