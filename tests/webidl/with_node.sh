#!/bin/sh
# Runs a command that needs Node and the generator's packages: with_node.sh COMMAND...
# Without them it says so and exits 77, which ctest shows as skipped. WEBNND_REQUIRE_FRESHNESS=1
# makes that a failure: where generated files are judged, nobody may skip.
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
missing=
command -v node >/dev/null 2>&1 || missing="node"
for package in @webref/idl webidl2; do
  [ -d "$root/webidl/node_modules/$package" ] || missing="$missing $package"
done
if [ -n "$missing" ]; then
  echo "*** NOT CHECKED: missing $missing"
  echo "*** Install Node, then: npm ci --prefix webidl"
  [ "$WEBNND_REQUIRE_FRESHNESS" = 1 ] && exit 1
  exit 77
fi
cd "$root" && exec "$@"
