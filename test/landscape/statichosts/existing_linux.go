// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts

import (
	"net/netip"
	"strings"
)

// Existing describes a host that another landscape runs, with keys for its SSH server and its users.
func Existing(name string, address netip.Addr) (*Host, error) {
	h := &Host{Name: name, Address: address, Port: port}
	var err error
	if h.PrivateKey, _, err = newKey(); err != nil {
		return nil, err
	}
	var public string
	h.HostKey, public, err = newKey()
	h.HostKeys = []string{public}
	return h, err
}

// installation is what the owner of a host did to it: it has the keys of its SSH server, lets the operator in, and is not configured again.
const installation = `#!/bin/sh
set -e
umask 077
cat >/etc/ssh/ssh_host_ed25519_key <<'END'
HOSTKEY
END
ssh-keygen -y -f /etc/ssh/ssh_host_ed25519_key >/etc/ssh/ssh_host_ed25519_key.pub
mkdir -p /root/.ssh
echo 'AUTHORIZED' >/root/.ssh/authorized_keys
touch /etc/cloud/cloud-init.disabled
systemctl enable --quiet ssh
systemctl restart --no-block ssh
`

// Installation is the user data with which a machine becomes the host when it boots first.
func (h *Host) Installation() ([]byte, error) {
	authorized, err := publicKey(h.PrivateKey)
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer("HOSTKEY", strings.TrimSpace(string(h.HostKey)), "AUTHORIZED", authorized).Replace(installation)), nil
}
