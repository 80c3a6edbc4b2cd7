#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Generates deepcopy functions and the API reference with the tools in hack/bin.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"

echo "> Deepcopy functions"
deepcopy-gen \
  --go-header-file hack/LICENSE_BOILERPLATE.txt \
  --output-file zz_generated.deepcopy.go \
  ./pkg/apis/hybrid/v1alpha1

echo "> API reference"
mkdir -p docs/api-reference
crd-ref-docs \
  --log-level WARN \
  --max-depth 20 \
  --config hack/api-reference/config.yaml \
  --source-path pkg/apis/hybrid/v1alpha1 \
  --templates-dir hack/api-reference/templates \
  --renderer markdown \
  --output-path docs/api-reference/hybrid.md
