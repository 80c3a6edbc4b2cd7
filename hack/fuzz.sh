#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs all fuzz targets, one after the other, for FUZZ_SECONDS together; 60 by default. What a target fails with is kept in
# testdata/fuzz beside it, and is tried by `go test` from then on.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

mapfile -t targets < <(grep -roP --include='*_test.go' '^func \KFuzz\w+' pkg | sort)
[[ ${#targets[@]} -gt 0 ]] || { echo "There are no fuzz targets." >&2; exit 1; }
seconds=$(((${FUZZ_SECONDS:-60} + ${#targets[@]} - 1) / ${#targets[@]}))

failed=0
for target in "${targets[@]}"; do
  package="./$(dirname "${target%%:*}")" name="${target##*:}"
  echo "> Fuzz $name of $package for $seconds s"
  go test -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" "$package" || failed=1
done
exit "$failed"
