"""fernet_keys.py DIR - makes the keys that keystone signs tokens and encrypts credentials with, unless they are there."""
import base64
import os
import sys

for repository, count in (('fernet-keys', 2), ('credential-keys', 2)):
    path = os.path.join(sys.argv[1], repository)
    os.makedirs(path, mode=0o700, exist_ok=True)
    for number in range(count):
        key = os.path.join(path, str(number))
        if os.path.exists(key):
            continue
        with open(key + '.new', 'w') as f:
            f.write(base64.urlsafe_b64encode(os.urandom(32)).decode())
        os.rename(key + '.new', key)
