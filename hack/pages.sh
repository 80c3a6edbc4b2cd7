#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Makes what the tests need that follow the pages for operators: kubectl, helm and gardener-operator in hack/bin, jq, and a release for
# this architecture.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

what="tools of the pages"
tools=(jq)
# shellcheck source=landscape/debian.sh
source hack/landscape/debian.sh

dpkg-query -W "${tools[@]}" >/dev/null 2>&1 || check_host
hack/landscape/build.sh kubectl gardener-operator
make -s tools
make -s release REGISTRY=registry.example.com/hybrid DRY_RUN=1 "PLATFORMS=linux/$(go env GOARCH)"
