#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the tests with a real Gardener: see docs/development/garden.md. With KEEP=1 everything is left running until it is interrupted.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

hack/landscape/build.sh >&2
echo "> Build the tests (2 to 4 minutes if nothing was built before)" >&2
go test -c -o hack/bin/garden ./test/e2e
cd test/e2e
exec ../../hack/bin/garden -ginkgo.timeout=24h "$@"
