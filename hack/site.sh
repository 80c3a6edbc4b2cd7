#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Builds the site of the documentation into hack/bin/site, with MkDocs of Debian 12 and mermaid from npm. It fails for links that lead
# nowhere. Any web server can serve the folder; nothing is loaded from another host.
# With --browser it also installs the browser of test/site. Exit code 3: it cannot be built here.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

what="site"
tools=(mkdocs mkdocs-material openssl python3-pymdownx)
command -v npm >/dev/null || tools+=(npm)
[[ ${1:-} != --browser ]] || tools+=(chromium)
# shellcheck source=landscape/debian.sh
source hack/landscape/debian.sh

# renovate: mermaid
MERMAID_VERSION="11.12.2"
MERMAID_INTEGRITY="sha512-n34QPDPEKmaeCG4WDMGy0OT6PSyxKCfy2pJgShP+Qow2KLrvWjclwbc3yXfSIf4BanqWEhQEpngWwNp/XhZt6w=="

get_mermaid() {
  local archive="$cache/mermaid-$MERMAID_VERSION.tgz" sum
  [[ -e $archive ]] || (cd "$cache" && npm pack --silent "mermaid@$MERMAID_VERSION" >/dev/null) || missing "mermaid cannot be downloaded"
  sum="sha512-$(openssl dgst -sha512 -binary "$archive" | base64 -w0)"
  [[ $sum == "$MERMAID_INTEGRITY" ]] || { rm "$archive"; log "mermaid $MERMAID_VERSION is not what it was: $sum"; exit 1; }
  tar -xzOf "$archive" package/dist/mermaid.min.js >"$1"
}

# With the packages, neither root nor apt is needed.
dpkg-query -W "${tools[@]}" >/dev/null 2>&1 || check_host

source=hack/bin/site-source
rm -rf "$source" hack/bin/site
mkdir -p "$source/assets"
cp -r README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs "$source"
cp hack/site/diagrams.js "$source/assets"
get_mermaid "$source/assets/mermaid.min.js"
mkdocs build --config-file hack/site/mkdocs.yml 2>&1 | { grep --line-buffered -A 20 -E 'WARNING|ERROR|Error' >&2 || true; }
log "> hack/bin/site: $(find hack/bin/site -name '*.html' | wc -l) pages"
