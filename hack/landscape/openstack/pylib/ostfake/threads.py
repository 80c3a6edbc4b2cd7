"""What programs import that have threads and do not use eventlet, before they set up their logs.

oslo.log takes an eventlet that a library has loaded for one that the program uses, and gives loggers locks of green threads. Two threads
that meet at such a lock wait without end.
"""
from oslo_log import log

log._fix_eventlet_logging = lambda: None
