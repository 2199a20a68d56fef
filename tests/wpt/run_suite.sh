#!/bin/sh
# run_suite.sh MODULE ARGUMENT...: runs the suite that WPT_DIR names on the webnn-node at MODULE, or
# skips loudly where one of them or Node is missing.
module=$1
shift
here=$(dirname "$0")
skip() {
  echo "*** SKIPPED: $1" >&2
  exit 77
}
command -v node > /dev/null || skip "Node is missing"
[ -n "$WPT_DIR" ] || skip "WPT_DIR does not name a copy of web-platform-tests"
[ -f "$WEBNN_ADDON" ] || skip "webnn-node is not built ($WEBNN_ADDON)"
exec node "$here/run.mjs" --wpt "$WPT_DIR" --webnn "$module" "$@"
