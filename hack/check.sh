#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs all checks and reports every one that failed.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/hack/bin:$PATH"

files() {
  git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
    [[ ! -e $file ]] || echo "$file"
  done
}

check_license() {
  local missing
  missing="$(files '*.go' '*.sh' '*.mk' Makefile .ci/run |
    xargs awk 'FNR > 8 {nextfile} /SPDX-License-Identifier: Apache-2.0/ {found[FILENAME]} FNR == 1 {seen[FILENAME]}
               END {for (file in seen) if (!(file in found)) print file}' | sort)"
  [[ -z $missing ]] || { echo "These files have no license header:"; echo "$missing"; return 1; }
}

check_scripts() {
  files '*.sh' .ci/run | while read -r file; do bash -n "$file" || return 1; done
}

# What is built does not belong into the repository, and no source is that large.
check_size() {
  local large
  large="$(git ls-files -z | xargs -0 stat -c '%s %n' 2>/dev/null | awk '$1 > 512 * 1024')"
  [[ -z $large ]] || { echo "These files are larger than 512 KiB:"; echo "$large"; return 1; }
}

check_tidy() {
  local module failed=0
  # metal3 is compiled as a part of the module of baremetal-operator.
  for module in $(files '*go.mod' | grep -v /metal3/); do
    (cd "$(dirname "$module")" && go mod tidy -diff) || failed=1
  done
  return $failed
}

# copy DIR   copies the files of the checkout.
copy() { files | tar -cf - -T - | tar -xf - -C "$1"; }

# What is generated is made in a copy, so that a check changes nothing.
check_generated() {
  local dir failed=0
  dir="$(mktemp -d)"
  copy "$dir" || failed=1
  ln -s "$PWD/hack/bin" "$dir/hack/bin"
  (cd "$dir" && git init -q . && git add -A && hack/generate.sh && git add -A -N . && git --no-pager diff --exit-code) || failed=1
  rm -rf "$dir"
  ((failed == 0)) || echo "Generated files are not current. Run \`make generate\`."
  return $failed
}

check_charts() {
  local chart
  for chart in charts/gardener-extension-provider-hybrid charts/static-host-operator charts/gardener-extension-admission-hybrid/charts/*; do
    helm lint --strict --quiet "$chart" || return 1
    helm template check "$chart" --namespace check >/dev/null || return 1
  done
}

check_prose() {
  files README.md CONTRIBUTING.md 'docs/*.md' | grep -v '^docs/api-reference/' |
    xargs vale --config hack/prose/vale.ini --no-wrap --output line
}

# Vale reads comments and messages of sources as texts with the same lines.
check_prose_of() {
  local texts output
  texts="$(mktemp -d)"
  files "$@" | grep -vE '_test\.go$|zz_generated|/files/' | xargs go run ./hack/prose -out "$texts"
  output="$(cd "$texts" && vale --config "$OLDPWD/hack/prose/vale.ini" --no-wrap --output line .)" || {
    echo "$output" | sed 's/\.txt:/:/'
    rm -rf "$texts"
    return 1
  }
  rm -rf "$texts"
}

# What the linter remembers of a package has the paths of its files, which the path rules must match. So all checkouts are linted in one
# folder, one after another, and a new one is not analyzed from the start.
check_lint() {
  local cache="${HYBRID_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/provider-hybrid}/lint" failed=0
  mkdir -p "$cache" || return 1
  exec 9>"$cache/lock"
  # A part of the sources must not pass for all of them.
  flock 9 && rm -rf "$cache/source" && mkdir "$cache/source" && copy "$cache/source" || return 1
  export GOLANGCI_LINT_CACHE="$cache/results"
  (cd "$cache/source" && golangci-lint run ./...) || failed=1
  (cd "$cache/source/hack/oci" && golangci-lint run --config ../../.golangci.yaml ./...) || failed=1
  return $failed
}

failed=()
run() {
  local name="$1" output
  shift
  echo "> $name"
  if ! output="$("$@" 2>&1)"; then
    echo "$output"
    failed+=("$name")
  fi
}

run "License headers" check_license
run "Shell syntax" check_scripts
run "Size of files" check_size
run "go mod tidy" check_tidy
run "Generated files" check_generated
run "Charts" check_charts
run "Advisories" go run ./hack/advisories
run "Structure" go run ./hack/structure -max-methods 40 -max-back 5 ./pkg/controller/worker
run "Structure of OpenStack" go run ./hack/structure -max-methods 40 -max-back 0 ./pkg/platform/openstack/infrastructure
run "Prose" check_prose
run "Prose of sources" check_prose_of 'cmd/*.go' 'pkg/*.go' 'example/*.yaml' 'charts/*.yaml'
run "Format" golangci-lint fmt --diff
run "Lint" check_lint

if ((${#failed[@]} > 0)); then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
echo "All checks passed."
