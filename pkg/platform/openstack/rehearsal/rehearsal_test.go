// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

func TestRehearsal(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Platform OpenStack Rehearsal Suite")
}

var _ = Describe("Rehearsal", func() {
	var (
		log              *rehearsal.Log
		network, compute *gophercloud.ServiceClient
		answers          map[string]string
		mutex            sync.Mutex
		sent             []string
	)

	BeforeEach(func(ctx SpecContext) {
		log, answers, sent = &rehearsal.Log{}, map[string]string{}, nil
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mutex.Lock()
			sent = append(sent, r.Method+" "+r.URL.RequestURI())
			mutex.Unlock()
			body, ok := answers[r.URL.RequestURI()]
			if !ok {
				body, ok = answers[r.URL.Path]
			}
			if !ok {
				http.Error(w, `{"NeutronError": {"type": "NotFound", "message": "none"}}`, http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, strings.ReplaceAll(body, "$HOST", r.Host))
		}))
		DeferCleanup(server.Close)
		describe := func(r *http.Request) (service, method string) {
			service, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
			return service, r.Method
		}
		provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: Wrap(log)("cloud", describe, http.DefaultTransport)}}
		network = &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: server.URL + "/network/v2.0/"}
		compute = &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: server.URL + "/compute/v2.1/"}
		DeferCleanup(func() { Expect(sent).NotTo(ContainElement(Not(HavePrefix("GET "))), "only reads are sent") })
	})

	requests := func() []string {
		var result []string
		for _, w := range log.Writes("cloud") {
			result = append(result, fmt.Sprintf("%s %s %s %s", w.Action, w.Kind, w.Method, w.Path))
		}
		return result
	}

	It("should show what was created, to filters too", func(ctx SpecContext) {
		answers["/network/v2.0/networks"] = `{"networks": [{"id": "n", "name": "other"}]}`
		created, err := networks.Create(ctx, network, networks.CreateOpts{Name: "new", Description: "mine"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(created).To(And(HaveField("ID", "planned:network-1"), HaveField("Description", "mine"), HaveField("Tags", BeEmpty())))
		Expect(networks.Get(ctx, network, created.ID).Extract()).To(Equal(created))

		list := func(options networks.ListOpts) []string {
			found, err := client.List(ctx, networks.List(network, options), networks.ExtractNetworks)
			Expect(err).NotTo(HaveOccurred())
			var names []string
			for _, n := range found {
				names = append(names, n.Name)
			}
			return names
		}
		Expect(list(networks.ListOpts{})).To(ConsistOf("new", "other"))
		Expect(list(networks.ListOpts{Name: "new"})).To(ConsistOf("new", "other"), "the filter of the site")
		Expect(list(networks.ListOpts{Name: "other"})).To(ConsistOf("other"))
		before := len(sent)
		Expect(list(networks.ListOpts{ID: created.ID})).To(ConsistOf("new"))
		Expect(sent).To(HaveLen(before), "no site knows the ID")

		_, err = client.List(ctx, networks.List(network, networks.ListOpts{Status: "ACTIVE"}), networks.ExtractNetworks)
		Expect(err).To(MatchError(ContainSubstring(`unknown filter "status"`)))
		Expect(networks.Delete(ctx, network, created.ID).ExtractErr()).To(Succeed())
		Expect(client.IsNotFound(networks.Get(ctx, network, created.ID).Err)).To(BeTrue())
		Expect(requests()).To(Equal([]string{
			"Create network POST /network/v2.0/networks", "Delete network DELETE /network/v2.0/networks/planned:network-1",
		}))
	})

	It("should show what was changed, and which fields are different", func(ctx SpecContext) {
		answers["/network/v2.0/routers/r"] = `{"router": {"id": "r", "name": "mine", "description": "d", "tags": ["a"],
			"external_gateway_info": {"network_id": "x", "enable_snat": true}}}`
		updated, err := routers.Update(ctx, network, "r",
			routers.UpdateOpts{Name: "mine", GatewayInfo: &routers.GatewayInfo{NetworkID: "y"}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(updated).To(And(HaveField("Description", "d"), HaveField("GatewayInfo.NetworkID", "y")))
		_, err = attributestags.ReplaceAll(ctx, network, "routers", "r", attributestags.ReplaceAllOpts{Tags: []string{"a", "b"}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(routers.Get(ctx, network, "r").Extract()).To(And(HaveField("GatewayInfo.NetworkID", "y"), HaveField("Tags", ConsistOf("a", "b"))))

		written := log.Writes("cloud")
		Expect(written).To(HaveEach(And(HaveField("Name", "mine"), HaveField("ID", "r"), HaveField("Action", v1alpha1.PlannedActionChange))))
		Expect(written[0].Fields).To(ConsistOf(v1alpha1.PlannedField{
			Name: "external_gateway_info", From: `{"network_id": "x", "enable_snat": true}`, To: `{"network_id":"y"}`}))
		Expect(written[1].Fields).To(ConsistOf(v1alpha1.PlannedField{Name: "tags", From: `["a"]`, To: `["a","b"]`}))

		_, err = routers.Update(ctx, network, "gone", routers.UpdateOpts{Name: "x"}).Extract()
		Expect(client.IsNotFound(err)).To(BeTrue())
		Expect(requests()).To(HaveLen(3), "the request would be sent")
	})

	It("should treat rules as parts of their security group", func(ctx SpecContext) {
		answers["/network/v2.0/security-groups/g"] = `{"security_group": {"id": "g", "name": "mine", "security_group_rules": [
			{"id": "old", "security_group_id": "g", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 22,
				"port_range_max": 22, "remote_ip_prefix": "0.0.0.0/0"}]}}`
		_, err := groups.Get(ctx, network, "g").Extract()
		Expect(err).NotTo(HaveOccurred())
		_, err = rules.CreateBulk(ctx, network, []rules.CreateOpts{{SecGroupID: "g", Direction: rules.DirEgress, EtherType: rules.EtherType4,
			Protocol: rules.ProtocolUDP, PortRangeMin: 1, PortRangeMax: 9}}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(rules.Delete(ctx, network, "old").ExtractErr()).To(Succeed())
		Expect(groups.Get(ctx, network, "g").Extract()).To(HaveField("Rules", ConsistOf(HaveField("ID", "planned:security-group-rule-1"))))
		Expect(log.Writes("cloud")).To(HaveExactElements(
			And(HaveField("Name", "mine"), HaveField("Fields", ConsistOf(v1alpha1.PlannedField{Name: "rule", To: "egress IPv4 udp 1-9"}))),
			And(HaveField("Name", "mine"), HaveField("Fields",
				ConsistOf(v1alpha1.PlannedField{Name: "rule", From: "ingress IPv4 tcp 22 remote 0.0.0.0/0"}))),
		))

		created, err := groups.Create(ctx, network, groups.CreateOpts{Name: "new"}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(created.Rules).To(HaveEach(HaveField("Direction", "egress")))
		Expect(created.Rules).To(HaveLen(2))
	})

	It("should add and remove interfaces of routers", func(ctx SpecContext) {
		answers["/network/v2.0/ports"] = `{"ports": []}`
		subnet, err := subnets.Create(ctx, network, subnets.CreateOpts{NetworkID: "n", CIDR: "10.0.0.0/24", Name: "s", GatewayIP: new("10.0.0.1"),
			IPVersion: gophercloud.IPv4}).Extract()
		Expect(err).NotTo(HaveOccurred())
		_, err = routers.AddInterface(ctx, network, "r", routers.AddInterfaceOpts{SubnetID: subnet.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		list := func(options ports.ListOpts) []ports.Port {
			found, err := client.List(ctx, ports.List(network, options), ports.ExtractPorts)
			Expect(err).NotTo(HaveOccurred())
			return found
		}
		ofSubnet := ports.ListOpts{DeviceID: "r", FixedIPs: []ports.FixedIPOpts{{SubnetID: subnet.ID}}}
		Expect(list(ofSubnet)).To(ConsistOf(And(HaveField("NetworkID", "n"), HaveField("DeviceOwner", "network:router_interface"))))
		Expect(list(ports.ListOpts{DeviceID: "other"})).To(BeEmpty())
		Expect(list(ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{SubnetID: subnet.ID, IPAddress: "10.0.0.9"}}})).To(BeEmpty())
		_, err = routers.RemoveInterface(ctx, network, "r", routers.RemoveInterfaceOpts{SubnetID: subnet.ID}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(list(ofSubnet)).To(BeEmpty())
		_, err = routers.RemoveInterface(ctx, network, "r", routers.RemoveInterfaceOpts{SubnetID: subnet.ID}).Extract()
		Expect(client.IsNotFound(err)).To(BeTrue())
		Expect(requests()).To(HaveLen(4))
	})

	It("should hide what was deleted, and go on to the next page if nothing is left of one", func(ctx SpecContext) {
		answers["/compute/v2.1/servers/detail"] = `{"servers": [{"id": "1", "name": "one"}],
			"servers_links": [{"rel": "next", "href": "http://$HOST/compute/v2.1/servers/detail?marker=1"}]}`
		answers["/compute/v2.1/servers/detail?marker=1"] = `{"servers": [{"id": "2", "name": "two"}]}`
		answers["/network/v2.0/ports"] = `{"ports": [{"id": "p", "device_id": "1", "device_owner": "compute:az"}]}`
		list := func() ([]servers.Server, error) {
			return client.List(ctx, servers.List(compute, nil), servers.ExtractServers)
		}
		Expect(list()).To(HaveLen(2))
		Expect(servers.Delete(ctx, compute, "1").ExtractErr()).To(Succeed())
		Expect(list()).To(ConsistOf(HaveField("ID", "2")))
		Expect(log.Writes("cloud")).To(ConsistOf(And(HaveField("Name", "one"), HaveField("Action", v1alpha1.PlannedActionDelete))))
		Expect(client.List(ctx, ports.List(network, nil), ports.ExtractPorts)).To(ConsistOf(HaveField("DeviceID", "")))
		Expect(servers.ForceDelete(ctx, compute, "2").ExtractErr()).To(Succeed())
		Expect(list()).To(BeEmpty())
	})

	It("should show key pairs, whose name is their ID", func(ctx SpecContext) {
		answers["/compute/v2.1/os-keypairs"] = `{"keypairs": [{"keypair": {"name": "old", "public_key": "k"}}]}`
		Expect(keypairs.Create(ctx, compute, keypairs.CreateOpts{Name: "new", PublicKey: "k2"}).Extract()).To(HaveField("Name", "new"))
		Expect(keypairs.Get(ctx, compute, "new", nil).Extract()).To(HaveField("PublicKey", "k2"))
		Expect(keypairs.Delete(ctx, compute, "old", nil).ExtractErr()).To(Succeed())
		Expect(client.List(ctx, keypairs.List(compute, nil), keypairs.ExtractKeyPairs)).To(ConsistOf(HaveField("Name", "new")))
	})

	It("should refuse what it does not know, and not send it", func(ctx SpecContext) {
		for _, refused := range []error{
			servers.Create(ctx, compute, servers.CreateOpts{Name: "s", FlavorRef: "f", ImageRef: "i", Networks: "none"}, nil).Err,
			servers.Reboot(ctx, compute, "1", servers.RebootOpts{Type: servers.HardReboot}).Err,
			attributestags.Add(ctx, network, "networks", "n", "t").Err,
		} {
			Expect(client.Classify(refused)).To(MatchError(ContainSubstring("the plan does not know the effect of P")))
			Expect(platform.ClassOf(client.Classify(refused))).To(Equal(platform.ClassConfiguration))
		}
		_, err := network.Post(ctx, network.ServiceURL("trunks"), map[string]string{}, nil, nil)
		Expect(err).To(MatchError(ContainSubstring("/network/v2.0/trunks of the network API")))
		Expect(log.Writes("cloud")).To(BeEmpty())
		Expect(sent).To(BeEmpty())
	})

	It("should pass other reads as they are", func(ctx SpecContext) {
		answers["/compute/v2.1/limits"] = `{"limits": {}}`
		response, err := compute.Get(ctx, compute.ServiceURL("limits"), nil, &gophercloud.RequestOpts{KeepResponseBody: true})
		Expect(err).NotTo(HaveOccurred())
		Expect(io.ReadAll(response.Body)).To(BeEquivalentTo(`{"limits": {}}`))
		Expect(response.Body.Close()).To(Succeed())
	})
})
