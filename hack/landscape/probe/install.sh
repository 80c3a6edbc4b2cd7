#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Installs the Debian packages that the probe of `hybridctl preflight` is tested with, unless they are there. Needs root.

set -o errexit -o nounset -o pipefail

missing=()
for package in busybox-static curl iproute2 iputils-ping openssl shellcheck; do
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
done
((${#missing[@]} > 0)) || exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get -o DPkg::Lock::Timeout=600 update -q
apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}"
