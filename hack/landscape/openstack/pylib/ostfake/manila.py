"""Manila's plugin for Neutron. The dummy driver wants an address of an admin network too, which another plugin gives and which is no port."""
from manila.network.neutron import neutron_network_plugin


class Network(neutron_network_plugin.NeutronNetworkPlugin):

    def _delete_port(self, context, port):
        if port['label'] == 'admin':
            self.db.network_allocation_delete(context, port['id'])
        else:
            super()._delete_port(context, port)
