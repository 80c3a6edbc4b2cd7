// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	library "k8s.io/cloud-provider-openstack/pkg/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const id = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"

var _ = Describe("Cloud provider", func() {
	It("has the fields that are set", func() {
		cloud := &library.OpenStack{}
		Expect(client.SetFields(cloud, map[string]any{"provider": &gophercloud.ProviderClient{}})).To(Succeed())
		err := client.SetFields(cloud, map[string]any{"provider": "a string"})
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		err = client.SetFields(cloud, map[string]any{"nothing": "a string"})
		Expect(err).To(MatchError(ContainSubstring(`no field "nothing" of type string`)))
	})

	It("has the settings of the site", func() {
		options, err := loadBalancerOptions(&v1alpha1.OpenStackLoadBalancer{
			Provider: "amphora", SubnetID: "subnet", FloatingNetworkID: "network", FloatingSubnetID: "floating",
			Classes: []v1alpha1.OpenStackLoadBalancerClass{{Name: "internal", NetworkID: "n", SubnetID: "s", FloatingNetworkID: "f",
				FloatingSubnetID: "fs"}},
		})
		Expect(err).NotTo(HaveOccurred())
		Expect(options).To(And(
			HaveField("Enabled", true), HaveField("LBProvider", "amphora"), HaveField("LBMethod", "ROUND_ROBIN"), HaveField("SubnetID", "subnet"),
			HaveField("FloatingNetworkID", "network"), HaveField("FloatingSubnetID", "floating"), HaveField("ManageSecurityGroups", false),
			HaveField("CreateMonitor", true), HaveField("MonitorDelay.Duration", time.Minute), HaveField("CascadeDelete", true),
			HaveField("LBClasses",
				HaveKeyWithValue("internal", &library.LBClass{NetworkID: "n", SubnetID: "s", FloatingNetworkID: "f", FloatingSubnetID: "fs"})),
		))
		options, err = loadBalancerOptions(&v1alpha1.OpenStackLoadBalancer{Provider: "ovn"})
		Expect(err).NotTo(HaveOccurred())
		Expect(options).To(And(HaveField("LBMethod", "SOURCE_IP_PORT"), HaveField("ManageSecurityGroups", true)))
	})

	It("has no load balancers where the site has none", func() {
		options, err := loadBalancerOptions(nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(options.Enabled).To(BeFalse())
	})
})

var _ = Describe("The version of the load balancing API", func() {
	// read reads the version of a site that gives the answer.
	read := func(ctx context.Context, answer string) error {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
		}))
		defer server.Close()
		return readVersion(ctx, &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/"}, "amphora")
	}
	const fine = `{"versions": [{"id": "v2.0", "status": "SUPPORTED"}, {"id": "v2.26", "status": "CURRENT"}]}`

	It("is read", func(ctx SpecContext) {
		Expect(read(ctx, fine)).To(Succeed())
		Expect(read(ctx, `{"versions": [{"id": "v2.5", "status": "CURRENT"}]}`)).To(Succeed())
	})

	DescribeTable("is refused at a site alone", func(ctx SpecContext, answer string) {
		for range 2 {
			err := read(ctx, answer)
			Expect(err).To(MatchError("loadBalancer: the load balancing API must have version 2.5 or later"))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(read(ctx, fine)).To(Succeed())
		}
	},
		Entry("if it is too old", `{"versions": [{"id": "v2.0", "status": "SUPPORTED"}, {"id": "v2.4", "status": "CURRENT"}]}`),
		Entry("if it is none", `{"versions": [{"id": "v2.26", "status": "SUPPORTED"}, {"id": "latest", "status": "CURRENT"}]}`),
		Entry("if it is empty", `{"versions": [{"status": "CURRENT"}]}`),
		Entry("if there is none", `{"versions": []}`),
	)

	DescribeTable("is not known", func(ctx SpecContext, answer string) {
		Expect(platform.ClassOf(read(ctx, answer))).To(Equal(platform.ClassTransient))
	},
		Entry("if the answer is no document", "<html>"),
		Entry("if the answer is another document", `{"versions": "v2.26"}`),
	)
})

// named describes all servers with the name that they have now.
type named string

func (named) InstanceExists(context.Context, *corev1.Node) (bool, error)   { return true, nil }
func (named) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }
func (n named) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{
		ProviderID:    node.Spec.ProviderID,
		NodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: string(n)}},
	}, nil
}

var _ = Describe("Machines", func() {
	const shoot, siteName = "shoot--local--a", "cloud"
	request := func(stub *openstackstub.Stub) platform.NodesRequest {
		return platform.NodesRequest{
			Shoot: shoot,
			Site: &v1alpha1.CloudControllerSite{Name: siteName, OpenStack: &v1alpha1.OpenStackCloudController{
				Connection: v1alpha1.OpenStackConnection{AuthURL: stub.AuthURL(), Region: openstackstub.Region},
				Zones: []v1alpha1.OpenStackCloudControllerZone{{Name: "cloud-a", AvailabilityZone: "nova"},
					{Name: "cloud-b", AvailabilityZone: "az 2"}},
			}},
			Credentials: site.Credentials{"domainName": "default", "tenantName": "p", "username": "u", "password": "p"},
			Client:      fake.NewClientset(),
		}
	}
	ownMetadata := func(machine string) map[string]string {
		metadata := owner.Owner{Shoot: shoot, Site: siteName}.Metadata()
		if machine != "" {
			metadata[owner.MetadataMachine] = machine
		}
		return metadata
	}
	start := func(metadata map[string]string) *openstackstub.Stub {
		GinkgoHelper()
		stub, err := openstackstub.New(openstackstub.Settings{Servers: []openstackstub.Servers{{Project: "p", Prefix: "machine-", Count: 1,
			Metadata: metadata}}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		return stub
	}

	DescribeTable("refuse a node that joins with the name or the ID of a server that is not its own",
		func(ctx SpecContext, metadata map[string]string, node *corev1.Node, class platform.Class) {
			opened, err := New(client.NewSessions()).Open(ctx, request(start(metadata)))
			Expect(err).NotTo(HaveOccurred())
			Expect(opened.OpenLoadBalancers).To(BeNil())
			_, err = opened.Machines.Describe(ctx, node)
			Expect(err).To(MatchError(HavePrefix(`site "cloud": `)))
			Expect(platform.ClassOf(err)).To(Equal(class))
		},
		Entry("of another shoot", owner.Owner{Shoot: "other", Site: siteName}.Metadata(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine-0"}}, platform.ClassNotFound),
		Entry("of another site", owner.Owner{Shoot: shoot, Site: "other"}.Metadata(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine-0"}}, platform.ClassNotFound),
		Entry("of another name", owner.Owner{Shoot: shoot, Site: siteName}.Metadata(),
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine"}}, platform.ClassNotFound),
		Entry("that does not exist", nil,
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "machine-0"},
				Spec: corev1.NodeSpec{ProviderID: "openstack:///" + id}}, platform.ClassNotFound),
	)

	DescribeTable("are described if they are those of their nodes, whatever they are called now",
		func(ctx SpecContext, metadata map[string]string, name string, initialized, byID bool, class platform.Class) {
			opened, err := New(client.NewSessions()).Open(ctx, request(start(metadata)))
			Expect(err).NotTo(HaveOccurred())
			m, ok := opened.Machines.(*machines)
			Expect(ok).To(BeTrue())
			m.instances = named("renamed-by-admin")
			existing, err := client.List(ctx, servers.List(m.compute, nil), servers.ExtractServers)
			Expect(err).NotTo(HaveOccurred())
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			if initialized {
				node.Labels = map[string]string{v1alpha1.LabelInitializedBy: "cloud"}
			}
			if byID {
				node.Spec.ProviderID = providerIDPrefix + existing[0].ID
			}
			described, err := opened.Machines.Describe(ctx, node)
			if class != "" {
				Expect(platform.ClassOf(err)).To(Equal(class))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(described.ProviderID).To(Equal(providerIDPrefix + existing[0].ID))
			Expect(described.Addresses).To(ContainElement(corev1.NodeAddress{Type: corev1.NodeHostName, Address: name}))
			Expect(existing[0].LaunchedAt).NotTo(BeZero())
			Expect(described.Birth).To(Equal(platform.BirthTimes{platform.BirthPowered: existing[0].LaunchedAt}))
		},
		Entry("as before", ownMetadata(""), "machine-00000", true, true, platform.Class("")),
		Entry("renamed", ownMetadata("m"), "m", true, true, platform.Class("")),
		Entry("renamed, before the node is initialized", ownMetadata("m"), "m", false, true, platform.Class("")),
		Entry("renamed, of version 0.1", ownMetadata(""), "m", true, true, platform.Class("")),
		Entry("but not that of another node", ownMetadata("other"), "m", true, true, platform.ClassConflict),
		Entry("but not that of another shoot", owner.Owner{Shoot: "other", Site: siteName}.Metadata(), "machine-00000", true, true,
			platform.ClassConflict),
		Entry("but not one without a mark", nil, "m", true, true, platform.ClassConflict),
		Entry("but not one that has the name of another one now", ownMetadata("other"), "machine-00000", false, false, platform.ClassNotFound),
	)

	It("are not opened with credentials of another project", func(ctx SpecContext) {
		r := request(start(nil))
		sessions := client.NewSessions()
		session, err := sessions.Get(ctx, siteName, r.Site.OpenStack.Connection, r.Credentials)
		Expect(err).NotTo(HaveOccurred())
		project, err := session.ProjectID()
		Expect(err).NotTo(HaveOccurred())

		r.Site.OpenStack.ProjectID, r.Site.OpenStack.LoadBalancer = project, &v1alpha1.OpenStackLoadBalancer{}
		opened, err := New(sessions).Open(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(opened.Machines).NotTo(BeNil())

		r.Credentials = site.Credentials{"domainName": "default", "tenantName": "other", "username": "u", "password": "p"}
		opened, err = New(sessions).Open(ctx, r)
		Expect(err).To(MatchError(And(HavePrefix(`site "cloud": credentials: `), ContainSubstring(project))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(opened.Machines).To(BeNil())
		Expect(opened.OpenLoadBalancers).To(BeNil())
	})

	It("do not exist if the site says so", func(ctx SpecContext) {
		opened, err := New(client.NewSessions()).Open(ctx, request(start(nil)))
		Expect(err).NotTo(HaveOccurred())
		Expect(opened.Machines.Exists(ctx, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "openstack:///" + id}})).To(BeFalse())
	})

	It("are not known if the site is down", func(ctx SpecContext) {
		stub := start(nil)
		opened, err := New(client.NewSessions()).Open(ctx, request(stub))
		Expect(err).NotTo(HaveOccurred())
		Expect(stub.Close()).To(Succeed())
		_, err = opened.Machines.Exists(ctx, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "openstack:///" + id}})
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(errors.Unwrap(err)).To(HaveOccurred())
		_, err = New(client.NewSessions()).Open(ctx, request(stub))
		Expect(err).To(HaveOccurred())
	})

	DescribeTable("are in the zones of their availability zone", func(availabilityZone string, zones []string) {
		m := &machines{zones: []v1alpha1.OpenStackCloudControllerZone{{Name: "a", AvailabilityZone: "nova"},
			{Name: "b", AvailabilityZone: "nova"}, {Name: "c", AvailabilityZone: "az 2"}}}
		Expect(m.zonesOf(availabilityZone)).To(Equal(zones))
	},
		Entry("two", "nova", []string{"a", "b"}),
		Entry("one, as a label", "az-2", []string{"c"}),
		Entry("none", "az3", nil),
	)

	DescribeTable("have provider IDs", func(id string, ok bool) {
		Expect((&machines{}).HasProviderID(id)).To(Equal(ok))
	},
		Entry("own", "openstack:///"+id, true),
		Entry("with a region", "openstack://RegionOne/"+id, false),
		Entry("no scheme, which the library takes for one", id, false),
		Entry("of another platform", "vsphere://"+id, false),
		Entry("no UUID", "openstack:///server", false),
		Entry("empty", "", false),
	)
})
