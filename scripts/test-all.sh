#!/usr/bin/env bash
# Everything that can be proved here, in some 40 minutes: every part of the tests, each suite on the set-ups
# that can change its answers, the long times of the contract, the other Nodes and the other HTTP engine, chaos,
# and one quick pass of the benchmarks. It is run before a release, and before a change ends that touches what only this covers.
# `.ci/run` installs what it needs.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

step() {
  printf '\n== %s (%s s)\n' "$*" "$SECONDS"
}

step 'Tests: every part'
SLUICE_MATRIX=all SLUICE_FULL=1 npx vitest run

# On one set-up, and with few runs of each property: what a Node changes is no matter of these.
step 'The other Nodes'
scripts/other-node.sh 20 22 24

step 'The other HTTP engine, embedded'
scripts/other-node.sh --whole 26

step 'Chaos'
npm run chaos -- --seed "${SEED:-1}" --minutes "${CHAOS_MINUTES:-1}"

# Without `check` and `price`, which `.ci/run` runs, and what measures by the clock of a fleet, or beside a commit.
step 'Benchmarks, one quick pass'
for name in connections peers fleet propagation drain wave rollouts ddi; do
  npm run bench -- "$name" --smoke
done

step 'All passed'
