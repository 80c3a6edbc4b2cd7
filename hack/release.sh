#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Makes what the release of VERSION consists of in hack/bin/release: images and charts in the layout of OCI, registrations that name them
# by digest, examples, hybridctl for users' machines, checksums and notes. It pushes images and charts to REGISTRY and tags the commit.
# With DRY_RUN=1 it does neither, and takes a version that is in development.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

version="$(<VERSION)"
dry="${DRY_RUN:-}"
registry="${REGISTRY:-}"
out="$PWD/hack/bin/release"

fail() {
  echo "No release: $1" >&2
  exit 1
}

notes() { awk -v version="${version%-dev}" '/^## / {found = $2 == version; next} found' CHANGELOG.md; }

[[ -n $registry ]] || fail "REGISTRY, the prefix of the names of images and charts, is not set."
[[ -n $(notes) ]] || fail "CHANGELOG.md has no section \"## ${version%-dev}\"."
if [[ -z $dry ]]; then
  [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "VERSION is $version; it must be a version such as v0.1.0."
  [[ -z $(git status --porcelain) ]] || fail "the checkout has changes that are not committed."
  git rev-parse --verify --quiet "refs/tags/$version" >/dev/null && fail "the tag $version exists."
fi

rm -rf "$out"
mkdir -p "$out"
push=1
[[ -z $dry ]] || push=
make -s images REGISTRY="$registry" PUSH="$push"
cp -r hack/bin/oci "$out/oci"
rm -rf "$out/oci/bin"
cp -r hack/bin/charts "$out/charts"

cp -r example "$out/example"
rm "$out"/example/{extension,controller-registration}.yaml

echo "> Registrations" >&2
go run ./hack/registration -out "$out" -registry "$registry" -digests hack/bin/oci/digests.json

for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do
  echo "> hybridctl for $platform" >&2
  GOOS="${platform%/*}" GOARCH="${platform#*/}" make -s build BINARY=hybridctl OUTPUT="$out/$platform"
  tar --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct)" -cf - -C "$out/$platform" hybridctl | gzip -n \
    >"$out/hybridctl-$version-${platform/\//-}.tar.gz"
  rm -r "${out:?}/${platform%/*}"
done

notes >"$out/notes.md"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)

if [[ -n $dry ]]; then
  echo "> $version is in $out. Nothing was pushed or tagged." >&2
  exit 0
fi
git tag --annotate "$version" --message "Release $version"
echo "> $version is pushed to $registry, tagged, and in $out. Publish it with \`git push origin $version\` and the files in $out." >&2
