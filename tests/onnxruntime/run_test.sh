#!/bin/sh
# run_test.sh FILE: runs a test file on the addon that WEBNN_ADDON names, or skips loudly where Node,
# the npm packages or the addon are missing.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
skip() {
  echo "*** SKIPPED: $1" >&2
  exit 77
}
command -v node > /dev/null || skip "Node is missing"
[ -d "$here/node_modules/onnxruntime-web" ] ||
  skip "onnxruntime-web is missing; run: npm ci --prefix tests/onnxruntime"
[ -f "$WEBNN_ADDON" ] || skip "webnn-node is not built ($WEBNN_ADDON)"
export WEBNN_NODE="$here/../../client/node/index.mjs"
# V8's optimizing compiler works on one function of the runtime for a minute, and the process waits.
exec node --liftoff-only "$here/$1"
