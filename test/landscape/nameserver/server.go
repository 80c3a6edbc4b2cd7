// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package nameserver runs BIND as a process of its own, with zones that take dynamic updates, and asks DNS servers.
package nameserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// executable is where Debian's package bind9 has it, which the landscape's OpenStack installs.
const executable = "/usr/sbin/named"

const startTimeout = 30 * time.Second

// Key is a TSIG key.
type Key struct {
	// Name is the name of the key.
	Name string
	// Algorithm is its algorithm, such as hmac-sha256.
	Algorithm string
	// Secret is the secret in base64.
	Secret string
}

// Keys that the server knows. ReadOnly may change nothing.
var (
	Writer   = Key{Name: "writer", Algorithm: "hmac-sha256", Secret: "d3JpdGVyLW9mLXRoZS1sYW5kc2NhcGUtMDEyMzQ1Njc="}
	Strong   = Key{Name: "strong.keys", Algorithm: "hmac-sha512", Secret: "c3Ryb25nLW9mLXRoZS1sYW5kc2NhcGUtMDEyMzQ1Njc4OWFiY2RlZg=="}
	ReadOnly = Key{Name: "reader", Algorithm: "hmac-sha256", Secret: "cmVhZGVyLW9mLXRoZS1sYW5kc2NhcGUtMDEyMzQ1Njc="}
)

// Server is a BIND.
type Server struct {
	// Process is the server's process.
	Process *landscape.Process
	// Address is the host and the port of the server.
	Address string
}

// Start starts a server with the zones, whose data is below dir, and waits until it answers.
func Start(ctx context.Context, dir string, zones ...string) (*Server, error) {
	return StartAt(ctx, dir, nil, zones...)
}

// StartAt is Start for a server that also answers at port 53 of addresses.
func StartAt(ctx context.Context, dir string, addresses []netip.Addr, zones ...string) (*Server, error) {
	ports, err := landscape.FreePorts(1)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "named.conf")
	if err := write(dir, config, ports[0], addresses, zones); err != nil {
		return nil, err
	}
	s := &Server{
		Process: &landscape.Process{Name: "named", Path: executable, Args: []string{"-f", "-n", "1", "-c", config},
			LogFile: filepath.Join(dir, "named.log")},
		Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0])),
	}
	if err := s.Process.Start(); err != nil {
		return nil, err
	}
	return s, s.WaitReady(ctx, zones[0])
}

// Installed reports whether this machine has BIND.
func Installed() bool {
	_, err := os.Stat(executable)
	return err == nil
}

// WaitReady waits until the server answers for the zone.
func (s *Server) WaitReady(ctx context.Context, zone string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
		if err := s.Process.Check(); err != nil {
			return false, err
		}
		_, last = Ask(ctx, s.Address, zone, dns.TypeSOA)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("named is not ready: %w (%w)", err, last)
	}
	return nil
}

func write(dir, config string, port int, addresses []netip.Addr, zones []string) error {
	var b strings.Builder
	for _, key := range []Key{Writer, Strong, ReadOnly} {
		fmt.Fprintf(&b, "key %q { algorithm %s; secret %q; };\n", key.Name, key.Algorithm, key.Secret)
	}
	fmt.Fprintf(&b, `options {
  directory %q; pid-file none; session-keyfile none; listen-on port %d { 127.0.0.1; }; listen-on-v6 { none; };
  recursion no; dnssec-validation no; notify no; tcp-clients 500;
`, dir, port)
	for _, address := range addresses {
		fmt.Fprintf(&b, "  listen-on port 53 { %s; };\n", address)
	}
	b.WriteString("};\ncontrols { };\n")
	for _, zone := range zones {
		file := filepath.Join(dir, "db."+zone)
		fmt.Fprintf(&b, "zone %q { type primary; file %q; allow-update { key %q; key %q; }; };\n", zone, file, Writer.Name, Strong.Name)
		content := fmt.Sprintf("$TTL 300\n@ SOA ns.%[1]s. admin.%[1]s. 1 3600 600 86400 60\n"+
			"@ NS ns.%[1]s.\nns A 127.0.0.1\nelsewhere NS ns.elsewhere.%[1]s.\n", zone)
		if err := errors.Join(os.RemoveAll(file+".jnl"), os.WriteFile(file, []byte(content), 0o600)); err != nil {
			return err
		}
	}
	return os.WriteFile(config, []byte(b.String()), 0o600)
}
