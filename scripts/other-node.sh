#!/usr/bin/env bash
# Runs the unit tests, and what of the service a Node or an HTTP engine can change, on other versions of Node: by
# default on 26, where uWebSockets.js has no binary and node:http serves. The version that runs is passed over. npm
# brings the others; nothing stays.
#
#   scripts/other-node.sh [MAJOR…]         # the suites of the transport, and units on the newest Node
#   scripts/other-node.sh --whole [MAJOR…] # suites over HTTP, embedded; faults and times of connections
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

declare -A VERSIONS=([20]=20.20.2 [22]=22.23.5 [24]=24.22.3 [26]=26.12.1)
# It shows units for those between it and the one that runs the rest.
NEWEST=26

# What goes over the wire, how connections begin and end, native modules, and the command.
TRANSPORT=(
  test/service/{access-log,ambiguous-bodies,bad-input,connections,embedded,health,late-body}.test.ts
  test/service/{live-feed,request-id,tour,update-check}.test.ts
)
FAULTS=(
  test/faults/{crash,stop}.test.ts
  test/release/{connection-limit,edge-behind-nginx,fronts,hung-worker,workers}.test.ts
)
TIMES=(test/timed/{connections,notes-off-thread,unread-answers}.test.ts)

if [ "$(uname -s)" != Linux ]; then
  echo 'skipped: npm has the other Nodes for Linux only'
  exit 0
fi

is_whole=false
if [ "${1:-}" = --whole ]; then
  is_whole=true
  shift
fi
[ $# -gt 0 ] || set -- 26

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
package="node-linux-$(node -p process.arch)"

tests() {
  node node_modules/vitest/vitest.mjs run "$@"
}

running=$(node -p 'process.versions.node.split(".")[0]')

for major in "$@"; do
  if [ "$major" = "$running" ]; then
    echo "skipped: Node $major runs the rest"
    continue
  fi
  npm install --no-save --no-package-lock --loglevel=error --prefix "$folder/$major" \
    "$package@${VERSIONS[$major]}"
  (
    PATH=$folder/$major/node_modules/$package/bin:$PATH
    echo "Node $(node --version)"
    if "$is_whole"; then
      # What starts nodes of its own is about their settings, which no engine changes, or stands in TRANSPORT.
      mapfile -t shared < <(grep -lE '^(service|device)Suite\(' test/service/*.test.ts)
      SLUICE_MATRIX=embedded tests --project servers "${shared[@]}" "${TRANSPORT[@]}"
      tests --project faults --project release "${FAULTS[@]}"
      tests --project timed "${TIMES[@]}"
    else
      if [ "$major" = "$NEWEST" ]; then tests --project unit; fi
      tests --project servers "${TRANSPORT[@]}"
    fi
  )
done
