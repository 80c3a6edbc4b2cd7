#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Builds the image of each stage of the Dockerfile with docker, podman or buildah, for the platform of this machine. With PUSH=1 they
# are built for PLATFORMS and pushed to REGISTRY. The time stamp of an image is that of the commit.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

registry="${REGISTRY:+${REGISTRY%/}/}"
platforms="${PLATFORMS:-linux/amd64,linux/arm64}"
version="$(<VERSION)"
if [[ -n ${PUSH:-} && -z $registry ]]; then
  echo "PUSH needs REGISTRY, the prefix of the images' names." >&2
  exit 1
fi

# A client alone builds nothing: docker needs its daemon.
builder=""
for candidate in docker podman buildah; do
  if command -v "$candidate" >/dev/null && "$candidate" info >/dev/null 2>&1; then
    builder="$candidate"
    break
  fi
done
if [[ -z $builder ]]; then
  echo "Images are built by docker, podman or buildah; none of them works here. \`make build\` builds the binaries without images." >&2
  exit 1
fi

SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null || echo 0)"
export SOURCE_DATE_EPOCH

build() { # NAME IMAGE
  local arguments=(--target "$1" --build-arg "REVISION=${REVISION:-}")
  case "$builder" in
  docker)
    if [[ -n ${PUSH:-} ]]; then
      docker buildx build "${arguments[@]}" --platform "$platforms" --output "type=image,name=$2,push=true,rewrite-timestamp=true" .
    else
      docker buildx build "${arguments[@]}" --load --tag "$2" .
    fi
    ;;
  *)
    arguments+=(--timestamp "$SOURCE_DATE_EPOCH")
    if [[ -n ${PUSH:-} ]]; then
      "$builder" build "${arguments[@]}" --platform "$platforms" --manifest "$2" .
      "$builder" manifest push --all "$2" "docker://$2"
    else
      "$builder" build "${arguments[@]}" --tag "$2" .
    fi
    ;;
  esac
}

sed -n 's/^FROM [^ ]* AS \(.*\)$/\1/p' Dockerfile | while read -r name; do
  echo "> $registry$name:$version"
  build "$name" "$registry$name:$version" </dev/null
done
