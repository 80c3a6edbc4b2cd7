#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the tests with a real Gardener: see docs/development/garden.md. With KEEP=1 everything is left running until it is interrupted. With
# MACHINES=1 its nodes are machines that boot, and nothing is left running.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

if [[ $(uname) != Linux || $(id -u) != 0 ]]; then
  echo "A garden needs Linux and root, for network and mount namespaces." >&2
  exit 1
fi
hack/landscape/build.sh >&2
if [[ ${MACHINES:-} == 1 ]]; then
  hack/landscape/machines/build.sh
  OST_MACHINES=later hack/landscape/openstack/up.sh --install
  hack/landscape/build.sh flanneld coredns csi-registrar vsphere-node gardener-node-agent gardener-extension-os-suse-chost >&2
  exec go test -v -count 1 -timeout 60m ./test/e2e/machines -ginkgo.v "$@"
fi

# OpenStack brings what else is needed: BIND and iproute2. What was started here is stopped here.
if ! (: </dev/tcp/127.0.0.1/5000) 2>/dev/null; then
  trap 'hack/landscape/openstack/down.sh >&2' EXIT
  hack/landscape/openstack/up.sh </dev/null >&2
fi

echo "> Build the tests (2 to 4 minutes if nothing was built before)" >&2
go test -c -o hack/bin/garden ./test/e2e
(cd test/e2e && exec ../../hack/bin/garden -ginkgo.timeout=24h "$@")
