#!/bin/sh
# expect_failure.sh PROGRAM ARGUMENT...: passes when the program counts one failed case and exits 1.
output=$("$@")
code=$?
echo "$output"
[ "$code" = 1 ] && [ "$(echo "$output" | tail -n 1)" = "0 passed, 1 failed, 0 skipped" ]
