# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# What scripts share that build roots of Debian 12 into a folder of the cache (sourced). They say `what` they build and their `tools`.
# shellcheck shell=bash

bin="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/hack/bin"
cache="${HYBRID_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-hybrid}/${what// /}"
mkdir -p "$bin" "$cache"

exec 9>"$cache/.lock"
flock -n 9 || { echo "> Wait for another build of $what" >&2; flock 9; }

log() { printf '%s\n' "$*" >&2; }
missing() {
  log "The $what cannot be built here: $1. It needs root on Debian 12 and its package sources."
  exit 3
}
stamp() { sha256sum | cut -c1-16; }

# step NAME DURATION COMMAND...   runs a command with a log, and says every 15 seconds how far it is
step() {
  local name=$1 start=$SECONDS out="$cache/$1.log" ticker
  log "> $name ($2)"
  {
    while sleep 15 >&- 2>&-; do log "$(printf '>   %4ds, %d lines of %s' $((SECONDS - start)) "$(wc -l <"$out")" "$out")"; done
  } 9>&- &
  ticker=$!
  if ! (set -o errexit; "${@:3}") >"$out" 2>&1 </dev/null 9>&-; then
    kill "$ticker"
    tail -n 20 "$out" >&2
    return 1
  fi
  kill "$ticker"
  log ">   done in $((SECONDS - start)) s"
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 -o APT::Sandbox::User=root "$@"; }

install_tools() {
  local wanted=() tool
  for tool in "${tools[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$tool" 2>/dev/null) == installed ]] || wanted+=("$tool")
  done
  ((${#wanted[@]} > 0)) || return 0
  step "Install ${#wanted[@]} tools" "30 seconds" sh -c "apt-get -q update; exec apt-get -q -o DPkg::Lock::Timeout=600 install -y \
    --no-install-recommends ${wanted[*]}"
}

# The sources of packages of Debian 12 that apt has here.
package_sources() {
  # shellcheck disable=SC2016
  apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' | grep -E ' bookworm(-[a-z]+)? ' | sort -u
}

# build_root STAMP PACKAGES   makes the folder root-STAMP in the cache with Debian 12 and packages.
build_root() {
  local root="$cache/root-$1"
  rm -rf "$root" "$root.new"
  package_sources | mmdebstrap --mode=root --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='Apt::Install-Recommends "false"' --include="$2" bookworm "$root.new" -
  mv "$root.new" "$root"
}

# check_host   says what is missing for a build, and installs the tools.
check_host() {
  command -v apt-get >/dev/null || missing "there is no apt-get"
  [[ $(id -u) == 0 ]] || missing "you are not root"
  install_tools || missing "tools cannot be installed"
  [[ -n $(package_sources) ]] || missing "apt has no sources of Debian 12"
}
