"""Neutron's Linux bridge, L3 and DHCP agents in one process."""
import sys

import neutron.cmd.eventlet  # noqa: F401  (eventlet's monkey patching)
from neutron_lib.agent import topics
from neutron_lib import constants
from neutron_lib.utils import helpers
from oslo_config import cfg
from oslo_service import service

from neutron.agent import dhcp_agent
from neutron.agent import l3_agent
from neutron.common import config as common_config
from neutron.conf.agent import common as agent_config
from neutron.conf import service as service_conf
from neutron.plugins.ml2.drivers.agent import _common_agent
from neutron.plugins.ml2.drivers.linuxbridge.agent import arp_protect
from neutron.plugins.ml2.drivers.linuxbridge.agent import linuxbridge_neutron_agent as linuxbridge
from neutron import service as neutron_service

CONF = cfg.CONF


def _delete_vif_mac_rules(vif, current_rules):
    """Empties the chain: ebtables of nf_tables cannot delete a rule with --among-src, which the agent would try forever."""
    chain = arp_protect._mac_chain_name(vif)
    arp_protect.ebtables(['-F', chain])
    arp_protect.ebtables(['-A', chain, '-j', 'DROP'])


arp_protect._delete_vif_mac_rules = _delete_vif_mac_rules


def everything():
    l3_agent.register_opts(CONF)
    dhcp_agent.register_options(CONF)
    common_config.init(sys.argv[1:])
    common_config.setup_logging()
    agent_config.setup_privsep()
    service_conf.register_service_opts(service_conf.RPC_EXTRA_OPTS, CONF)
    manager = linuxbridge.LinuxBridgeManager(helpers.parse_mappings(CONF.LINUX_BRIDGE.bridge_mappings), {})
    linuxbridge.linuxbridge_capabilities.register()

    def agent(kind, topic, manager):
        return neutron_service.Service.create(binary=kind, topic=topic, report_interval=CONF.AGENT.report_interval, manager=manager)

    launcher = service.ServiceLauncher(CONF, restart_method='mutate')
    launcher.launch_service(_common_agent.CommonAgentLoop(
        manager, CONF.AGENT.polling_interval, CONF.AGENT.quitting_rpc_timeout,
        constants.AGENT_TYPE_LINUXBRIDGE, constants.AGENT_PROCESS_LINUXBRIDGE))
    launcher.launch_service(agent(constants.AGENT_PROCESS_DHCP, topics.DHCP_AGENT,
                                  'neutron.agent.dhcp.agent.DhcpAgentWithStateReport'))
    launcher.launch_service(agent(constants.AGENT_PROCESS_L3, topics.L3_AGENT,
                                  'neutron.agent.l3.agent.L3NATAgentWithStateReport'))
    launcher.wait()
