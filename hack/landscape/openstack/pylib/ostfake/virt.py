"""Nova's fake hypervisor, with servers that take time to boot."""
import os
import time

from nova.virt import fake


def boot_delay(name):
    """The seconds in the file boot-delay of the state folder, read for each server; none if there is no such file, or if the name does not
    begin with what stands behind the seconds."""
    try:
        with open(os.path.join(os.environ['OST_STATE'], 'boot-delay')) as f:
            seconds, *prefix = f.read().split()
            return float(seconds) if name.startswith(''.join(prefix)) else 0
    except (OSError, ValueError):
        return 0


class Driver(fake.FakeDriver):

    def spawn(self, context, instance, *args, **kwargs):
        time.sleep(boot_delay(instance.display_name))
        super().spawn(context, instance, *args, **kwargs)
