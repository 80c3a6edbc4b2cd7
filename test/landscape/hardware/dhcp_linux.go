// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// ServeDHCP lets a DHCP server give the addresses from first to last to machines that ask for one, with further options of dnsmasq.
func (r *Rack) ServeDHCP(first, last netip.Addr, options ...string) error {
	path, err := exec.LookPath("dnsmasq")
	if err != nil {
		return fmt.Errorf("serve DHCP: %w: it is in Debian's package dnsmasq-base", err)
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.dhcp = &landscape.Process{
		Name: "dnsmasq", Path: path, LogFile: filepath.Join(r.dir, "dnsmasq.log"),
		Args: []string{"--keep-in-foreground", "--conf-file=/dev/null", "--pid-file=", "--user=root", "--log-facility=-", "--log-dhcp",
			"--port=0", "--interface=" + Bridge, "--bind-interfaces", "--dhcp-authoritative", "--dhcp-leasefile=" + filepath.Join(r.dir, "leases"),
			fmt.Sprintf("--dhcp-range=%s,%s,1h", first, last), fmt.Sprintf("--dhcp-option=option:router,%s", r.Network.Gateway)},
		Prepare: func(*exec.Cmd) error { return r.Network.Enter() },
	}
	for _, option := range options {
		r.dhcp.Args = append(r.dhcp.Args, "--dhcp-option="+option)
	}
	if err := r.Network.namespace.IP(fmt.Sprintf("addr add %s/%d dev %s", r.Network.server(), r.Network.Prefix.Bits(), Bridge)); err != nil {
		return err
	}
	return r.dhcp.Start()
}

// server is the address of the DHCP server, the last one of the segment, which is a /24.
func (n *Network) server() netip.Addr {
	address := n.Prefix.Addr().As4()
	address[3] = 254
	return netip.AddrFrom4(address)
}
