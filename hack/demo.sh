#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the main job on a local landscape. Arguments and environment: see test/demo/main.go.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

echo "> Build the demo (2 to 4 minutes if nothing was built before)" >&2
mkdir -p hack/bin
go build -o hack/bin/demo ./test/demo
exec hack/bin/demo "$@"
