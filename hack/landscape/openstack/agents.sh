# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# With OST_MACHINES: the external network and Neutron's agents (sourced by up.sh). Bridges, rules, and namespaces of networks end with the
# namespaces that this runs in, see README.md.
ip -o link show | grep -q '^[0-9]*: e' && die "OST_MACHINES needs namespaces of its own, as test/landscape/isolation makes them"
if ! ip link show "$EXT_BRIDGE" >/dev/null 2>&1; then
  ip link add "$EXT_BRIDGE" type bridge
  ip addr add 172.24.0.1/16 dev "$EXT_BRIDGE"
  ip link set "$EXT_BRIDGE" up
fi
os_svc neutron-agents neutron-agents ostfake.agents:everything --config-file "$ETC/neutron/neutron.conf" --config-file "$ETC/neutron/agents.conf"
agents() { [ "$(sql -e "select count(*) from neutron.agents where heartbeat_timestamp > utc_timestamp() - interval 60 second")" -ge 3 ]; }
