#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the tests of the given packages, or of all, and prints one line of totals at the end:
#   N passed, N failed, N skipped
# It counts single specs. If TOTALS_FILE is set, the line goes there instead. A package that does not end is a failure, and with
# HYBRID_STRICT=1 a skip that is not in hack/testtotals/skips.txt.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"
export GINKGO_NO_COLOR=TRUE
export OST_STATE="${OST_STATE:-${HYBRID_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-hybrid}/openstack}"

# Packages with concurrency of their own are tested with the race detector.
racy='/(pkg/(platform|machine|controller|cloudprovider|csi|dns)|test/countproxy)(/|$)'

race=(-race)
if ! command -v "$(go env CC)" >/dev/null || [[ $(go env CGO_ENABLED) != 1 ]]; then
  echo "No C compiler: the tests run without the race detector." >&2
  race=()
fi

packages="$(go list "${@:-./...}")"
integration="$(grep -E '/test/(integration/|e2e$)' <<<"$packages" || true)"
# Three suites run at the same time, as they wait most of the time. Those with the longest tests come first.
longest="e2e integration/threeplatforms integration/openstack integration/faults integration/twoplatforms integration/shoot integration/crash
  integration/ccm integration/sitehealth integration/controlplane integration/csi"
suites="$(for suite in $longest; do grep "/test/$suite$" <<<"$integration" || true; done
  grep -vE "/test/($(xargs <<<"$longest" | tr ' ' '|'))$" <<<"$integration" || true)"
unit="$(grep -vE '/test/(integration/|e2e$)' <<<"$packages" || true)"
concurrent="$(grep -E "$racy" <<<"$unit" || true)"
others="$(comm -23 <(sort <<<"$unit") <(sort <<<"$concurrent"))"

hack/landscape/build.sh >&2

# Executables of ours that suites start are built once. Suites that are run by themselves build what they need.
if [[ -n $integration ]]; then
  HYBRID_EXECUTABLES="$(mktemp -d)"
  export HYBRID_EXECUTABLES
  trap 'rm -rf "$HYBRID_EXECUTABLES"' EXIT
  go build -o "$HYBRID_EXECUTABLES/" ./cmd/... ./test/landscape/vcenter/simulator
fi

# OpenStack starts while the unit tests run. What was started here is stopped here.
openstack=""
started() {
  while [[ -n $openstack ]] && kill -0 "$openstack" 2>/dev/null; do sleep 1; done
}
stop() {
  started
  hack/landscape/openstack/down.sh >&2
  rm -rf "$HYBRID_EXECUTABLES"
}
if [[ -n $integration ]] && ! (: </dev/tcp/127.0.0.1/5000) 2>/dev/null; then
  trap stop EXIT
  hack/landscape/openstack/up.sh </dev/null >&2 &
  openstack=$!
fi

# run [FLAG...] PACKAGES   The exit code comes from the totals. Vet is part of the check, and nobody debugs these executables.
run() {
  local list="${*: -1}"
  # shellcheck disable=SC2086
  [[ -z $list ]] || go test -json -vet=off -ldflags=-w -timeout 40m "${@:1:$#-1}" $list || true
}

{
  run "${race[@]}" "$concurrent"
  run "$others"
  # What did not start is tried again: a suite that finds no OpenStack would start one for itself, and stop it under the others.
  started
  [[ -z $openstack ]] || hack/landscape/openstack/up.sh >&2
  run -p 3 "$suites"
} </dev/null |
  # shellcheck disable=SC2086
  go run ./hack/testtotals -skips hack/testtotals/skips.txt "-strict=${HYBRID_STRICT:-0}" -o "${TOTALS_FILE:-/dev/stdout}" $packages
