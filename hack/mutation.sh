#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Mutates packages and runs their unit tests for each mutant. It prints the mutants that survive or that no test covers, and the score of
# each package. The packages are those that create and delete machines, unless others are given as folders.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"

# gremlins copies the folder that it runs in, so it gets the sources without anything that was built.
sources="$(mktemp -d)"
trap 'rm -rf "$sources"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$sources"
cd "$sources"

if (($# == 0)); then
  set -- pkg/site pkg/machine pkg/platform/*/machines pkg/controller/worker
fi
for package in "$@"; do
  echo "> $package"
  gremlins unleash --workers 1 --timeout-coefficient 10 "./${package#./}" | sed -E '/ KILLED /d; /^(Starting|Gathering)/d'
done
