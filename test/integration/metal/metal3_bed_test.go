// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metalinventories "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metalmachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const image = "http://images.example/os.raw"

// tenants are machines of one shoot on hosts of one rack.
type tenants struct {
	rack        string
	shoot       string
	connection  v1alpha1.MetalConnection
	credentials site.Credentials
	nodeName    string
	network     *v1alpha1.MetalMachineNetwork
}

// newTenants makes BareMetalHosts of a rack that no other spec uses.
func newTenants(ctx context.Context, hosts int) (*tenants, []string) {
	GinkgoHelper()
	t := &tenants{
		rack: "m3-" + rand.String(5), shoot: newShoot(), credentials: credentials, nodeName: v1alpha1.MetalNodeNameMachine,
		connection: metalclient.ConnectionOf(profile(v1alpha1.MetalInventoryMetal3)),
	}
	names, err := landscape.MakeHosts(ctx, metal.Batch{Prefix: t.rack, Count: hosts, Labels: map[string]string{rackLabel: t.rack}})
	Expect(err).NotTo(HaveOccurred())
	return t, names
}

// newDriver is the platform in a process that just started. It ends with the spec.
func newDriver() platform.Machines {
	return metalmachines.New(newSessions(), metalinventories.Open)
}

// machine is the name of the shoot's machine.
func (t *tenants) machine(name string) string { return t.shoot + "-" + name }

// request is about the shoot's machine.
func (t *tenants) request(name string) platform.MachineRequest {
	return platform.MachineRequest{
		Name: t.machine(name),
		Spec: &v1alpha1.MachineProviderSpec{
			Site: "racks", Shoot: t.shoot,
			Metal: &v1alpha1.MetalMachineSpec{
				Connection:   t.connection,
				HostSelector: matching(rackLabel, t.rack),
				Image:        v1alpha1.MetalImage{URL: image, Checksum: "0123", ChecksumType: "sha256", Format: "raw"},
				Cleaning:     v1alpha1.MetalCleaningMetadata,
				NodeName:     t.nodeName,
				Network:      t.network,
			},
		},
		Credentials: t.credentials,
		UserData:    []byte("#!/bin/bash\n"),
	}
}

// hostOf is the host that the shoot's machine has, empty if it has none.
func (t *tenants) hostOf(ctx context.Context, name string) string {
	GinkgoHelper()
	hosts, err := landscape.Hosts(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := ""
	for _, host := range hosts {
		if host.Consumer == t.shoot+"/"+t.machine(name) {
			Expect(found).To(BeEmpty(), "a machine has one host")
			found = host.Name
		}
	}
	return found
}

// remove deletes the shoot's machine, however long that takes.
func (t *tenants) remove(ctx context.Context, driver platform.Machines, name string) {
	GinkgoHelper()
	Eventually(ctx, func() error { return driver.Delete(ctx, t.request(name)) }, soon).Should(Succeed())
}

func bareMetalHost(ctx context.Context, name string) func(Gomega) metal.Host {
	return func(g Gomega) metal.Host {
		hosts, err := landscape.Hosts(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		return hosts[name]
	}
}

// withID is the request about a machine on the host whose ID is known.
func withID(request platform.MachineRequest, host string) platform.MachineRequest {
	request.ProviderID = "metal3://hosts/" + host + "/" + request.Name
	return request
}

// errorOf is the error of a call.
func errorOf(_ platform.Machine, err error) error { return err }

// patchHost merges fields into a BareMetalHost.
func patchHost(ctx context.Context, name, patch string) {
	GinkgoHelper()
	Expect(landscape.Client.Patch(ctx, rawHost(name), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

// readHost reads a BareMetalHost as it is.
func readHost(ctx context.Context, name string) map[string]any {
	GinkgoHelper()
	host := rawHost(name)
	Expect(landscape.Client.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
	return host.Object
}

func rawHost(name string) *unstructured.Unstructured {
	host := &unstructured.Unstructured{}
	host.SetAPIVersion("metal3.io/v1alpha1")
	host.SetKind("BareMetalHost")
	host.SetNamespace(metal.Namespace)
	host.SetName(name)
	return host
}

// gate is in front of the inventory's API. It counts calls and can keep watches from telling anything.
type gate struct {
	url    string
	server *httptest.Server

	mutex sync.Mutex
	calls []string

	// held is true while watches get no answer.
	held atomic.Bool
}

// newGate opens a gate that ends with the spec.
func newGate() *gate {
	GinkgoHelper()
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(landscape.Cluster.Config))
	Expect(err).NotTo(HaveOccurred())
	target, err := url.Parse(landscape.Server())
	Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	proxy.FlushInterval = -1
	g := &gate{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "true" {
			if g.held.Load() {
				<-r.Context().Done()
				return
			}
		} else {
			g.mutex.Lock()
			g.calls = append(g.calls, r.Method+" "+strings.TrimPrefix(r.URL.RequestURI(), target.Path))
			g.mutex.Unlock()
		}
		defer func() { _ = recover() }() // the client may have given up in the middle of an answer
		proxy.ServeHTTP(w, r)
	}))
	DeferCleanup(server.Close)
	DeferCleanup(server.CloseClientConnections)
	g.url, g.server = server.URL, server
	return g
}

// hold keeps watches from telling anything from now on.
func (g *gate) hold() {
	g.held.Store(true)
	g.server.CloseClientConnections()
}

// take returns the calls since it was called before.
func (g *gate) take() []string {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	calls := g.calls
	g.calls = nil
	return calls
}
