#!/usr/bin/env bash
# Publishes the files that the patterns in FILES find, one pattern a line. The other variables are the inputs of
# action.yml.
set -euo pipefail
shopt -s nullglob globstar

version=${VERSION:-${TAG#v}}
files=()
while IFS= read -r pattern; do
  [ -n "$pattern" ] || continue
  # The pattern is expanded, and may have spaces in it.
  IFS='' found=($pattern)
  if [ "${#found[@]}" -eq 0 ]; then
    echo "No file is named by: $pattern" >&2
    exit 1
  fi
  files+=("${found[@]}")
done <<<"$FILES"

arguments=(--app "$APP" --channel "$CHANNEL" --version "$version" --url-base "$URL_BASE")
[ -z "${NOTES:-}" ] || arguments+=(--notes "$NOTES")
[ -z "${ROLLOUT:-}" ] || arguments+=(--rollout "$ROLLOUT")
[ "${DRY_RUN:-false}" != true ] || arguments+=(--dry-run)

npx --yes --package "$SLUICE_PACKAGE" sluice release publish "${files[@]}" "${arguments[@]}"
