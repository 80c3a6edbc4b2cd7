#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the tests of the given packages, or of a tier of test/suites.txt, and prints one line of totals at the end:
#   N passed, N failed, N skipped
# It counts single specs. If TOTALS_FILE is set, the line goes there instead. A package that does not end is a failure, and with
# HYBRID_STRICT=1 a skip that is not in hack/testtotals/skips.txt. TIER=test, the default, has all unit tests; TIER=fast has the packages
# that differ from BASE, by default where the branch began, and those that import them; TIER=nightly has the packages with concurrency of
# their own, with the race detector. The times of packages and specs are in hack/bin/test-times.tsv afterwards.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"
export GINKGO_NO_COLOR=TRUE
export OST_STATE="${OST_STATE:-${HYBRID_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-hybrid}/openstack}"
tier="${TIER:-test}"

# listed TIER   The folders of the suites of a tier, in their order.
listed() {
  awk -v tier="$1" '!/^#/ && $2 ~ "^(" tier ")$" {print $1}' test/suites.txt
}

# only FOLDER... <PACKAGES   Those of the packages that are in the folders, in the order of the folders.
only() {
  local packages folder
  packages="$(cat)"
  for folder in "$@"; do grep -E "/$folder$" <<<"$packages" || true; done
}

# affected   The packages that have changed since BASE, and those that import them, in their tests too.
affected() {
  local base folders
  base="${BASE:-$(git merge-base HEAD "$(git rev-parse --verify --quiet origin/main || git rev-parse main)")}"
  folders="$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | xargs -r dirname | sort -u)"
  go list -test -f '{{.ImportPath}} {{.Dir}} {{join .Deps " "}}' ./... | awk -v root="$PWD/" -v folders="$folders" '
    BEGIN { n = split(folders, all, "\n"); for (i = 1; i <= n; i++) changed[root all[i]] = 1 }
    {
      name = $1; sub(/\.test$/, "", name); sub(/_test$/, "", name)
      line[NR] = $0; of[NR] = name
      if ($2 in changed) hit[$1] = 1
    }
    END {
      for (i = 1; i <= NR; i++) {
        n = split(line[i], f, " "); found = f[1] in hit
        for (j = 3; j <= n && !found; j++) found = f[j] in hit
        if (found) print of[i]
      }
    }
  ' | sort -u | grep -Fxf <(go list ./...) || true
}

given=$#
if [[ $tier == fast && $given == 0 ]]; then
  packages="$(affected)"
else
  packages="$(go list "${@:-./...}")"
fi
case "$tier" in
fast) tiers=fast ;;
test) tiers='fast|test' ;;
nightly) tiers=nightly ;;
*) echo "TIER must be one of fast, test, nightly." >&2; exit 1 ;;
esac
if ((given > 0)); then
  tiers=".*"
elif [[ $tier != nightly ]]; then
  export HYBRID_FOR_MERGE=1
fi
# shellcheck disable=SC2046
unit="$(comm -23 <(sort <<<"$packages") <(only $(listed ".*") <<<"$packages" | sort))"
# shellcheck disable=SC2046
suites="$(only $(listed "$tiers") <<<"$packages")"
flags=()
if [[ $tier == nightly ]]; then
  unit="$(grep -E '/(pkg/(platform|machine|controller|cloudprovider|csi|dns)|test/countproxy)(/|$)' <<<"$unit" || true)"
  flags=(-race)
  if ! command -v "$(go env CC)" >/dev/null || [[ $(go env CGO_ENABLED) != 1 ]]; then
    echo "No C compiler: the tests run without the race detector." >&2
    flags=()
  fi
fi
if [[ -z $unit$suites ]]; then
  echo "No package has changed." >&2
  exit 0
fi
packages="$unit"$'\n'"$suites"

hack/landscape/build.sh >&2

reports="$(mktemp -d)"
trap 'rm -rf "$reports"' EXIT
export HYBRID_REPORTS="$reports"

# Executables of ours that suites start are built once. Suites that are run by themselves build what they need.
openstack=""
started() {
  while [[ -n $openstack ]] && kill -0 "$openstack" 2>/dev/null; do sleep 1; done
}
stop() {
  started
  [[ -z $openstack ]] || hack/landscape/openstack/down.sh >&2
  rm -rf "$reports"
}
if [[ -n $suites && $tier != fast ]]; then
  export HYBRID_EXECUTABLES="$reports/executables"
  go build -o "$HYBRID_EXECUTABLES/" ./cmd/... ./test/landscape/vcenter/simulator
  # OpenStack starts while the unit tests run. What was started here is stopped here.
  if ! (: </dev/tcp/127.0.0.1/5000) 2>/dev/null; then
    trap stop EXIT
    hack/landscape/openstack/up.sh </dev/null >&2 &
    openstack=$!
  fi
fi

# run [FLAG...] PACKAGES   The exit code comes from the totals. Vet is part of the check, and nobody debugs these executables.
run() {
  local list="${*: -1}"
  # shellcheck disable=SC2086
  [[ -z $list ]] || go test -json -vet=off -ldflags=-w -timeout 85m "${@:1:$#-1}" $list || true
}

{
  # Go caches results, unless tests read what differs in each run. Half of the time is linking, which uses one processor.
  (unset HYBRID_REPORTS; run -p 3 "${flags[@]}" "$unit")
  # What did not start is tried again: a suite that finds no OpenStack would start one for itself, and stop it under the others.
  started
  [[ -z $openstack ]] || hack/landscape/openstack/up.sh >&2
  run -p 2 "$suites"
} </dev/null |
  # shellcheck disable=SC2086
  go run ./hack/testtotals -skips hack/testtotals/skips.txt -suites test/suites.txt -reports "$reports" -times hack/bin/test-times.tsv \
    "-strict=${HYBRID_STRICT:-0}" -o "${TOTALS_FILE:-/dev/stdout}" $packages
