#!/bin/sh
# expect_exported.sh PROGRAM SYMBOL...: the program has these functions for libraries to find.
program=$1
shift
for symbol; do
  nm -D --defined-only "$program" | grep -q " T $symbol$" && continue
  echo "$program does not export $symbol"
  exit 1
done
