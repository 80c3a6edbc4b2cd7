#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Builds what machines boot: a kernel for User Mode Linux from the sources of Debian's backports, and the image of a disk with Debian 12
# and the programs of a node, kubelet, containerd and CNI plugins from the Go module proxy; beside it kube-proxy. Results are in
# ~/.cache/provider-hybrid/machines under names that say what they were made of, to which links in hack/bin lead: machine-kernel,
# machine-image, and for images of pods machine-root (Debian) and machine-programs. What was interrupted is continued. It needs root on
# Debian 12, and its package sources. The first time takes 10 to 20 minutes on 2 cores.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")"
here="$PWD"

# The kernel is that of a later Debian: until 6.15, User Mode Linux traces each process with ptrace.
kernel_suite=trixie-backports
kernel_version=7.2.11-1~bpo13+1
containerd_version=v2.4.2
cni_version=v1.9.1
tools=(mmdebstrap flex bison bc make gcc libc6-dev patch xz-utils e2fsprogs genisoimage iproute2 dnsmasq-base)
packages=systemd-sysv,systemd-resolved,dbus,udev,kmod,mount,procps,e2fsprogs,ca-certificates,curl,iproute2,iputils-ping,iptables,nftables
packages+=,conntrack,ethtool,socat,openssh-server,sudo,cloud-init,ignition,runc
# What Gardener's units need, and the name of the machine without DNS.
packages+=,logrotate,libnss-myhostname
# What the pods of Kubernetes' end-to-end tests run.
packages+=,bind9-dnsutils,netcat-openbsd
what=machines
# shellcheck source=../debian.sh
. ../debian.sh

# download_kernel PACKAGE   from the suite, which apt need not know here.
download_kernel() {
  local folder="$PWD" uri
  uri="$(package_sources | awk '$3 == "bookworm" && $4 == "main" {print $2; exit}')"
  echo "deb $uri $kernel_suite main" >sources.list
  mkdir -p lists/partial
  local options=(-o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$folder/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
  apt_get "${options[@]}" update
  apt_get "${options[@]}" download "$1=$kernel_version"
  rm -r sources.list lists
}

build_kernel() {
  local sources="linux-source-${kernel_version%.*}"
  mkdir -p "$cache/kernel"
  cd "$cache/kernel"
  if [[ $(cat .unpacked 2>/dev/null) != "$1" ]]; then
    rm -rf linux-source-*
    download_kernel "$sources"
    dpkg-deb --fsys-tarfile "$sources"_*.deb | tar -xO "./usr/src/$sources.tar.xz" | xz -dc | tar -x
    rm "$sources"_*.deb
    cat "$here/"*.patch | patch -d "$sources" -p1
    make -C "$sources" ARCH=um x86_64_defconfig
    cat "$here/kernel.config" >>"$sources/.config"
    make -C "$sources" ARCH=um olddefconfig
    echo "$1" >.unpacked
  fi
  make -C "$sources" ARCH=um -j2 linux
  strip -o "$cache/kernel-$1.new" "$sources/linux"
  mv "$cache/kernel-$1.new" "$cache/kernel-$1"
  rm -rf "${sources:?}" .unpacked
}

build_programs() {
  local programs="$cache/programs-$1" release flags p
  mkdir -p "$programs.new"
  cd "$here/../binaries/node"
  release="$(go list -m -f '{{.Version}}' k8s.io/kubernetes)"
  flags="-s -w"
  for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $p.gitVersion=$release -X $p.gitMajor=1 -X $p.gitMinor=$(cut -d. -f2 <<<"$release")"
    flags+=" -X $p.gitTreeState=clean -X $p.gitCommit=0000000 -X $p.buildDate=1970-01-01T00:00:00Z"
  done
  go build -v -ldflags "$flags" -o "$programs.new/" k8s.io/kubernetes/cmd/{kubelet,kube-proxy}
  cd /
  GOBIN="$programs.new" go install -v -ldflags "-s -w" \
    github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr}@$containerd_version
  GOBIN="$programs.new" go install -v -ldflags "-s -w" \
    github.com/containernetworking/plugins/plugins/{main/bridge,main/loopback,ipam/host-local,meta/portmap}@$cni_version
  mv "$programs.new" "$programs"
}

# build_image ROOT PROGRAMS STAMP
build_image() {
  local root="$cache/image.root" file
  rm -rf "$root"
  cp -a --reflink=auto "$1" "$root"
  cp -r "$here/image/." "$root/"
  chmod 755 "$root/usr/local/sbin/"*
  cp "$2"/{kubelet,containerd,containerd-shim-runc-v2,ctr} "$root/usr/local/bin/"
  # Gardener's extension for the operating system that is SUSE's expects it there.
  ln -s ../local/bin/containerd "$root/usr/sbin/containerd"
  mkdir -p "$root/opt/cni/bin"
  cp "$2"/{bridge,loopback,host-local,portmap} "$root/opt/cni/bin/"
  # Nothing of this is needed for a node, and each costs time at boot. cloud-init does in two of its stages what it does in four.
  for file in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer \
    systemd-timesyncd.service getty-static.service getty@tty1.service cloud-config.service cloud-init-hotplugd.socket \
    systemd-firstboot.service systemd-sysusers.service systemd-update-utmp.service systemd-update-utmp-runlevel.service \
    systemd-pstore.service systemd-binfmt.service systemd-random-seed.service \
    systemd-journal-flush.service systemd-remount-fs.service systemd-hwdb-update.service kmod-static-nodes.service \
    modprobe@{configfs,dm_mod,drm,efi_pstore,fuse,loop}.service {dev-hugepages,dev-mqueue,sys-fs-fuse-connections}.mount \
    sys-kernel-{config,debug,tracing}.mount proc-sys-fs-binfmt_misc.automount systemd-ask-password-{console,wall}.path \
    ldconfig.service; do
    ln -sfn /dev/null "$root/etc/systemd/system/$file"
  done
  ln -sfn /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
  # Ctrl-Alt-Del is what a machine of User Mode Linux has in place of a power button.
  ln -sfn /lib/systemd/system/poweroff.target "$root/etc/systemd/system/ctrl-alt-del.target"
  : >"$root/etc/fstab"
  # At the first boot systemd enables units as presets say, of which Ignition has one too.
  echo uninitialized >"$root/etc/machine-id"
  # Debian's Ignition labels files for SELinux in any case.
  echo SELINUXTYPE=none >"$root/etc/selinux/config"
  ln -s ../bin/true "$root/usr/sbin/setfiles"
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root/etc/hostname" "$root/etc/resolv.conf"
  # Pods without cluster DNS have these servers, too, and not the resolver on the loopback interface of the node.
  ln -s /run/systemd/resolve/resolv.conf "$root/etc/resolv.conf"
  rm -f "$cache/image-$3.new"
  # A machine that crashed or lost its power must boot again, which takes a journal.
  mkfs.ext4 -q -J size=16 -E lazy_itable_init=1 -L root -d "$root" "$cache/image-$3.new" 3G
  mv "$cache/image-$3.new" "$cache/image-$3"
  rm -rf "$root"
}

kernel="$({ echo "$kernel_version"; cat ./*.patch kernel.config; } | stamp)"
root="$(echo "$packages" | stamp)"
programs="$({ echo "$containerd_version $cni_version"; go env GOVERSION GOARCH; cat ../binaries/node/*; } | stamp)"
image="$({ echo "$root $programs"; sed -n '/^build_image()/,/^}/p' build.sh; find image -type f -print -exec cat {} +; } | stamp)"

if [[ ! -e $cache/kernel-$kernel || ! -e $cache/root-$root || ! -e $cache/programs-$programs || ! -e $cache/image-$image ]]; then
  [[ $(uname -m) == x86_64 ]] || missing "the CPU is not an x86_64"
  check_host
fi
[[ -e $cache/kernel-$kernel ]] || step kernel "4 to 15 minutes" build_kernel "$kernel" || missing "the kernel cannot be built"
[[ -e $cache/root-$root ]] || step root "1 to 5 minutes" build_root "$root" "$packages" || missing "Debian's packages cannot be unpacked"
[[ -e $cache/programs-$programs ]] || step programs "2 to 8 minutes" build_programs "$programs" || missing "a node's programs cannot be built"
[[ -e $cache/image-$image ]] || step image "20 seconds" build_image "$cache/root-$root" "$cache/programs-$programs" "$image" ||
  missing "the image cannot be made"
ln -sfn "$cache/kernel-$kernel" "$bin/machine-kernel"
ln -sfn "$cache/image-$image" "$bin/machine-image"
ln -sfn "$cache/root-$root" "$bin/machine-root"
ln -sfn "$cache/programs-$programs" "$bin/machine-programs"
