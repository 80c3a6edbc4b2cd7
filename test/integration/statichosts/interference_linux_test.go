// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
)

// cutter is what the SSH server of a host runs instead of a command: the command, and if it is the first one of its kind, the connection is
// cut when the command has ended, and the answer is lost.
const cutter = `#!/bin/sh
input=$(mktemp -p /run) output=$(mktemp -p /run)
cat >$input
kind=$(sed -n "s/^{ main start '\([a-z]*\)'.*/start-\1/p; s/^{ main \([a-z]*\) .*/\1/p" $input | head -n 1)
sh -s <$input >$output
code=$?
rm $input
if mkdir "/var/tmp/cut/$kind" 2>/dev/null; then
  rm $output
  kill -9 $PPID
fi
cat $output
rm $output
exit $code
`

// cutAfterCommands lets the SSH server of a host cut the connection after the first command of each kind.
func cutAfterCommands(ctx context.Context, h *statichosts.Host) {
	GinkgoHelper()
	at(ctx, h, "mkdir /var/tmp/cut; cat >/usr/local/sbin/cutter <<'END'\n"+cutter+"END\nchmod 755 /usr/local/sbin/cutter; "+
		"echo 'ForceCommand /usr/local/sbin/cutter' >>/etc/ssh/sshd_config; systemctl restart ssh")
}

// cable is between the operator and the SSH server of a host. As soon as it is loose, it is cut in every second connection after the nth
// exchange of packets: at once, or, if n is odd, when the host has answered, and the answer is lost.
type cable struct {
	listener    net.Listener
	host        string
	n           int
	loose       atomic.Bool
	connections atomic.Int32
	cut         atomic.Int32
}

// newCable makes a cable, which ends with the spec.
func newCable(h *statichosts.Host, n int) *cable {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(listener.Close)
	c := &cable{listener: listener, host: net.JoinHostPort(h.Address.String(), strconv.Itoa(h.Port)), n: n}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.carry(conn)
		}
	}()
	return c
}

func (c *cable) port() int { return c.listener.Addr().(*net.TCPAddr).Port }

// carry carries a connection.
func (c *cable) carry(operator net.Conn) {
	host, err := net.Dial("tcp", c.host)
	if err != nil {
		_ = operator.Close()
		return
	}
	var (
		isCut    = c.loose.Load() && c.connections.Add(1)%2 == 1
		answered atomic.Bool
		last     atomic.Bool
		once     sync.Once
	)
	end := func() {
		once.Do(func() { _, _ = host.Close(), operator.Close() })
	}
	go func() {
		defer end()
		packet := make([]byte, 32<<10)
		for {
			size, err := host.Read(packet)
			if err != nil {
				return
			}
			answered.Store(true)
			if last.Load() {
				c.cut.Add(1)
				return
			}
			if _, err := operator.Write(packet[:size]); err != nil {
				return
			}
		}
	}()
	defer end()
	packet, exchanges := make([]byte, 32<<10), 0
	for {
		size, err := operator.Read(packet)
		if err != nil {
			return
		}
		if answered.Swap(false) {
			exchanges++
		}
		if isCut && exchanges == c.n && !last.Load() && c.n%2 == 1 {
			last.Store(true)
		}
		if _, err := host.Write(packet[:size]); err != nil {
			return
		}
		if isCut && exchanges == c.n && c.n%2 == 0 {
			c.cut.Add(1)
			return
		}
	}
}

// killer is between an operator and the API server. It kills the operator after each of its writes, before it gets the answer. The operator
// is started again.
type killer struct {
	process *landscape.Process

	mutex   sync.Mutex
	kills   int
	stopped bool
}

// newKiller starts an operator.
func newKiller(p *landscape.Process) *killer {
	GinkgoHelper()
	k := &killer{process: p}
	transport, err := rest.TransportFor(inventory.Cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(inventory.Server())
	Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport, proxy.FlushInterval = transport, -1
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method != http.MethodGet && strings.Contains(r.Request.URL.Path, "/statichosts/") {
			k.kill()
		}
		return nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }() // the client may be gone
		proxy.ServeHTTP(w, r)
	}))
	DeferCleanup(func() {
		k.stop()
		p.Kill()
		server.CloseClientConnections()
		server.Close()
	})
	kubeconfig := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"a",`+
		`"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"users":[{"name":"a"}],`+
		`"clusters":[{"name":"a","cluster":{"server":"`+server.URL+`"}}]}`), 0o600)).To(Succeed())
	p.Env = append(p.Env, "KUBECONFIG="+kubeconfig)
	Expect(p.Start()).To(Succeed())
	go k.restart()
	return k
}

// restart starts the operator again whenever it has ended, as a kubelet does.
func (k *killer) restart() {
	for {
		<-k.process.Done()
		k.mutex.Lock()
		if k.stopped || k.process.Start() != nil {
			k.mutex.Unlock()
			return
		}
		k.mutex.Unlock()
	}
}

func (k *killer) kill() {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.stopped {
		return
	}
	k.process.Kill()
	k.kills++
}

// stop ends that, and returns how often it happened.
func (k *killer) stop() int {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.stopped = true
	return k.kills
}
