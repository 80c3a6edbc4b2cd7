# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# What the operator does on a host. The functions and the call of one of them are the input of `sh -s`, so that nothing is installed.
# What takes long runs as a transient unit of systemd, which outlives the connection. Paths have no leading slash: they are relative to
# the root. No link is followed, and nothing is deleted through a mount.

set -u
umask 077
unset ENV BASH_ENV CDPATH
# Some shells keep the input of commands in files. The operator says how long it waits: an answer that systemctl did not get in its 25
# seconds would be taken for a task that does not run.
export LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/run SYSTEMD_BUS_TIMEOUT=15min

root=
# Files in the places are copied before a host becomes a machine, and are the same after it.
places='etc opt usr/local root var/spool/cron'
# State is moved aside before, and back after it.
state='var/lib/kubelet var/lib/containerd var/lib/cni var/lib/etcd var/lib/gardener-node-agent var/lib/ca-certificates-local var/log/pods var/log/containers'
# What others write at any time is neither compared nor restored.
volatile='-path etc/resolv.conf -o -path etc/mtab -o -path etc/adjtime -o -path etc/ld.so.cache -o -path etc/machine-id -o -path etc/.updated'
# Folders of systemd with files of units.
unit_folders='etc/systemd/system etc/systemd/system.attached etc/systemd/system.control run/systemd/system run/systemd/system.attached run/systemd/system.control run/systemd/transient run/systemd/generator run/systemd/generator.early run/systemd/generator.late usr/local/lib/systemd/system usr/lib/systemd/system lib/systemd/system'
base=var/lib/static-host
run=run/static-host

main() { # FUNCTION ARGUMENT...
  cd "$root/" || exit 1
  "$@"
}

# --- facts ---

facts() {
  echo "static-host 1"
  echo "architecture $(uname -m)"
  echo "cpus $(getconf _NPROCESSORS_ONLN)"
  echo "memory $(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)"
  echo "os $(os_release ID)"
  echo "version $(os_release VERSION_ID)"
  echo "kernel $(uname -r)"
  echo "machine-id $(cat etc/machine-id)"
  echo "boot-id $(boot_id)"
  echo "uuid $(cat sys/class/dmi/id/product_uuid 2>/dev/null)"
  echo "clock $(date +%s)"
  echo "systemd $([ "$(cat proc/1/comm)" != systemd ] || systemctl --version | sed -n 's/^systemd \([^ ]*\).*/\1/p')"
  echo "containerd $(PATH="$PATH:/usr/local/bin:/opt/bin" containerd --version 2>/dev/null | cut -d' ' -f3)"
  echo "cgroup $(stat -f -c %T sys/fs/cgroup)"
  echo "missing $(missing)"
  ip -o addr show scope global 2>/dev/null | sed -n 's/^.* inet6\{0,1\} \([0-9a-f.:]*\).*/address \1/p' | head -n 64
  for disk in sys/block/*; do
    [ ! -e "$disk/device" ] || [ "$(cat "$disk/removable")" != 0 ] || echo "disk ${disk##*/} $(cat "$disk/size")"
  done | head -n 64
  [ ! -e $base ] || echo "claim $(answer $base/baseline/claim)"
  for task in baseline provision release proof; do
    echo "$task $(progress $task)"
  done
  echo end
}

os_release() { # KEY
  sed -n "s/^$1=//p" etc/os-release | tr -d "\"'" | head -n 1
}

system() {
  echo "$(os_release ID) $(os_release VERSION_ID)"
}

boot_id() {
  cat proc/sys/kernel/random/boot_id
}

missing() { # tools: those of GNU, of systemd and of util-linux
  for tool in base64 comm find head mkfifo mountpoint sha256sum sort stat systemctl systemd-run tar timeout umount xargs; do
    command -v $tool >/dev/null || printf '%s ' $tool
  done
  for tool in find grep sed sort tar; do
    case $($tool --version 2>/dev/null | head -n 1) in *GNU*) ;; *) printf 'GNU-%s ' $tool ;; esac
  done
}

answer() { # FILE: a machine may have replaced it
  [ ! -f "$1" ] || head -c 300 "$1" | head -n 1
}

progress() { # TASK
  case $(systemctl is-active "static-host-$1" 2>/dev/null) in
  active | activating | deactivating | reloading) echo running; return ;;
  esac
  if [ -e "$run/$1.result" ]; then
    answer "$run/$1.result"
  elif [ "$1" = baseline ] && [ -e $base/baseline/manifest ]; then
    echo "done $(digest $base/baseline/manifest)"
  elif [ "$1" = provision ] && [ -e $base/result ]; then
    answer $base/result
  elif [ "$1" = provision ] && [ -e $run/provision.started ]; then
    echo "failed Interrupted"
  elif [ "$1" = release ] && [ -e $base/released ]; then
    if [ "$(answer $base/released)" = "$(boot_id)" ] && [ $(($(date +%s) - $(stat -c %Y $base/released))) -gt 900 ]; then
      echo "failed Reboot"
    else
      echo "done $(answer $base/released)"
    fi
  else
    echo none
  fi
}

digest() { # FILE
  sha256sum <"$1" | cut -d' ' -f1
}

# --- tasks ---

# start runs a function unit_TASK of this script, which is the first line of the input, as a unit. The other lines are files for it.
start() { # TASK SECONDS CLAIM FILES ARGUMENT...
  task=$1 seconds=$2 claim=$3 files=$4
  shift 4
  owned "$claim" || exit 3
  case $(systemctl is-active "static-host-$task" 2>/dev/null) in
  active | activating | deactivating | reloading) exit 0 ;;
  esac
  [ -d $run ] && [ ! -L $run ] && [ "$(stat -c %u $run)" = 0 ] || rm -rf --one-file-system -- $run
  mkdir -p $run && chmod 700 $run || exit 4
  rm -f -- "$run/$task.result" "$run/$task.step"
  for file in script $files; do
    IFS= read -r line && printf %s "$line" | base64 -d >"$run/$file.new" && mv -fT -- "$run/$file.new" "$run/$file" || exit 4
  done
  [ "$task" != release ] || rm -f -- $base/released
  systemd-run --quiet --collect --unit "static-host-$task" --description "static-host-operator: $task" \
    --property "RuntimeMaxSec=$seconds" --property TimeoutStopSec=30 --property StandardInput=null --property StandardOutput=null --property StandardError=null \
    --property "ExecStopPost=/bin/sh $root/$run/script stopped $task" \
    /bin/sh "$root/$run/script" "unit_$task" "$claim" "$@" >/dev/null 2>&1 || exit 5
}

owned() { # CLAIM: succeeds unless the host has the baseline of another claim
  [ -z "$1" ] || [ ! -e $base/baseline/claim ] || [ "$(cat $base/baseline/claim)" = "$1" ]
}

# steps runs functions, and tells the name of the first one that fails. `set -e` works only outside of conditions.
steps() { # TASK STEP...
  task=$1
  shift
  for step; do
    echo "$step" >"$run/$task.step"
    (set -e; "step_$step")
    code=$?
    [ $code = 0 ] || { finish "$task" "failed $step $(cat "$run/difference" 2>/dev/null)"; exit 1; }
  done
}

finish() { # TASK RESULT
  printf '%s\n' "$2" >"$run/$1.result.new" && mv -fT -- "$run/$1.result.new" "$run/$1.result"
}

# stopped runs after a unit, whatever has ended it.
stopped() { # TASK
  [ "$1" != provision ] || rm -f -- $run/user-data
  [ "$(timeout 20 systemctl is-system-running)" != stopping ] || return 0
  case $1 in
  baseline) [ -e $base/baseline/manifest ] && return 0 ;;
  release)
    systemctl stop static-host-hook >/dev/null 2>&1
    [ -e $base/released ] && return 0
    ;;
  esac
  [ -e "$run/$1.result" ] || finish "$1" "failed $(cat "$run/$1.step" 2>/dev/null || echo Start)"
}

forget() { # CLAIM
  owned "$1" || exit 3
  for task in baseline provision release proof; do
    systemctl stop "static-host-$task" >/dev/null 2>&1
  done
  rm -rf --one-file-system -- $base $run || exit 4
  if systemctl is-enabled --quiet containerd 2>/dev/null; then
    systemctl --no-block start containerd >/dev/null 2>&1
  fi
  return 0
}

# --- what is compared ---

existing() { # PATH...
  for path; do
    if [ -e "$path" ] || [ -L "$path" ]; then echo "$path"; fi
  done
}

# resolve prints the folders that the places are, because a place can be a link.
resolve() {
  for place in $(existing $places); do
    folder=$(readlink -f -- "$place")
    folder=${folder#"$root"/}
    case $folder in '' | *[!A-Za-z0-9/._-]*) return 1 ;; esac
    [ ! -d "$folder" ] || echo "$folder"
  done | sort -u
}

# walk finds what is in the places, and the state folders themselves.
walk() { # FILE-WITH-PLACES EXPRESSION...
  folders=$(existing $(cat "$1"))
  shift
  [ -d etc ] && [ -n "$folders" ] || return 1
  find $folders -xdev \( $volatile \) -prune -o \( "$@" \) && find $(existing $places $state) -maxdepth 0 \( "$@" \)
}

names() { # FILE-WITH-PLACES: types and paths
  walk "$1" -printf '%y %p\0' >$run/walk && sort -zu $run/walk
}

# list prints what tells whether a file was changed, also by the time of its change, which nothing but a wrong clock forges.
list() { # FILE-WITH-PLACES
  walk "$1" -type d -printf '0 d %m %U %G 0 0 %T@ %C@ %p\0' -o -printf '%i %y %m %U %G %n %s %T@ %C@ %p\0' >$run/walk && sort -zu $run/walk
}

archive() { # reads paths
  tar -c --format=posix --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --numeric-owner --xattrs \
    --xattrs-include='*' --acls --null --no-recursion -f - -T - 2>/dev/null
}

fingerprint() { # FILE-WITH-PLACES: without the time of /etc, in which others write
  {
    stat -c '%F %a %u %g' etc
    names "$1" | grep -zv '^s ' | grep -zvxF 'd etc' | cut -z -c3- | archive || echo incomplete
  } | sha256sum | cut -d' ' -f1
}

state_fingerprint() {
  for folder in $(existing $state); do
    find "$folder" -xdev -mindepth 1 ! -type s -print0
  done | sort -z | { archive || echo incomplete; } | sha256sum | cut -d' ' -f1
}

mounts() {
  cut -d' ' -f5 /proc/self/mountinfo | sort
}

# units prints the units that are loaded or installed. It fails if systemd does not list those that are loaded, as on a host that is too
# busy to answer: what is not in a baseline is stopped and killed by a release. The folders say what is installed, because systemd takes
# up to minutes of a slow processor for that, and starts nothing meanwhile.
units() {
  systemctl list-units --all --plain --no-legend --full --type=service,socket,timer,path,scope,automount >$run/systemd
  complete $run/systemd
  find -H $(existing $unit_folders) -mindepth 1 -maxdepth 1 ! -type d -printf '%f\n' >>$run/systemd
  # A node may have left a file whose name is a pattern for systemctl, or short for that of a unit.
  cut -d' ' -f1 $run/systemd | grep -xE '[A-Za-z0-9:_.\@-]+\.(automount|device|mount|path|scope|service|slice|socket|swap|target|timer)' |
    grep -v -e '^static-host-' -e '^session-' -e '^user@' -e '^user-runtime-dir@' | sort -u
}

# complete succeeds if a list of units has the one that systemd itself runs in.
complete() { # FILE
  grep -q '^init\.scope\>' "$1"
}

# --- baseline ---

unit_baseline() { # CLAIM
  claim=$1
  [ -e $base/baseline/manifest ] || steps baseline Copy
}

step_Copy() {
  new=$base/baseline.new
  [ ! -L $base ]
  rm -rf --one-file-system -- $new
  mkdir -p $new
  chmod 700 $base
  # A release needs space, and the machine may leave none.
  fallocate -l 16M $base/ballast 2>/dev/null || head -c 16777216 /dev/zero >$base/ballast
  systemctl stop containerd >/dev/null 2>&1 || :
  printf '%s\n' "$claim" >$new/claim
  resolve >$new/places
  mounts >$new/mounts
  units >$new/units
  names $new/places >$new/names
  list $new/places >$new/list
  grep -zv '^s ' $new/names | cut -z -c3- | archive >$new/files.tar
  fingerprint $new/places >$new/proof
  state_fingerprint >$new/state
  system >$new/system
  (cd $new && sha256sum -- claim places mounts units names list files.tar proof state system >manifest)
  sync
  mv -T -- $new $base/baseline
  sync
}

step_Baseline() { # nobody else has written the baseline
  for file in $base $base/baseline $base/baseline/*; do
    [ ! -L "$file" ]
  done
  [ "$(digest $base/baseline/manifest)" = "$expected" ]
  (cd $base/baseline && sha256sum --check --strict --status manifest)
  complete $base/baseline/units
}

# --- provision ---

unit_provision() { # CLAIM BASELINE HASH NODE
  claim=$1 expected=$2 hash=$3 node=$4
  (set -C; echo "$hash" >$run/provision.started) 2>/dev/null || exit 0
  steps provision Baseline Aside Node Input
  set -f
  IFS= read -r first <$run/user-data
  interpreter=${first#'#!'}
  echo UserData >$run/provision.step
  rm -f -- $run/pipe $run/provision.log
  mkfifo $run/pipe
  { head -c 262144 >$run/provision.log; cat >/dev/null; } <$run/pipe &
  (
    umask 022
    exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $interpreter "$root/$run/user-data"
  ) >$run/pipe 2>&1 </dev/null
  code=$?
  rm -f -- $run/user-data
  finish provision "ended $code $hash"
  cp -f -- $run/provision.result $base/result.new && sync $base/result.new && mv -fT -- $base/result.new $base/result
}

aside() { # FOLDER: where its content is meanwhile, on its file system
  if mountpoint -q "$1"; then echo "$1/.static-host"; else echo "${1%/*}/.static-host.${1##*/}"; fi
}

step_Aside() {
  [ ! -e $base/aside ] || return 0
  systemctl stop containerd >/dev/null 2>&1 || :
  for folder in $(existing $state); do
    there=$(aside "$folder")
    if mountpoint -q "$folder"; then
      mkdir -p "$there"
      find "$folder" -mindepth 1 -maxdepth 1 ! -name .static-host -exec mv -t "$there" -- {} +
    elif [ ! -e "$there" ] && [ ! -L "$there" ]; then
      mv -T -- "$folder" "$there"
    fi
  done
  echo done >$base/aside
  sync
}

step_Node() {
  [ -n "$node" ] || return 0
  printf '%s\n' "$node" >etc/hostname.static-host
  # Otherwise sudo asks the DNS for the name.
  { cat etc/hosts 2>/dev/null || :; printf '127.0.1.1 %s\n' "$node"; } >etc/hosts.static-host
  chmod 644 etc/hostname.static-host etc/hosts.static-host
  mv -fT -- etc/hostname.static-host etc/hostname
  mv -fT -- etc/hosts.static-host etc/hosts
  hostnamectl set-hostname -- "$node" >/dev/null 2>&1 || hostname -- "$node"
}

step_Input() {
  [ "$(digest $run/user-data)" = "$hash" ]
}

# --- release ---

unit_release() { # CLAIM BASELINE FOLDER-TO-EMPTY...
  claim=$1 expected=$2
  shift 2
  empty=$*
  rm -f -- $run/difference
  steps release Baseline Stop Baseline System Unmount Delete Restore Empty Hook Compare
  boot_id >$run/released && cp -fT -- $run/released $base/released && sync && [ -s $base/released ] || { finish release "failed Reboot"; exit 1; }
  systemctl --no-block reboot
}

step_Stop() {
  for task in baseline provision proof; do
    systemctl stop "static-host-$task" >/dev/null 2>&1 || :
  done
  units >$run/units.now || : # Then their processes are only killed.
  comm -13 $base/baseline/units $run/units.now >$run/units
  printf '%s.service\n' gardener-node-agent gardener-node-init kubelet containerd >>$run/units
  timeout 30 xargs -d '\n' systemctl stop -- <$run/units >/dev/null 2>&1 || :
  keep=" init.scope static-host-release.service $(grep -vxF -f $run/units $base/baseline/units | tr '\n' ' ')"
  for round in 1 2 3; do
    foreign=$(foreign)
    [ -n "$foreign" ] || return 0
    kill -9 $foreign 2>/dev/null || :
    timeout 1 tail --pid="${foreign%% *}" -f /dev/null || :
  done
  [ -z "$(foreign)" ]
}

# foreign prints the processes that belong to no unit of the baseline: those of containers and of sessions, too.
foreign() {
  for process in proc/[0-9]*; do
    readlink "$process/exe" >/dev/null 2>&1 || continue
    path=$(sed -n 's/^0:://p' "$process/cgroup" 2>/dev/null)/
    while [ -n "$path" ]; do
      part=${path%%/*} path=${path#*/}
      case $part in *.service | init.scope) case $keep in *" $part "*) continue 2 ;; esac ;; esac
    done
    printf '%s ' "${process#proc/}"
  done
}

# step_System keeps the files of one release of the operating system from the programs of another.
step_System() {
  [ "$(system)" = "$(cat $base/baseline/system)" ]
}

step_Unmount() {
  new_mounts | sort -r | while IFS= read -r mount; do
    mount=$(printf %s "$mount" | sed 's/\\\([0-7]\{3\}\)/\\0\1/g')
    mount=$(printf %b "$mount")
    umount -- "$mount" 2>/dev/null || umount -l -- "$mount" 2>/dev/null || :
  done
  [ -z "$(new_mounts)" ]
}

# new_mounts prints where something is mounted since the baseline, at or below what is deleted.
new_mounts() {
  mounts | comm -13 $base/baseline/mounts - | while IFS= read -r mount; do
    for folder in $(cat $base/baseline/places) $state $empty; do
      case $mount in "$root/${folder#/}" | "$root/${folder#/}"/*) printf '%s\n' "$mount"; break ;; esac
    done
  done
}

step_Delete() {
  rm -f -- $base/ballast
  for folder in $state; do
    there=$(aside "$folder")
    if [ -d "$folder" ] && mountpoint -q "$folder"; then
      if [ -d "$there" ]; then
        find "$folder" -xdev -mindepth 1 -maxdepth 1 ! -name '.static-host*' -exec rm -rf --one-file-system -- {} +
        mv -T -- "$there" "$there.back"
      fi
      if [ -d "$there.back" ]; then
        find "$there.back" -mindepth 1 -maxdepth 1 -exec mv -t "$folder" -- {} +
        rmdir -- "$there.back"
      fi
    elif [ -e "$there" ] || [ -L "$there" ]; then
      rm -rf --one-file-system -- "$folder"
      mv -T -- "$there" "$folder"
    fi
  done
  names $base/baseline/places >$run/names
  comm -z -13 $base/baseline/names $run/names | cut -z -c3- | xargs -0 -r rm -rf --one-file-system --
}

# step_Restore renames complete files into their places. A full disk or the end of the power leaves each file old or new.
step_Restore() {
  baseline=$base/baseline
  list $baseline/places >$run/list
  comm -z -23 $baseline/list $run/list | grep -zv '^0 d ' >$run/changed || :
  # Files with several names change together.
  sed -z -n 's/^\([0-9]*\) f [0-7]* [0-9]* [0-9]* \([2-9]\|[1-9][0-9][0-9]*\) .*/^\1 f /p' $run/changed | tr '\0' '\n' | sort -u >$run/inodes
  [ ! -s $run/inodes ] || grep -z -f $run/inodes $baseline/list >>$run/changed
  path='s/^\([^ ]* \)\{9\}//'
  sed -z "$path" $run/changed | sort -zu >$run/files
  grep -z '^0 d ' $baseline/list | sed -z "$path" | sort -zu >$run/folders
  extract . $run/folders
  for place in $(cat $baseline/places); do
    stage=$place/.static-host
    grep -z "^$place/" $run/files >$run/part || continue
    rm -rf --one-file-system -- "$stage"
    mkdir -- "$stage"
    extract "$stage" $run/part
    xargs -0 -r sh -c 'for file; do mv -fT -- "$0/$file" "$file" || exit 1; done' "$stage" <$run/part
    rm -rf --one-file-system -- "$stage"
  done
  # Links in the place of a folder, which are in no place themselves.
  for place in $(existing $places $state); do
    [ ! -L "$place" ] || printf '%s\0' "$place"
  done | comm -z -12 - $run/files >$run/part
  [ ! -s $run/part ] || extract . $run/part
  extract . $run/folders
  sync
}

extract() { # FOLDER FILE-WITH-PATHS
  tar -x -p --numeric-owner --same-owner --xattrs --xattrs-include='*' --acls --null --no-recursion -f "$root/$base/baseline/files.tar" \
    -C "$1" -T "$root/$2" 2>/dev/null
}

step_Empty() {
  for folder in $empty; do
    folder=${folder#/}
    [ -e "$folder" ] || [ -L "$folder" ] || continue
    [ "$(readlink -f -- "$folder")" = "$root/$folder" ]
    find "$folder" -xdev -mindepth 1 -delete 2>/dev/null || :
    [ -z "$(find "$folder" -xdev -mindepth 1 ! -type d -print -quit)" ]
  done
}

step_Hook() {
  [ -s $run/hook ] || return 0
  systemctl stop static-host-hook >/dev/null 2>&1 || :
  systemd-run --quiet --collect --wait --unit static-host-hook --property RuntimeMaxSec=600 --property TimeoutStopSec=10 \
    --property StandardInput=null --property StandardOutput=null --property StandardError=null /bin/sh "$root/$run/hook" >/dev/null 2>&1
}

step_Compare() {
  step_Files
  [ "$(state_fingerprint)" = "$(cat $base/baseline/state)" ]
}

step_Files() {
  [ "$(fingerprint $base/baseline/places)" != "$(cat $base/baseline/proof)" ] || return 0
  list $base/baseline/places | cut -z -d' ' -f2-8,10- | sort -z >$run/now
  cut -z -d' ' -f2-8,10- $base/baseline/list | sort -z | comm -z -3 - $run/now | tr '\0' '\n' | grep -v '^.\{0,1\}d [^/]* etc$' |
    head -n 1 | sed 's/^\t\{0,1\}\([^ ]* \)\{7\}//' | tr -cd '[:print:]' | cut -c 1-200 >$run/difference
  return 1
}

# --- proof, after the reboot ---

unit_proof() { # CLAIM BASELINE
  claim=$1 expected=$2
  rm -f -- $run/difference
  steps proof Listener Baseline Files
  finish proof "done"
}

step_Listener() { # of kubelet
  ! grep -qE '^ *[0-9]+: [0-9A-F]+:280A [0-9A-F]+:0000 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# A unit runs this file with the function as argument.
[ $# = 0 ] || main "$@"
