#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Generates deepcopy functions, the API reference, the page about preflight checks, copies of custom resource definitions and the registrations in example/.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"

echo "> Deepcopy functions"
deepcopy-gen \
  --go-header-file hack/LICENSE_BOILERPLATE.txt \
  --output-file zz_generated.deepcopy.go \
  ./pkg/apis/hybrid/v1alpha1 ./pkg/apis/static/v1alpha1 ./test/toyplatform/toyapi

echo "> Custom resource definition of static hosts"
controller-gen crd paths=./pkg/apis/static/... output:crd:dir=charts/static-host-operator/crds

echo "> API reference"
mkdir -p docs/api-reference
for api in hybrid static; do
  crd-ref-docs \
    --log-level WARN \
    --max-depth 20 \
    --config hack/api-reference/config.yaml \
    --source-path "pkg/apis/$api/v1alpha1" \
    --templates-dir hack/api-reference/templates \
    --renderer markdown \
    --output-path "docs/api-reference/$api.md"
done

# copy_crds module@version folder-in-module folder-in-chart file...
copy_crds() {
  local source target="charts/internal/shoot-crds/files/$3"
  source="$(go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",\?$/\1/p')/$2"
  rm -rf "$target"
  mkdir -p "$target"
  local file
  for file in "${@:4}"; do
    { echo "# From $1"; cat "$source/$file"; } > "$target/${file##*/}"
  done
}

echo "> Custom resource definitions of volume snapshots"
copy_crds github.com/kubernetes-csi/external-snapshotter/client/v8@v8.6.0 config/crd snapshots \
  snapshot.storage.k8s.io_volumesnapshotclasses.yaml \
  snapshot.storage.k8s.io_volumesnapshotcontents.yaml \
  snapshot.storage.k8s.io_volumesnapshots.yaml

echo "> Custom resource definitions of the vSphere CSI driver"
copy_crds sigs.k8s.io/vsphere-csi-driver/v3@v3.7.0 pkg vsphere \
  apis/migration/config/cns.vmware.com_cnsvspherevolumemigrations.yaml \
  internalapis/cnsvolumeinfo/config/cns.vmware.com_cnsvolumeinfoes.yaml \
  internalapis/cnsvolumeoperationrequest/config/cns.vmware.com_cnsvolumeoperationrequests.yaml \
  internalapis/csinodetopology/config/cns.vmware.com_csinodetopologies.yaml

echo "> Custom resource definitions of MetalLB"
copy_crds go.universe.tf/metallb@v0.16.1 config/crd/bases metallb \
  metallb.io_bfdprofiles.yaml \
  metallb.io_bgpadvertisements.yaml \
  metallb.io_bgppeers.yaml \
  metallb.io_communities.yaml \
  metallb.io_configurationstates.yaml \
  metallb.io_ipaddresspools.yaml \
  metallb.io_l2advertisements.yaml \
  metallb.io_servicebgpstatuses.yaml \
  metallb.io_servicel2statuses.yaml

echo "> Registrations"
go run ./hack/registration

echo "> Preflight checks"
go run ./hack/preflight
