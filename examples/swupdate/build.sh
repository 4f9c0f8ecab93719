#!/usr/bin/env bash
# Builds a signed image for SWUpdate that installs one file, as the sw-description beside this script says.
#
#     CERTIFICATE=certificate.pem KEY=key.pem ./build.sh 1.4.0 gateway.squashfs /opt/gateway.squashfs
#
# writes gateway-1.4.0.swu into the folder that it is run in. It needs openssl and cpio.
set -euo pipefail

if [ "$#" -ne 3 ]; then
  echo 'Usage: build.sh VERSION FILE PATH-ON-THE-DEVICE' >&2
  exit 2
fi
version=$1
file=$2
path=$3
name=$(basename -- "$file")
image=$PWD/${name%%.*}-$version.swu

folder=$(mktemp -d)
trap 'rm -r -- "$folder"' EXIT
cp -- "$file" "$folder/$name"

# SWUpdate compares the sum, so that the signature of the description is one of the file as well.
sum=$(sha256sum <"$file")
description=$(<"$(dirname -- "${BASH_SOURCE[0]}")/sw-description")
description=${description//@VERSION@/"$version"}
description=${description//@FILE@/"$name"}
description=${description//@PATH@/"$path"}
description=${description//@SHA256@/"${sum%% *}"}
printf '%s\n' "$description" >"$folder/sw-description"

openssl cms -sign -binary -nosmimecap -outform DER -signer "$CERTIFICATE" -inkey "$KEY" \
  -in "$folder/sw-description" -out "$folder/sw-description.sig"

# The description comes first, and then its signature: SWUpdate reads an image while it comes in.
cd -- "$folder"
printf '%s\n' sw-description sw-description.sig "$name" | cpio --quiet -o -H crc >"$image"
