#!/bin/sh
# expect_failure.sh TEXT COMMAND...: succeeds when COMMAND fails and says TEXT.
text=$1
shift
output=$("$@" 2>&1)
code=$?
printf '%s\n' "$output" | tail -n 20
if [ "$code" -eq 0 ]; then
  echo "the command succeeds (it must not)"
  exit 1
fi
case $output in
  *"$text"*) exit 0 ;;
esac
echo "the command fails ($code) without saying: $text"
exit 1
