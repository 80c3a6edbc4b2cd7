#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs all fuzz targets, one after the other, for FUZZ_SECONDS together; 60 by default. What a target fails with is kept in
# testdata/fuzz beside it, and is tried by `go test` from then on.
#
# `go test -fuzz` compiles all dependencies again to guide the fuzzer by what they cover. Here only our packages and the decoder of JSON
# guide it, which saves ten minutes.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

mapfile -t targets < <(grep -roP --include='*_test.go' '^func \KFuzz\w+' pkg | sort)
[[ ${#targets[@]} -gt 0 ]] || { echo "There are no fuzz targets." >&2; exit 1; }
seconds=$(((${FUZZ_SECONDS:-60} + ${#targets[@]} - 1) / ${#targets[@]}))

cache="$(go env GOCACHE)/fuzz"
bin="$(mktemp -d)"
trap 'rm -rf "$bin"' EXIT

failed=0
for target in "${targets[@]}"; do
  package="$(dirname "${target%%:*}")" name="${target##*:}"
  test="$bin/${package//\//-}.test"
  if [[ ! -x $test ]]; then
    echo "> Build the fuzz targets of ./$package"
    go test -c -vet=off -gcflags="$(go list -m)/...=-d=libfuzzer" -gcflags="sigs.k8s.io/json/...=-d=libfuzzer" -o "$test" "./$package"
  fi
  echo "> Fuzz $name of ./$package for $seconds s"
  (cd "$package" && "$test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${seconds}s" -test.fuzzminimizetime 10x -test.fuzzcachedir "$cache/$package") || failed=1
done
exit "$failed"
