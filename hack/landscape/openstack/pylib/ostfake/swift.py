"""Swift's servers, whose configuration is not below /etc."""
import os
import sys

from swift.common import utils

utils.SWIFT_CONF_FILE = os.environ['SWIFT_CONF']  # before anything reads it


def rings():
    """rings FOLDER NAME=PORT...   writes rings with one device and one replica."""
    from swift.common.ring.builder import RingBuilder
    for name, port in (arg.split('=') for arg in sys.argv[2:]):
        builder = RingBuilder(4, 1, 0)
        builder.add_dev({'id': 0, 'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': int(port), 'device': 'd1', 'weight': 1})
        builder.rebalance(seed=1)
        builder.get_ring().save(os.path.join(sys.argv[1], name + '.ring.gz'))


def serve():
    """serve CONFIGURATION SECTION   serves until it is ended."""
    from swift.common.wsgi import run_wsgi
    options = {}
    if sys.argv[2] == 'object-server':
        from swift.obj import server
        options['global_conf_callback'] = server.global_conf_callback
    return run_wsgi(sys.argv[1], sys.argv[2], verbose=True, **options)
