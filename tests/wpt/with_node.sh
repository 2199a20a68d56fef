#!/bin/sh
# with_node.sh COMMAND...: runs it, or skips loudly without Node.
command -v node > /dev/null || {
  echo "*** SKIPPED: Node is missing" >&2
  exit 77
}
exec "$@"
