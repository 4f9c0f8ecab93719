#!/usr/bin/env bash
# Runs the unit tests, and enough of the service to see its native modules and the command at work, on the other
# line of Node that package.json names: 22, or 20 where this machine has 22; and that a later one is refused before
# anything is opened. npm brings these Nodes; nothing stays.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

if [ "$(uname -s)" != Linux ]; then
  echo 'skipped: npm has the other Node for Linux only'
  exit 0
fi

other_node=$(mktemp -d)
trap 'rm -rf -- "$other_node"' EXIT
package="node-linux-$(node -p process.arch)"
version=$(node -p 'process.version.startsWith("v22.") ? "20.20.2" : "22.23.3"')
npm install --no-save --no-package-lock --loglevel=error --prefix "$other_node" "$package@$version"
PATH=$other_node/node_modules/$package/bin:$PATH
echo "Node $(node --version)"
npm run test:unit
npx vitest run --project servers test/service/{tour,health,embedded,update-check-decision}.test.ts

npm install --no-save --no-package-lock --loglevel=error --prefix "$other_node/later" "$package@24.21.0"
later=$other_node/later/node_modules/$package/bin/node
told=$(DATA_DIR=$other_node/data "$later" dist/main.js 2>&1) && status=0 || status=$?
echo "$told"
[ "$status" = 1 ] && [[ $told == 'sluice: this is Node 24'* ]] && [ ! -e "$other_node/data" ]
