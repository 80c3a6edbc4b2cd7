import os
import sys
from manila.wsgi.wsgi import initialize_application
sys.argv = ['manila-api', '--config-file', os.environ['MANILA_CONF']]
application = initialize_application()
