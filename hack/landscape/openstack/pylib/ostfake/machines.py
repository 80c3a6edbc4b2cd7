"""Nova's driver for servers that are machines, which the process at the socket $OST_MACHINES has: what it cannot do is refused."""
import http.client
import json
import os
import socket
import tempfile
from unittest import mock

import eventlet.timeout
from nova.api.metadata import base as metadata
from nova.compute import power_state
import nova.conf
from nova import exception
from nova.objects import fields
from nova.virt import block_device
from nova.virt import configdrive
from nova.virt import driver
from nova.virt import fake
from nova.virt import hardware

CONF = nova.conf.CONF

# The hypervisor that images for machines have as a property.
HYPERVISOR = fields.HVType.UML
# The host of Neutron's agents.
AGENTS = 'ctl'


class Hypervisors:
    """The configuration for detaching volumes, which Nova does only at the host of the configuration: here one process is all hosts."""
    host = mock.ANY

    def __getattr__(self, name):
        return getattr(CONF, name)


block_device.CONF = Hypervisors()


class Connection(http.client.HTTPConnection):

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.environ['OST_MACHINES'])


def ask(method, uuid, path='', body=None, wait=0):
    """Sends a request about the machine of a server, whose answer may take some seconds longer than usual, and returns the answer."""
    connection = Connection('machines', timeout=60 + wait)
    try:
        connection.request(method, '/machines/%s%s' % (uuid, path), json.dumps(body))
        response = connection.getresponse()
        content = response.read().decode()
    finally:
        connection.close()
    if response.status == http.client.NOT_FOUND:
        raise exception.InstanceNotFound(instance_id=uuid)
    if response.status >= http.client.BAD_REQUEST:
        raise exception.NovaException('machine %s: %s' % (uuid, content.strip()))
    return content


class Driver(fake.FakeDriver):

    def __init__(self, virtapi, read_only=False):
        super().__init__(virtapi, read_only)
        self.host_status_base.update(hypervisor_type=HYPERVISOR, supported_instances=[
            (fields.Architecture.X86_64, fields.HVType.UML, fields.VMMode.UML)])

    def spawn(self, context, instance, image_meta, injected_files, admin_password, allocations, network_info=None,
              block_device_info=None, power_on=True, accel_info=None):
        if not instance.image_ref or image_meta.properties.get('img_hv_type') != HYPERVISOR:
            raise exception.ImageUnacceptable(image_id=instance.image_ref or 'of a volume', reason='machines do not boot it')
        # Neutron's agent tells when the card of the machine has its network.
        events = [('network-vif-plugged', vif['id']) for vif in network_info if not vif.get('active', True)]
        try:
            with self.virtapi.wait_for_instance_event(instance, events, deadline=CONF.vif_plugging_timeout):
                self._install(instance, injected_files, admin_password, network_info)
            for volume in driver.block_device_info_get_mapping(block_device_info):
                self.attach_volume(context, volume['connection_info'], instance, volume['mount_device'])
            if power_on:
                ask('POST', instance.uuid, '/on')
        except eventlet.timeout.Timeout:
            self._remove(instance)
            raise exception.VirtualInterfaceCreateException()
        except Exception:
            self._remove(instance)
            raise
        super().spawn(context, instance, image_meta, injected_files, admin_password, allocations, network_info,
                      block_device_info, power_on, accel_info)

    def _install(self, instance, injected_files, admin_password, network_info):
        with tempfile.TemporaryDirectory(dir=CONF.state_path) as folder:
            drive = os.path.join(folder, 'drive')
            contents = metadata.InstanceMetadata(instance, content=injected_files, extra_md={'admin_pass': admin_password},
                                                 network_info=network_info)
            with configdrive.ConfigDriveBuilder(instance_md=contents) as builder:
                builder.make_drive(drive)
            ask('PUT', instance.uuid, body={
                'memory': instance.flavor.memory_mb, 'drive': drive,
                'cards': [{'mac': vif['address'], 'tap': vif['devname'], 'bridge': vif['network']['bridge']} for vif in network_info],
            })

    def _remove(self, instance):
        try:
            ask('DELETE', instance.uuid)
        except exception.InstanceNotFound:
            pass

    def destroy(self, context, instance, network_info, block_device_info=None, destroy_disks=True, destroy_secrets=True):
        self._remove(instance)
        super().destroy(context, instance, network_info, block_device_info, destroy_disks, destroy_secrets)

    def power_on(self, context, instance, network_info, block_device_info=None, accel_info=None):
        ask('POST', instance.uuid, '/on')

    def power_off(self, instance, timeout=0, retry_interval=0):
        ask('POST', instance.uuid, '/off', {'grace': timeout}, timeout)

    def reboot(self, context, instance, network_info, reboot_type, block_device_info=None, bad_volumes_callback=None, accel_info=None):
        self.power_off(instance, CONF.shutdown_timeout if reboot_type == 'SOFT' else 0)
        self.power_on(context, instance, network_info)

    def attach_volume(self, context, connection_info, instance, mountpoint, disk_bus=None, device_type=None, encryption=None):
        ask('PUT', instance.uuid, '/volumes/' + connection_info['serial'], {'path': connection_info['data']['device_path']})

    def detach_volume(self, context, connection_info, instance, mountpoint, encryption=None):
        ask('DELETE', instance.uuid, '/volumes/' + connection_info['serial'])

    def get_info(self, instance, use_cache=True):
        on = json.loads(ask('GET', instance.uuid))['on']
        return hardware.InstanceInfo(state=power_state.RUNNING if on else power_state.SHUTDOWN)

    def get_console_output(self, context, instance):
        return ask('GET', instance.uuid, '/console')

    def network_binding_host_id(self, context, instance):
        return AGENTS


def _refuse(name):
    def method(self, *args, **kwargs):
        raise NotImplementedError('machines cannot %s' % name)
    return method


for _name in ('attach_interface', 'detach_interface', 'extend_volume', 'finish_migration', 'finish_revert_migration', 'live_migration',
              'migrate_disk_and_power_off', 'pause', 'rescue', 'resume', 'snapshot', 'suspend', 'swap_volume', 'trigger_crash_dump',
              'unpause', 'unrescue'):
    setattr(Driver, _name, _refuse(_name))
