// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"golang.org/x/crypto/ssh"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

const (
	// dialTime is how long a connection may take. Packets that are dropped get no answer.
	dialTime = 10 * time.Second
	// loginTime is how long a machine may need to let somebody in whose packets reach it.
	loginTime = time.Minute
	// flowTime is how long the agents of Neutron may need to apply a change.
	flowTime = time.Minute

	nodeUser = "gardener"

	// otherPort is one of which the rules of security groups know nothing. Pods listen there, too.
	otherPort = 8080
)

// bgpPort is one of the ports at which nodes of all sites may reach each other.
const bgpPort = 179

// podRange has the addresses of all pods of the shoot.
const podRange = "100.96.0.0/11"

// Addresses of those who are not part of the shoot.
var (
	administrator = netip.MustParseAddr("198.51.100.7")
	stranger      = netip.MustParseAddr("203.0.113.7")
)

// connectSites makes this process what connects the sites and everything else: a router, and hosts with addresses of their own.
func (l *machineLab) connectSites() error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return err
	}
	if err := own(fmt.Sprintf("addr add %s/32 dev lo", administrator), fmt.Sprintf("addr add %s/32 dev lo", stranger)); err != nil {
		return err
	}
	return l.listenOutside()
}

// newKey makes the key of a user.
func newKey() (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(private)
}

// routeToServers is what the operator of the network does, as docs/usage/network.md says: other sites see the addresses of servers, and
// know the way to them, to which Neutron's router leads.
func (l *machineLab) routeToServers(ctx context.Context, infrastructure *extensionsv1alpha1.Infrastructure) error {
	status, err := siteStatus(infrastructure, shoot.Sites[0])
	if err != nil {
		return err
	}
	l.stack.group, l.stack.router = status.OpenStack.SecurityGroupID, status.OpenStack.RouterID
	gateway, err := l.stack.translate(ctx, false)
	if err != nil {
		return err
	}
	return own(fmt.Sprintf("route replace %s via %s", stackNodes, gateway))
}

// translate lets the router translate the addresses of nodes to its own, or not, and returns its own. Only an administrator may.
func (s *stack) translate(ctx context.Context, on bool) (string, error) {
	router, err := routers.Get(ctx, s.administration, s.router).Extract()
	if err != nil {
		return "", err
	}
	router, err = routers.Update(ctx, s.administration, s.router, routers.UpdateOpts{
		GatewayInfo: &routers.GatewayInfo{NetworkID: router.GatewayInfo.NetworkID, EnableSNAT: &on}}).Extract()
	if err != nil {
		return "", err
	}
	return router.GatewayInfo.ExternalFixedIPs[0].IPAddress, nil
}

// own runs ip in the namespace of this process.
func own(lines ...string) error {
	namespace, err := netns.Own()
	if err != nil {
		return err
	}
	return errors.Join(namespace.IP(lines...), namespace.Close())
}

// siteStatus returns what the Infrastructure says about a site.
func siteStatus(infrastructure *extensionsv1alpha1.Infrastructure, name string) (*v1alpha1.SiteStatus, error) {
	status := &v1alpha1.InfrastructureStatus{}
	if err := json.Unmarshal(infrastructure.Status.ProviderStatus.Raw, status); err != nil {
		return nil, err
	}
	for i := range status.Sites {
		if status.Sites[i].Name == name {
			return &status.Sites[i], nil
		}
	}
	return nil, fmt.Errorf("the Infrastructure has no site %q", name)
}

// dialFrom connects from an address of this process.
func dialFrom(from netip.Addr) func(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}).DialContext
}

// timedOut is whether nothing answered.
func timedOut(err error) bool {
	var failure net.Error
	return errors.As(err, &failure) && failure.Timeout()
}

// login signs in at the SSH server of a machine, which is reached with dial.
func login(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string,
	key ssh.Signer) (*ssh.Client, error) {
	dialing, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	address = net.JoinHostPort(address, "22")
	conn, err := dial(dialing, "tcp", address)
	if err != nil {
		return nil, err
	}
	// A machine has no key that is known before.
	config := &ssh.ClientConfig{User: nodeUser, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: func(string, net.Addr, ssh.PublicKey) error { return nil }}
	// The connection through another one has no deadline of its own.
	end := time.AfterFunc(loginTime, func() { _ = conn.Close() })
	defer end.Stop()
	client, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return ssh.NewClient(client, channels, requests), nil
}

// run runs a command at a machine, and returns what it prints. It has the input.
func run(machine *ssh.Client, command, input string) (string, error) {
	session, err := machine.NewSession()
	if err != nil {
		return "", err
	}
	defer func() { _ = session.Close() }()
	session.Stdin = strings.NewReader(input)
	out, err := session.CombinedOutput(command)
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// listenOutside accepts connections of the shoot's machines to the administrator.
func (l *machineLab) listenOutside() (err error) {
	if l.outside, err = net.Listen("tcp", fmt.Sprintf("%s:%d", administrator, otherPort)); err != nil {
		return err
	}
	go func() {
		for {
			conn, err := l.outside.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_ = conn.Close()
			}
		}
	}()
	return nil
}
