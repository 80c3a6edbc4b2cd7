#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Lets a shoot live on machines that boot: see docs/development/machines.md. With ALL=1 it runs all tests that have such machines.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

hack/landscape/machines/build.sh
OST_MACHINES=later hack/landscape/openstack/up.sh --install
hack/landscape/build.sh >&2
hack/landscape/build.sh flanneld coredns csi-registrar >&2
[[ ${ALL:-} != 1 ]] || hack/landscape/build.sh agnhost kubectl kubernetes-e2e >&2
if [[ ${ALL:-} != 1 ]]; then
  exec go test -v -count 1 -timeout 60m ./test/integration/machines -ginkgo.v -ginkgo.label-filter life "$@"
fi
go test -p 1 -count 1 -timeout 150m ./test/landscape/hardware ./test/landscape/openstack/boot ./test/landscape/vcenter/boot ./test/integration/machines -ginkgo.v "$@"
go test -count 1 -timeout 20m ./test/integration/statichosts -ginkgo.v -ginkgo.focus "a kernel of its own"
