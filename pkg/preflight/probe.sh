#!/bin/sh
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0
#
# Reports what a host in the network of a site sees, as one JSON document on standard output. It changes nothing on the host.
# Arguments: <site>=<address> for the host that runs the probe of each other site.
# It uses what is installed of ip, ping, tracepath, curl, wget, openssl, nc, dig, host, nslookup, nmap, udhcpc and dhclient, and reports
# "unknown" for what it cannot find out. DHCP servers are asked only with root.
set -uf
LC_ALL=C
export LC_ALL
#settings

have() { command -v "$1" >/dev/null 2>&1; }

# clean: printable characters of the first line of the input, of limited length, escaped for JSON.
clean() { head -n 1 | tr -cd '\040-\176' | cut -c 1-200 | sed 's/[\\"]/\\&/g'; }

# text VALUE: a JSON string.
text() { printf '"%s"' "$(printf '%s\n' "$1" | clean)"; }

# number VALUE: a JSON number, 0 if it is none.
number() {
  case "${1:-}" in
  '' | *[!0-9]* | ??????????????*) printf 0 ;;
  *) printf '%s' "$1" | sed 's/^0*\(.\)/\1/' ;;
  esac
}

# words VALUE...: a JSON list of strings.
words() {
  separator=''
  printf '['
  for word in "$@"; do
    printf '%s' "$separator"
    text "$word"
    separator=','
  done
  printf ']'
}

# within SECONDS COMMAND...: runs a command for a limited time, if there is a tool for that.
within() {
  seconds=$1
  shift
  if have timeout; then
    timeout "$seconds" "$@"
  else
    "$@"
  fi
}

# lines: the input, up to 64 lines.
lines() { head -n 64; }

is_ipv6() { case "$1" in *:*) return 0 ;; *) return 1 ;; esac }

# ping_to ADDRESS OPTION...: pings with the family of the address.
ping_to() {
  address=$1
  shift
  if is_ipv6 "$address"; then
    if ping -6 -c 1 -W 1 ::1 >/dev/null 2>&1 || ! have ping6; then
      ping -6 "$@" "$address" >/dev/null 2>&1
    else
      ping6 "$@" "$address" >/dev/null 2>&1
    fi
  else
    ping "$@" "$address" >/dev/null 2>&1
  fi
}

# reached ADDRESS: whether the address answers to ping.
reached() {
  if ! have ping; then
    echo unknown
  elif ping_to "$1" -c 3 -W 2; then
    echo ok
  else
    echo failed
  fi
}

# fits ADDRESS SIZE: whether packets of the size in bytes get through unfragmented.
fits() {
  overhead=28
  if is_ipv6 "$1"; then overhead=48; fi
  ping_to "$1" -M "do" -c 2 -i 0.3 -W 1 -s "$(($2 - overhead))"
}

# path_mtu ADDRESS: the largest packet up to MTU that gets through unfragmented, nothing if that is unknown.
path_mtu() {
  if ping -M "do" -c 1 -W 1 127.0.0.1 >/dev/null 2>&1; then
    fits "$1" "$MTU" && echo "$MTU" && return
    low=576
    if is_ipv6 "$1"; then low=1280; fi
    fits "$1" "$low" || return
    high=$MTU
    while [ $((high - low)) -gt 1 ]; do
      middle=$(((low + high) / 2))
      if fits "$1" "$middle"; then low=$middle; else high=$middle; fi
    done
    echo "$low"
  elif have tracepath; then
    within 15 tracepath -n "$1" 2>/dev/null | sed -n 's/.*pmtu \([0-9][0-9]*\).*/\1/p' | tail -n 1
  fi
}

# path NAME ADDRESS: the way to another host.
path() {
  state=$(reached "$2")
  mtu=''
  if [ "$state" = ok ]; then mtu=$(path_mtu "$2"); fi
  printf '{"to":%s,"address":%s,"state":%s,"mtu":%s}' "$(text "$1")" "$(text "$2")" "$(text "$state")" "$(number "$mtu")"
}

# connected HOST PORT: whether a TCP connection is accepted.
connected() {
  host=$1
  if is_ipv6 "$host"; then host="[$host]"; fi
  if have curl; then
    took=$(curl -sk -o /dev/null --noproxy '*' --connect-timeout 5 --max-time 10 -w '%{time_connect}' "https://$host:$2/" 2>/dev/null)
    case "$took" in
    *[1-9]*) echo ok ;;
    *) echo failed ;;
    esac
  elif have nc && { nc -h 2>&1 | grep -q -e '^[[:space:]]*-[a-zA-Z]*z' || have timeout; }; then
    connected_with_nc "$1" "$2"
  elif have openssl; then
    case "$(within 10 openssl s_client -connect "$host:$2" </dev/null 2>/dev/null)" in
    *CONNECTED*) echo ok ;;
    *) echo failed ;;
    esac
  elif have wget; then
    output=$(within 10 wget -T 5 -O /dev/null "https://$host:$2/" 2>&1)
    case "$?:$output" in
    0:* | 5:* | 6:* | 8:* | *"server returned error"*) echo ok ;;
    4:* | *"bad address"* | *"can't connect"* | *"timed out"* | *unreachable* | *refused*) echo failed ;;
    *) echo unknown ;;
    esac
  else
    echo unknown
  fi
}

# connected_with_nc HOST PORT: like connected. Without the option -z, nc may wait for the server until its time is over.
connected_with_nc() {
  if nc -h 2>&1 | grep -q -e '^[[:space:]]*-[a-zA-Z]*z'; then
    within 10 nc -z -w 5 "$1" "$2" >/dev/null 2>&1
  else
    within 10 nc -w 5 "$1" "$2" </dev/null >/dev/null 2>&1
  fi
  case $? in
  0 | 124 | 143) echo ok ;;
  *) echo failed ;;
  esac
}

# headers URL: the headers of the response.
headers() {
  if have curl; then
    curl -skI --noproxy '*' --connect-timeout 5 --max-time 10 "$1" 2>/dev/null
  elif have openssl; then
    rest=${1#https://}
    host=${rest%%/*}
    case "$host" in
    *]) port="$host:443" ;;
    *]:*) port=$host ;;
    *:*) port=$host ;;
    *) port="$host:443" ;;
    esac
    printf 'HEAD / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$host" |
      within 10 openssl s_client -quiet -connect "$port" 2>/dev/null
  elif have wget; then
    within 10 wget -S -T 5 -O /dev/null --no-check-certificate "$1" 2>&1
  fi
}

# date_of URL: the time that the server tells, and the local time before and after it was asked.
date_of() {
  before=$(date +%s)
  told=$(headers "$1" | tr -d '\r' | sed -n 's/^ *[Dd][Aa][Tt][Ee]: *//p' | lines | clean)
  after=$(date +%s)
  if [ -n "$told" ]; then
    printf '{"from":%s,"date":"%s","before":%s,"after":%s}' "$(text "$1")" "$told" "$(number "$before")" "$(number "$after")"
  fi
}

# resolved NAME SERVER: whether the server resolves the name.
resolved() {
  if have dig; then
    answer=$(dig +time=3 +tries=2 "@$2" "$1" A 2>/dev/null; dig +time=3 +tries=2 "@$2" "$1" AAAA 2>/dev/null)
    case "$answer" in
    *"ANSWER SECTION"*) echo ok ;;
    *) echo failed ;;
    esac
  elif have host; then
    if within 10 host -W 3 "$1" "$2" >/dev/null 2>&1; then echo ok; else echo failed; fi
  elif have nslookup; then
    if within 10 nslookup "$1" "$2" >/dev/null 2>&1; then echo ok; else echo failed; fi
  elif have busybox && busybox nslookup 2>&1 | grep -q -i usage; then
    if within 10 busybox nslookup "$1" "$2" >/dev/null 2>&1; then echo ok; else echo failed; fi
  else
    echo unknown
  fi
}

# interfaces: the interfaces with addresses.
interfaces() {
  if ! have ip; then
    printf '[]'
    return
  fi
  separator=''
  printf '['
  for name in $(ip -o addr show 2>/dev/null | awk '$2 != "lo" && ($3 == "inet" || $3 == "inet6") {print $2}' | sort -u | lines); do
    mtu=$(ip -o link show dev "$name" 2>/dev/null | sed -n 's/.* mtu \([0-9]*\).*/\1/p')
    # shellcheck disable=SC2046
    addresses=$(words $(ip -o addr show dev "$name" 2>/dev/null | awk '$3 == "inet" || $3 == "inet6" {print $4}' | grep -v '^fe80' | lines))
    printf '%s{"name":%s,"mtu":%s,"addresses":%s}' "$separator" "$(text "$name")" "$(number "$mtu")" "$addresses"
    separator=','
  done
  printf ']'
}

# gateways: the default gateways.
gateways() {
  if have ip; then
    { ip -4 route show default; ip -6 route show default; } 2>/dev/null | sed -n 's/.* via \(inet6 \)*\([0-9a-f.:]*\).*/\2/p'
  elif have route; then
    route -n 2>/dev/null | awk '$1 == "0.0.0.0" {print $2}'
  fi | lines
}

# offer SOURCE SERVER ADDRESS MTU ROUTERS DNS: an answer of a DHCP server.
offer() {
  # shellcheck disable=SC2086
  printf '{"source":%s,"server":%s,"address":%s,"mtu":%s,"routers":%s,"dnsServers":%s}' "$(text "$1")" "$(text "$2")" "$(text "$3")" \
    "$(number "$4")" "$(words $5)" "$(words $6)"
}

# field FILE NAME: the value of a line <name>=<value>, or of an option of a lease, with blanks between elements.
field() { sed -n "s/^$2=//p" "$1" | tail -n 1 | tr -d "'\"" | tr ',' ' '; }
option() { sed -n "s/^ *\(option \)*$2 \(.*\);\$/\2/p" "$1" | tail -n 1 | tr ',' ' '; }

# dhcp INTERFACE: the state and the answers. A client is run with a script that only writes down what it is told.
dhcp() {
  set +f
  folder=$(mktemp -d 2>/dev/null) || folder=''
  answers='' state=unknown
  if [ -n "$folder" ] && [ -n "$1" ] && [ "$(id -u)" = 0 ]; then
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nset >>%s/answer\n' "$folder" >"$folder/note"
    chmod +x "$folder/note"
    if have nmap; then
      within 30 nmap -e "$1" --script broadcast-dhcp-discover >"$folder/nmap" 2>/dev/null
      state=failed
      if grep -q 'IP Offered' "$folder/nmap"; then
        state=ok
        answers=$(answers_of_nmap "$folder/nmap")
      fi
    elif have udhcpc || { have busybox && busybox udhcpc --help >/dev/null 2>&1; }; then
      client='udhcpc'
      if ! have udhcpc; then client='busybox udhcpc'; fi
      # shellcheck disable=SC2086
      within 15 $client -i "$1" -f -n -q -t 3 -T 2 -s "$folder/note" >/dev/null 2>&1
      state=failed
      if [ -n "$(field "$folder/answer" ip 2>/dev/null)" ]; then
        state=ok
        answers=$(offer udhcpc "$(field "$folder/answer" serverid)" "$(field "$folder/answer" ip)" "$(field "$folder/answer" mtu)" \
          "$(field "$folder/answer" router)" "$(field "$folder/answer" dns)")
      fi
    elif have dhclient; then
      within 30 dhclient -4 -1 -d -sf "$folder/note" -lf "$folder/leases" -pf "$folder/pid" "$1" >/dev/null 2>&1
      state=failed
      if [ -n "$(field "$folder/answer" new_ip_address 2>/dev/null)" ]; then
        state=ok
        answers=$(offer dhclient "$(field "$folder/answer" new_dhcp_server_identifier)" "$(field "$folder/answer" new_ip_address)" \
          "$(field "$folder/answer" new_interface_mtu)" "$(field "$folder/answer" new_routers)" \
          "$(field "$folder/answer" new_domain_name_servers)")
      fi
    fi
  fi
  if [ "$state" = unknown ]; then
    for lease in /run/systemd/netif/leases/*; do
      if [ -r "$lease" ]; then
        state=ok
        answers=$(offer lease "$(field "$lease" SERVER_ADDRESS)" "$(field "$lease" ADDRESS)" "$(field "$lease" MTU)" \
          "$(field "$lease" ROUTER)" "$(field "$lease" DNS)")
      fi
    done
    for lease in /var/lib/dhcp/dhclient*.leases /var/lib/dhclient/*.leases; do
      if [ -r "$lease" ] && grep -q fixed-address "$lease"; then
        state=ok
        answers=$(offer lease "$(option "$lease" dhcp-server-identifier)" "$(option "$lease" fixed-address)" \
          "$(option "$lease" interface-mtu)" "$(option "$lease" routers)" "$(option "$lease" domain-name-servers)")
      fi
    done
  fi
  if [ -n "$folder" ]; then rm -rf "$folder"; fi
  printf '{"state":%s,"answers":[%s]}' "$(text "$state")" "$answers"
}

# answers_of_nmap FILE: the answers of all servers.
answers_of_nmap() {
  separator=''
  awk '
    function out() { if (ip != "") print server "|" ip "|" mtu "|" routers "|" dns }
    /Response [0-9]+ of/ { out(); server = ip = mtu = routers = dns = "" }
    { sub(/^[| _]*/, ""); value = $0; sub(/^[^:]*: */, "", value) }
    /^IP Offered:/ { ip = value }
    /^Server Identifier:/ { server = value }
    /^Router:/ { routers = value }
    /^Domain Name Server:/ { dns = value }
    /^Interface MTU:/ { mtu = value }
    END { out() }
  ' "$1" | lines | while IFS='|' read -r server ip mtu routers dns; do
    printf '%s' "$separator"
    offer nmap "$server" "$ip" "$mtu" "$(echo "$routers" | tr ',' ' ')" "$(echo "$dns" | tr ',' ' ')"
    separator=','
  done
}

default_interface() {
  if have ip; then
    ip route show default 2>/dev/null | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1
  fi
}

# list COMMAND ARGUMENT...: calls the command with each argument, and makes a JSON list of its outputs.
list() {
  command=$1 comma=''
  shift
  printf '['
  for argument in "$@"; do
    output=$("$command" "$argument")
    if [ -n "$output" ]; then
      printf '%s%s' "$comma" "$output"
      comma=','
    fi
  done
  printf ']'
}

# These take one argument each, for list.
to_gateway() { path gateway "$1"; }
to_peer() { path "${1%%=*}" "${1#*=}"; }
to_target() {
  place=${1#*=}
  port=${place##*:}
  place=${place%:*}
  place=${place#[}
  place=${place%]}
  printf '{"role":%s,"target":%s,"state":%s}' "$(text "${1%%=*}")" "$(text "${1#*=}")" "$(text "$(connected "$place" "$port")")"
}
to_server() {
  server=$1 inner=''
  for name in $NAMES; do
    printf '%s{"server":%s,"name":%s,"state":%s}' "$inner" "$(text "$server")" "$(text "$name")" "$(text "$(resolved "$name" "$server")")"
    inner=','
  done
}

# clock: the first time that a server tells.
clock() {
  for address in $TIMES; do
    date=$(date_of "$address")
    if [ -n "$date" ]; then
      printf '%s' "$date"
      return
    fi
  done
  printf 'null'
}

# shellcheck disable=SC2086,SC2046
printf '{"version":1,"site":%s,"time":%s,"interfaces":%s,"gateways":%s,"dhcp":%s,"clock":%s,"dns":%s,"targets":%s,"paths":%s,"peers":%s}\n' \
  "$(text "$SITE")" "$(number "$(date +%s)")" "$(interfaces)" "$(words $(gateways))" "$(dhcp "$(default_interface)")" "$(clock)" \
  "$(list to_server $DNS_SERVERS)" "$(list to_target $TARGETS)" "$(list to_gateway $(gateways))" "$(list to_peer "$@")"
