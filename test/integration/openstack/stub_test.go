// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servergroups"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

// answering is what answers to the same requests: the real OpenStack or the stub.
type answering struct {
	compute, network, image *gophercloud.ServiceClient
}

func newAnswering(ctx SpecContext, authURL, region, domain, project, user, password string) answering {
	GinkgoHelper()
	provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: authURL, Username: user, Password: password, DomainName: domain, TenantName: project,
	})
	Expect(err).NotTo(HaveOccurred())
	options := gophercloud.EndpointOpts{Region: region}
	a := answering{}
	a.compute, err = gopheropenstack.NewComputeV2(provider, options)
	Expect(err).NotTo(HaveOccurred())
	a.network, err = gopheropenstack.NewNetworkV2(provider, options)
	Expect(err).NotTo(HaveOccurred())
	a.image, err = gopheropenstack.NewImageV2(provider, options)
	Expect(err).NotTo(HaveOccurred())
	return a
}

// get returns the status and the body of an answer.
func get(ctx SpecContext, service *gophercloud.ServiceClient, path string) (int, string) {
	GinkgoHelper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.ServiceURL(path), nil)
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Auth-Token", service.Token())
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(body)
}

// shapeOf has the type of each value of a JSON document by its path, without those that are null or names of a user's choice.
func shapeOf(body string) map[string]string {
	GinkgoHelper()
	var document any
	Expect(json.Unmarshal([]byte(body), &document)).To(Succeed(), body)
	shape := map[string]string{}
	addShape(shape, "", document)
	return shape
}

// reads are the fields of answers that the product reads: those of the stub have them if the real ones do. An element of a list that is not
// empty has a field.
var reads = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`id name status created fault message code metadata addr addresses flavor image key_name ram vcpus disk
		public_key fingerprint policy policies members zoneName available absolute maxTotalInstances maxTotalCores maxTotalRAMSize
		totalInstancesUsed totalCoresUsed totalRAMUsed
		device_id fixed_ips ip_address subnet_id network_id tags description cidr gateway_ip enable_dhcp dns_nameservers external_gateway_info
		enable_snat external_fixed_ips router:external subnets security_group_rules direction ethertype
		protocol port_range_min port_range_max remote_ip_prefix
		remote_group_id allowed_address_pairs mtu min_disk visibility`) {
		reads[name] = true
	}
}

func addShape(shape map[string]string, at string, value any) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, member := range v {
			if path.Base(at) == "addresses" {
				key = "*"
			}
			addShape(shape, at+"/"+key, member)
		}
	case []any:
		shape[at] = "list"
		for _, element := range v {
			addShape(shape, at+"[]", element)
		}
	default:
		shape[at] = fmt.Sprintf("%T", v)
	}
}

// serverGroup makes a server group in the version of the API in which the product does, and returns it as the list of all groups has it.
// The project has groups of other suites, too.
func serverGroup(ctx SpecContext, a answering, name string) string {
	GinkgoHelper()
	compute := *a.compute
	compute.Microversion = "2.64"
	made, err := servergroups.Create(ctx, &compute, servergroups.CreateOpts{Name: name, Policy: "soft-anti-affinity"}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { Expect(servergroups.Delete(ctx, &compute, made.ID).ExtractErr()).To(Succeed()) })
	response := struct {
		Groups []json.RawMessage `json:"server_groups"`
	}{}
	_, err = compute.Get(ctx, compute.ServiceURL("os-server-groups"), &response, nil)
	Expect(err).NotTo(HaveOccurred())
	at := slices.IndexFunc(response.Groups, func(group json.RawMessage) bool { return strings.Contains(string(group), made.ID) })
	Expect(at).To(BeNumerically(">=", 0))
	return string(response.Groups[at])
}

var _ = Describe("Stub of OpenStack", func() {
	It("should answer as the real one does", func(ctx SpecContext) {
		sessions := newSessions()
		shoot, resolve := newMachineSite(ctx, sessions)
		part := machines.New(sessions)
		spec := resolve(ctx, "m1.tiny")
		DeferCleanup(func(ctx SpecContext) { deleteMachines(ctx, spec) })
		create := func(spec *v1alpha1.MachineProviderSpec) string {
			GinkgoHelper()
			request := platform.MachineRequest{Name: shoot + "-stub", Spec: spec, Credentials: siteCredentials()}
			created, err := part.Create(ctx, request)
			Expect(err).NotTo(HaveOccurred())
			return path.Base(created.ProviderID)
		}
		real := newAnswering(ctx, credentials.AuthURL, credentials.Region, credentials.Domain, credentials.Project, credentials.Username,
			credentials.Password)
		realServer := create(spec)
		Eventually(func() string { _, body := get(ctx, real.compute, "servers/"+realServer); return body }).
			WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(ContainSubstring(`"ACTIVE"`))

		stub, err := openstackstub.New(openstackstub.Settings{Flavors: []string{"m1.tiny"}, Images: []string{"gardenlinux"}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		s := newSite(shoot)
		s.Profile.OpenStack.AuthURL, s.Profile.OpenStack.Region = stub.AuthURL(), openstackstub.Region
		_, err = infrastructure.New(sessions).Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		stubSpec := spec.DeepCopy()
		stubSpec.OpenStack.Connection.AuthURL = stub.AuthURL()
		stubSpec.OpenStack.ProjectID = s.State.OpenStack.ProjectID
		stubSpec.OpenStack.NetworkID, stubSpec.OpenStack.SubnetID = s.State.OpenStack.Network.ID, s.State.OpenStack.Subnet.ID
		stubServer := create(stubSpec)
		stubbed := newAnswering(ctx, stub.AuthURL(), openstackstub.Region, credentials.Domain, credentials.Project, credentials.Username,
			credentials.Password)

		name := owner.Owner{Shoot: shoot, Site: "cloud"}.Name()
		future := url.QueryEscape(time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
		var missing []string
		compareBodies := func(of, realBody, stubBody string) {
			GinkgoHelper()
			known, stubbed := shapeOf(realBody), shapeOf(stubBody)
			for at, kind := range known {
				// A key pair is known by its name, and of rules nobody reads tags.
				if reads[path.Base(strings.TrimSuffix(at, "[]"))] && stubbed[at] != kind && at != "/keypair/id" &&
					!strings.HasSuffix(at, "_rules[]/tags") {
					missing = append(missing, fmt.Sprintf("%s: %s", of, at))
				}
			}
			for at, kind := range stubbed {
				if strings.Contains(at, "metadata") {
					continue
				}
				Expect(known).To(HaveKeyWithValue(at, kind), "%s, the real answer is %s", of, realBody)
			}
		}
		compare := func(of func(answering) *gophercloud.ServiceClient, realPath, stubPath string) {
			GinkgoHelper()
			realStatus, realBody := get(ctx, of(real), realPath)
			stubStatus, stubBody := get(ctx, of(stubbed), stubPath)
			Expect(stubStatus).To(Equal(realStatus), stubPath)
			compareBodies(stubPath, realBody, stubBody)
		}
		compute := func(a answering) *gophercloud.ServiceClient { return a.compute }
		network := func(a answering) *gophercloud.ServiceClient { return a.network }
		image := func(a answering) *gophercloud.ServiceClient { return a.image }

		for _, same := range []string{
			"servers?name=^" + shoot + "-", "servers/detail?name=^" + shoot + "-", "servers/detail?limit=1&name=^" + shoot,
			"servers?name=^none-", "servers/detail?changes-since=" + future, "servers/none", "flavors/detail", "limits",
			"os-availability-zone", "os-keypairs/none", "os-keypairs/" + spec.OpenStack.KeyName,
		} {
			compare(compute, same, same)
		}
		compareBodies("os-server-groups", serverGroup(ctx, real, shoot+"-stub"), serverGroup(ctx, stubbed, shoot+"-stub"))
		compare(compute, "servers/"+realServer, "servers/"+stubServer)
		compare(image, "images?name=gardenlinux", "images?name=gardenlinux")
		for _, kind := range []string{"networks", "subnets", "routers", "security-groups"} {
			compare(network, kind+"?name="+name, kind+"?name="+name)
			compare(network, kind+"?name=none", kind+"?name=none")
		}
		compare(network, "networks?router:external=true&name=public", "networks?router:external=true&name=public")
		compare(network, "ports?device_id="+realServer, "ports?device_id="+stubServer)
		compare(network, "ports/none", "ports/none")
		Expect(missing).To(BeEmpty(), "fields that are read and that the stub's answers lack")
	}, SpecTimeout(6*time.Minute))
})
