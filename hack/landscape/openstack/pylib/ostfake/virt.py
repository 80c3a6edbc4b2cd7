"""Nova's fake hypervisor, with servers that take time to boot."""
import os
import time

from nova.virt import fake


def boot_delay():
    """The seconds in the file boot-delay of the state folder, read for each server; none if there is no such file."""
    try:
        with open(os.path.join(os.environ['OST_STATE'], 'boot-delay')) as f:
            return float(f.read())
    except (OSError, ValueError):
        return 0


class Driver(fake.FakeDriver):

    def spawn(self, *args, **kwargs):
        time.sleep(boot_delay())
        super().spawn(*args, **kwargs)
