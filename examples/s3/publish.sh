#!/usr/bin/env bash
# Uploads the files of a build to S3, or a store that speaks as S3 does, and publishes them to part of the devices.
#
#     SLUICE_URL=https://updates.example.com SLUICE_KEY=sluice_… SLUICE_PACKAGE=./sluice-cli-0.3.0.tgz \
#     BUCKET=downloads.example.com URL_BASE=https://downloads.example.com APP=notes \
#     ./publish.sh 1.4.0 dist
#
# CHANNEL is stable and ROLLOUT 10 unless they are set. Credentials for S3 are those of the aws command.
set -euo pipefail

if [ "$#" -lt 2 ]; then
  echo 'Usage: publish.sh VERSION FILE…' >&2
  exit 2
fi
version=$1
shift
folder=$APP/$version
release=(--app "$APP" --channel "${CHANNEL:-stable}" --version "$version" --url-base "$URL_BASE/$folder")

sluice() {
  npx --yes --package "$SLUICE_PACKAGE" sluice "$@"
}

# What is wrong with the release is found before anything is uploaded. The answer tells which files it has, and the
# address of each, whose name may be another one.
answer=$(sluice release publish "$@" "${release[@]}" --dry-run --json) || {
  code=$?
  [ -z "$answer" ] || printf '%s\n' "$answer"
  exit "$code"
}

# Before the release: a device may ask in the second in which it is published.
node -e '
  for (const { file, url } of JSON.parse(require("fs").readFileSync(0, "utf8")).files) {
    console.log(`${file}\t${decodeURIComponent(url.slice(url.lastIndexOf("/") + 1))}`);
  }' <<<"$answer" |
  while IFS=$'\t' read -r file name; do
    aws s3 cp "$file" "s3://$BUCKET/$folder/$name" \
      --cache-control 'public, max-age=31536000, immutable' </dev/null
  done

sluice release publish "$@" "${release[@]}" --rollout "${ROLLOUT:-10}"
