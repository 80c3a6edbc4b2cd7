#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the tests of the given packages, or of all, and prints one line of totals at the end:
#   N passed, N failed, N skipped
# It counts single specs. If TOTALS_FILE is set, the line goes there instead.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"

# Packages with concurrency of their own are tested with the race detector.
concurrent='/(pkg/(platform|machine|controller)|test/countproxy)(/|$)'

race=(-race)
if ! command -v "$(go env CC)" >/dev/null || [[ $(go env CGO_ENABLED) != 1 ]]; then
  echo "No C compiler: the tests run without the race detector." >&2
  race=()
fi

hack/landscape/build.sh >&2

packages="$(go list "${@:-./...}")"
with="$(grep -E "$concurrent" <<<"$packages" || true)"
without="$(grep -Ev "$concurrent" <<<"$packages" || true)"

{
  # shellcheck disable=SC2086
  [[ -z $with ]] || go test -json -timeout 20m "${race[@]}" $with || true
  # shellcheck disable=SC2086
  [[ -z $without ]] || go test -json -timeout 20m $without || true
} </dev/null | go run ./hack/testtotals -o "${TOTALS_FILE:-/dev/stdout}"
