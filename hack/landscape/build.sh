#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Builds the processes of the local landscape that are not ours (etcd, those of Kubernetes and of Gardener, machine-controller-manager,
# those of a bare-metal site, those for volumes and load balancers, and an S3 server) from the Go module proxy into hack/bin, unless they
# are there in the versions of the go.mod files in hack/landscape/binaries. If KUBEBUILDER_ASSETS is set, etcd and kube-apiserver are taken
# from that folder. Arguments are the names of executables, such as `kubernetes gardener`; without them, all are built but those that
# few tests need. All checkouts of a user share what was built.
#
# It uses neither -trimpath nor another CGO_ENABLED than `go test`: all share one build cache.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/binaries"
bin="$(cd ../.. && pwd)/bin"
shared="${HYBRID_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-hybrid}/executables"
mkdir -p "$bin" "$shared"

selection=" $* "

exec 9>"$shared/.lock"
flock -n 9 || { echo "> Wait for another build of the landscape" >&2; flock 9; }

version_of() { go list -m -f '{{.Version}}' "$1"; }

# report COUNTER   says every 15 seconds how far the build is
report() {
  local start=$SECONDS
  while sleep 15 >&- 2>&-; do
    printf '>   %4ds, %d packages compiled\n' $((SECONDS - start)) "$(wc -l <"$1")" >&2
  done
}

# take NAME STAMP   takes a shared executable.
take() {
  rm -f "$bin/$1" "$bin/.$1.stamp"
  ln "$shared/$1-$2" "$bin/$1" 2>/dev/null || cp "$shared/$1-$2" "$bin/$1"
  echo "$2" >"$bin/.$1.stamp"
}

# build NAME PACKAGE MODULE COLD [SOURCE...]   LINK is more flags for the linker, COLD is how long it takes with an empty build cache, and
# SOURCES are files of ours. If KIND is test, the tests of the package are built.
build() {
  local name=$1 package=$2 version flags stamp log ticker start=$SECONDS compile=(go build)
  [[ $selection == "  " || $selection == *" $name "* ]] || return 0
  [[ ${KIND:-} != test ]] || compile=(go test -c -vet=off)
  version="$(version_of "$3")"
  flags="-s -w${link:+ $link}"
  for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $p.gitVersion=$release -X $p.gitMajor=1 -X $p.gitMinor=$(cut -d. -f2 <<<"$release")"
    flags+=" -X $p.gitTreeState=clean -X $p.gitCommit=0000000 -X $p.buildDate=1970-01-01T00:00:00Z"
  done
  stamp="$(cat go.mod go.sum "${@:5}" <(echo "$flags") <(go env GOVERSION GOARCH) | sha256sum | cut -c1-16)"
  if [[ -x $bin/$name && $(cat "$bin/.$name.stamp" 2>/dev/null) == "$stamp" ]]; then
    return 0
  fi
  if [[ -x $shared/$name-$stamp ]]; then
    take "$name" "$stamp"
    return 0
  fi

  echo "> Build $name $version ($4 if nothing of it was built before)" >&2
  log="$(mktemp)"
  report "$log" 9>&- & ticker=$!
  if ! "${compile[@]}" -v -ldflags "$flags" -o "$shared/.new" "$package" 2>"$log"; then
    kill "$ticker"
    tail -n 20 "$log" >&2
    rm -f "$log"
    return 1
  fi
  kill "$ticker"
  rm -f "$log" "$shared/$name"-????????????????
  mv "$shared/.new" "$shared/$name-$stamp"
  take "$name" "$stamp"
  echo ">   built in $((SECONDS - start)) s" >&2
}

# What an executable says that its version is.
release="$(version_of k8s.io/kubernetes)"
if [[ -z ${KUBEBUILDER_ASSETS:-} ]]; then
  build etcd go.etcd.io/etcd/server/v3 go.etcd.io/etcd/server/v3 "1 minute"
else
  for name in etcd kube-apiserver; do
    [[ -x $KUBEBUILDER_ASSETS/$name ]] || { echo "KUBEBUILDER_ASSETS is $KUBEBUILDER_ASSETS, but there is no $name" >&2; exit 1; }
  done
fi
# Only the tests that follow the pages for operators and Kubernetes' end-to-end tests need kubectl.
if [[ $selection == *" kubectl "* ]]; then
  build kubectl k8s.io/kubernetes/cmd/kubectl k8s.io/kubernetes "1 minute"
fi
# One executable is kube-apiserver, kube-controller-manager and kube-scheduler, whatever name it is called by.
build kubernetes ./kubernetes k8s.io/kubernetes "5 to 8 minutes on 2 cores" kubernetes/*
for name in kube-apiserver kube-controller-manager kube-scheduler; do
  [[ $(readlink "$bin/$name") == kubernetes ]] || { rm -f "$bin/$name"; ln -s kubernetes "$bin/$name"; }
done
# Likewise for Gardener, whose components say its version and not that of Kubernetes.
release="$(version_of github.com/gardener/gardener)" \
  build gardener ./gardener github.com/gardener/gardener "5 minutes after those of Kubernetes" gardener/*
for name in gardener-apiserver gardener-controller-manager gardener-scheduler gardenlet; do
  [[ $(readlink "$bin/$name") == gardener ]] || { rm -f "$bin/$name"; ln -s gardener "$bin/$name"; }
done
# Only the test that follows the pages for operators with it needs gardener-operator.
if [[ $selection == *" gardener-operator "* ]]; then
  release="$(version_of github.com/gardener/gardener)" \
    build gardener-operator github.com/gardener/gardener/cmd/gardener-operator github.com/gardener/gardener "3 minutes after the others"
fi
# Only the garden whose nodes are real needs what runs on them, and what renders their user data.
if [[ $selection == *" gardener-node-agent "* ]]; then
  release="$(version_of github.com/gardener/gardener)" \
    build gardener-node-agent github.com/gardener/gardener/cmd/gardener-node-agent github.com/gardener/gardener "1 minute after the others"
fi
system=github.com/gardener/gardener-extension-os-suse-chost
if [[ $selection == *" ${system##*/} "* ]]; then
  build "${system##*/}" "$system/cmd/${system##*/}" "$system" "30 seconds after the others"
fi
build gardener-resource-manager github.com/gardener/gardener/cmd/gardener-resource-manager github.com/gardener/gardener "2 minutes"
build machine-controller-manager github.com/gardener/machine-controller-manager/cmd/machine-controller-manager \
  github.com/gardener/machine-controller-manager "1 minute"

# What stands for the sidecars of CSI drivers, which the proxy does not have, and for the node service of vSphere's. Only tests with machines
# need them. They run in images with nothing else, so they are linked statically: all packages would be compiled once more without cgo.
static="-linkmode external -extldflags -static"
if [[ $selection == *" csi-registrar "* ]]; then
  link="$static" build csi-registrar ./registrar github.com/kubernetes-csi/csi-lib-utils "10 seconds after those of Kubernetes" registrar/*
fi
if [[ $selection == *" vsphere-node "* ]]; then
  link="$static" build vsphere-node ./vspherenode github.com/container-storage-interface/spec "10 seconds after those of Kubernetes" vspherenode/*
fi
# Kubernetes' end-to-end tests, and what most of their pods run. Only tests with machines need them.
if [[ $selection == *" agnhost "* ]]; then
  link="$static" build agnhost k8s.io/kubernetes/test/images/agnhost k8s.io/kubernetes "30 seconds after those of Kubernetes"
fi
if [[ $selection == *" kubernetes-e2e "* ]]; then
  KIND=test build kubernetes-e2e k8s.io/kubernetes/test/e2e k8s.io/kubernetes "3 minutes after those of Kubernetes"
fi

# Bare-metal sites: Metal3's operator with played hardware, IronCore's operator and the BMCs that it tests itself with, and an
# address pool. The latter needs older libraries than the others.
build baremetal-operator github.com/metal3-io/baremetal-operator/landscape github.com/metal3-io/baremetal-operator "20 seconds" metal3/*
build metal-operator github.com/ironcore-dev/metal-operator/cmd github.com/ironcore-dev/metal-operator "30 seconds"
build bmcs ./bmcs github.com/ironcore-dev/metal-operator "5 seconds" bmcs/*
cd ipam
build ipam-provider-in-cluster sigs.k8s.io/cluster-api-ipam-provider-in-cluster \
  sigs.k8s.io/cluster-api-ipam-provider-in-cluster "2 minutes"

# The sidecars of CSI drivers and the snapshot controller.
cd ../csi
build csi-provisioner github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner github.com/kubernetes-csi/external-provisioner/v6 "30 seconds"
for name in attacher:v4 resizer:v2 snapshotter:v8; do
  module="github.com/kubernetes-csi/external-${name/:*/}/${name/*:/}"
  build "csi-${name/:*/}" "$module/cmd/csi-${name/:*/}" "$module" "15 seconds"
done
build snapshot-controller github.com/kubernetes-csi/external-snapshotter/v8/cmd/snapshot-controller \
  github.com/kubernetes-csi/external-snapshotter/v8 "15 seconds"

# What gives addresses to Services of vSphere and bare-metal sites and announces them, and what makes volumes on bare-metal hosts. Each
# needs older libraries than the others.
cd ../metallb
for name in controller speaker; do
  build "metallb-$name" "go.universe.tf/metallb/$name" go.universe.tf/metallb "1 minute"
done
cd ../localvolumes
build local-path-provisioner github.com/rancher/local-path-provisioner github.com/rancher/local-path-provisioner "1 minute"

# What gives pods of machines their network and their names. Only tests with machines need them.
cd ../pods
if [[ $selection == *" flanneld "* ]]; then
  build flanneld github.com/flannel-io/flannel github.com/flannel-io/flannel "4 minutes"
fi
if [[ $selection == *" coredns "* ]]; then
  build coredns github.com/coredns/coredns github.com/coredns/coredns "6 minutes"
fi

# An S3 server with versions and object lock, for backups.
cd ../objectstore
build versitygw github.com/versity/versitygw/cmd/versitygw github.com/versity/versitygw "2 minutes"

# What etcd-druid runs beside each etcd.
cd ../backuprestore
build etcd-backup-restore github.com/gardener/etcd-backup-restore github.com/gardener/etcd-backup-restore "2 minutes"

# What tests alerts, without service discovery. Only the test of alerts on real faults needs Prometheus itself, whose user interface is
# left out.
cd ../monitoring
export GOFLAGS="${GOFLAGS:-} -tags=remove_all_sd"
build promtool github.com/prometheus/prometheus/cmd/promtool github.com/prometheus/prometheus "2 minutes"
if [[ $selection == *" prometheus "* ]]; then
  build prometheus github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus "1 minute after promtool"
fi
