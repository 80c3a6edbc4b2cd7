#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs what takes too long for each merge, one after the other, and goes on after failures: suites of the tier "nightly" and packages with
# concurrency of their own with the race detector, long faults, fuzzing, the demo, and the figures, compared with those of the last night.
# It takes three to four hours on 2 cores.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

failed=()
run() {
  local name="$1"
  shift
  echo "> $name" >&2
  "$@" </dev/null || failed+=("$name")
}

# in_part   The suites of other tiers with specs that a merge does not need.
in_part() {
  comm -23 <(grep -rlE 'suite\.(Nightly|ForMerge)' test --include='*_test.go' | xargs dirname | sort -u) \
    <(awk '$2 == "nightly" {print $1}' test/suites.txt | sort) | sed 's,^,./,'
}

run "What machines boot" hack/landscape/machines/build.sh
run "What runs in their pods" hack/landscape/build.sh flanneld coredns csi-registrar vsphere-node gardener-node-agent \
  gardener-extension-os-suse-chost agnhost kubectl kubernetes-e2e
OST_MACHINES=later run "What their networks need" hack/landscape/openstack/up.sh --install
run "The site, and a browser for its test" hack/site.sh --browser
run "vSphere CSI driver" hack/vsphere-csi.sh
run "What the pages for operators need" hack/pages.sh
run "Prometheus" hack/landscape/build.sh prometheus
LONG_FAULTS=1 HYBRID_STRICT=1 TIER=nightly run "Nightly suites, race detector" hack/test.sh
# shellcheck disable=SC2046
run "All specs of suites that a merge needs in part" hack/test.sh $(in_part)
FUZZ_SECONDS="${FUZZ_SECONDS:-900}" run "Fuzzing" hack/fuzz.sh
run "Demo" hack/demo.sh
run "Figures" go run ./test/bench -o hack/bin/bench.json

if ((${#failed[@]} > 0)); then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "All passed."
