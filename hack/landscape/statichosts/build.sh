#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Builds what static hosts boot: the root of a file system with Debian 12, an SSH server and containerd, as an administrator installs
# them. It is in ~/.cache/provider-hybrid/statichosts under a name that says what it was made of, and hack/bin/statichost-root links to it.
# It needs root on Debian 12, and its package sources. The first time takes about a minute.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")"

tools=(mmdebstrap systemd-container iproute2 util-linux)
packages=systemd-sysv,dbus,mount,kmod,procps,iproute2,nftables,openssh-server,sudo,containerd,attr,acl,libfaketime
what="static hosts"
# shellcheck source=../debian.sh
. ../debian.sh

# build STAMP   makes the root.
build() {
  local root="$cache/root-$1.new" unit
  build_root "$1.new" "$packages"
  # Each host has an identity of its own. What follows would wait for devices that there are not, or show those of this machine.
  : >"$root/etc/resolv.conf"
  rm -rf "$root"/etc/ssh/ssh_host_* "$root"/etc/{hostname,machine-id} "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/*
  for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer console-getty.service \
    sys-kernel-{config,debug,tracing}.mount dev-hugepages.mount; do
    ln -sfn /dev/null "$root/etc/systemd/system/$unit"
  done
  systemctl --root "$root" enable systemd-networkd
  mv "$root" "$cache/root-$1"
}

stamp="$({ echo "$packages"; sed -n '/^build()/,/^}/p' build.sh; } | stamp)"
for tool in "${tools[@]}"; do
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$tool" 2>/dev/null) == installed && -e $cache/root-$stamp ]] || { check_host; break; }
done
[[ -e $cache/root-$stamp ]] || step root "1 minute" build "$stamp" || missing "Debian's packages cannot be unpacked"
ln -sfn "$cache/root-$stamp" "$bin/statichost-root"
