#!/usr/bin/env bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# Runs the main job on a local landscape. Arguments and environment: see test/demo/main.go.

set -o errexit -o nounset -o pipefail
cd "$(dirname "$0")/.."

echo "> Build the demo (2 to 4 minutes if nothing was built before)" >&2
mkdir -p hack/bin
go build -o hack/bin/demo ./test/demo
[[ -n ${KEEP:-} && $KEEP != 0 ]] || exec hack/bin/demo "$@"

# With KEEP=1 the demo goes on in the background, with what it started, and this script ends when there is something to look at.
dir="$(mktemp -d)"
setsid hack/bin/demo -kept "$dir/kept" "$@" >"$dir/log" 2>&1 </dev/null &
demo=$!
trap 'kill "$demo" 2>/dev/null; wait "$demo"' INT TERM
tail --lines=+1 --follow --pid="$demo" "$dir/log" 2>/dev/null &
until [[ -s $dir/kept ]] || ! kill -0 "$demo" 2>/dev/null; do sleep 0.5; done
sleep 1 # for the rest of the log
if [[ ! -s $dir/kept ]]; then
  code=0
  wait "$demo" || code=$?
  exit "$code"
fi
kill %2 2>/dev/null || true
echo "The demo goes on in the background; what it prints from now on is in $dir/log."
exit "$(cat "$dir/kept")"
