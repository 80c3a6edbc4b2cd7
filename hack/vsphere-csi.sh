#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Builds the vSphere CSI driver and its syncer from the Go module proxy into hack/bin, unless they are there, and tests them with the
# charts and the configuration of a shoot against two simulated vCenters. `make nightly` runs it: the build takes several minutes.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
version=v3.7.0
bin="$PWD/hack/bin"

if [[ ! -x $bin/vsphere-csi || ! -x $bin/vsphere-syncer || $(cat "$bin/.vsphere-csi.version" 2>/dev/null) != "$version" ]]; then
  source="$(mktemp -d)"
  trap 'chmod -R u+w "$source"; rm -rf "$source"' EXIT
  module="$(go mod download -json "sigs.k8s.io/vsphere-csi-driver/v3@$version" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')"
  cp -r "$module/." "$source"
  chmod -R u+w "$source"
  # Only a Go that is built for FIPS has this package. It restricts TLS.
  sed -i '/"crypto\/tls\/fipsonly"/d' "$source/pkg/syncer/admissionhandler/cnscsi_admissionhandler.go"
  (cd "$source" && go build -ldflags "-s -w" -o "$bin/vsphere-csi" ./cmd/vsphere-csi && go build -ldflags "-s -w" -o "$bin/vsphere-syncer" ./cmd/syncer)
  echo "$version" >"$bin/.vsphere-csi.version"
fi

hack/landscape/build.sh >&2
go test -count 1 ./test/integration/vspherecsi -ginkgo.v "$@"
