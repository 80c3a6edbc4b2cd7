// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machineclasses

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

func newRequest() platform.MachineClassRequest {
	return platform.MachineClassRequest{
		Site: &site.Site{Name: "cloud",
			Profile: &v1alpha1.CloudProfileSite{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "http://127.0.0.1:1/v3"}}},
		Status:      &v1alpha1.SiteStatus{Name: "cloud", OpenStack: &v1alpha1.OpenStackStatus{}},
		Zone:        &v1alpha1.SiteZone{Name: "cloud-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}},
		MachineType: &v1alpha1.SiteMachineType{OpenStack: &v1alpha1.OpenStackMachineType{Flavor: "m1.tiny"}},
		Image:       &v1alpha1.SiteMachineImage{OpenStack: &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}},
	}
}

var _ = Describe("MachineClasses", func() {
	DescribeTable("should name what is not said about the site, without asking it",
		func(ctx SpecContext, change func(*platform.MachineClassRequest), message string) {
			request := newRequest()
			change(&request)
			spec := &v1alpha1.MachineProviderSpec{}
			err := New(client.NewSessions()).Resolve(ctx, request, spec)
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": `), ContainSubstring(message))))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(spec.OpenStack).To(BeNil())
		},
		Entry("site left the CloudProfile", func(r *platform.MachineClassRequest) { r.Site.Profile = nil }, "CloudProfile"),
		Entry("site changed its platform", func(r *platform.MachineClassRequest) { r.Site.Profile.OpenStack = nil }, "CloudProfile"),
		Entry("no status", func(r *platform.MachineClassRequest) { r.Status = nil }, "providerStatus"),
		Entry("status of another platform", func(r *platform.MachineClassRequest) { r.Status.OpenStack = nil }, "providerStatus"),
		Entry("no zone", func(r *platform.MachineClassRequest) { r.Zone = nil }, "zone"),
		Entry("zone of another platform", func(r *platform.MachineClassRequest) { r.Zone.OpenStack = nil }, "zone"),
		Entry("no machine type", func(r *platform.MachineClassRequest) { r.MachineType = nil }, "machine type"),
		Entry("machine type of another platform", func(r *platform.MachineClassRequest) { r.MachineType.OpenStack = nil }, "machine type"),
		Entry("no image", func(r *platform.MachineClassRequest) { r.Image = nil }, "machine image"),
		Entry("image of another platform", func(r *platform.MachineClassRequest) { r.Image.OpenStack = nil }, "machine image"),
		Entry("credentials without a key", func(r *platform.MachineClassRequest) {
			r.Site.Credentials = site.Credentials{"domainName": "d", "tenantName": "t", "username": "u"}
		}, `"password"`),
	)

	DescribeTable("should refuse security groups of other shoots",
		func(ctx SpecContext, name string, allowed []string, message string) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				description := ""
				switch r.URL.Query().Get("name") {
				case "foreign":
					description = owner.Owner{Shoot: "shoot--local--b", Site: "cloud"}.Description()
				case "service":
					description = "Security Group for default/web Service LoadBalancer in cluster shoot--local--b"
				case "own":
					description = owner.Owner{Shoot: "shoot--local--a", Site: "other"}.Description()
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"security_groups": []any{map[string]string{"id": "1", "description": description}}})
			}))
			DeferCleanup(api.Close)
			network := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: api.URL + "/"}
			l := &lookup{network: func(context.Context) (*gophercloud.ServiceClient, error) { return network, nil }}
			ids, err := l.securityGroups(ctx, owner.Owner{Shoot: "shoot--local--a", Site: "cloud"}, allowed, []string{name})
			if message == "" {
				Expect(err).NotTo(HaveOccurred())
				Expect(ids).To(Equal([]string{"1"}))
				return
			}
			Expect(err).To(MatchError(message))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		},
		Entry("one of another shoot", "foreign", nil, `additionalSecurityGroups: "foreign" was not made for this shoot and cannot be used`),
		Entry("one of a Service of another shoot", "service", nil,
			`additionalSecurityGroups: "service" was not made for this shoot and cannot be used`),
		Entry("unless shoots may name it", "foreign", []string{"foreign"}, ""),
		Entry("but not those of the shoot", "own", nil, ""),
		Entry("and not those of nobody", "db", nil, ""),
	)

	DescribeTable("should boot from a volume only if the pool asks for a volume type",
		func(volumeType *v1alpha1.SiteVolumeType, size int, expected *v1alpha1.OpenStackRootDisk) {
			request := newRequest()
			request.VolumeType, request.VolumeSize = volumeType, size
			Expect(rootDisk(request)).To(Equal(expected))
		},
		Entry("no volume", nil, 0, nil),
		Entry("size only", nil, 20, nil),
		Entry("type and size", &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}}, 20,
			&v1alpha1.OpenStackRootDisk{Type: "ssd", Size: 20}),
	)

	DescribeTable("should take the type of a data volume from the pool's settings for the site, else from the CloudProfile",
		func(volume platform.DataVolume, expected v1alpha1.OpenStackDataDisk) {
			request := newRequest()
			request.DataVolumes = []platform.DataVolume{volume}
			Expect(dataDisks(request)).To(HaveExactElements(expected))
		},
		Entry("neither", platform.DataVolume{Name: "logs", Size: 20}, v1alpha1.OpenStackDataDisk{Name: "logs", Size: 20}),
		Entry("CloudProfile",
			platform.DataVolume{Name: "logs", Size: 20, Type: &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "hdd"}}},
			v1alpha1.OpenStackDataDisk{Name: "logs", Size: 20, Type: "hdd"}),
		Entry("both", platform.DataVolume{
			Name: "logs", Size: 20, Type: &v1alpha1.SiteVolumeType{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "hdd"}},
			Settings: v1alpha1.WorkerDataVolumeSite{OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}},
		}, v1alpha1.OpenStackDataDisk{Name: "logs", Size: 20, Type: "ssd"}),
	)

	It("should write the labels of the machines and the pool into the metadata, and let no label pretend another pool", func() {
		labels := []v1alpha1.OpenStackMachineLabel{{Name: "cost-centre", Value: "7"}, {Name: "kubernetes.io-role-foo", Value: "1"},
			{Name: "gardener-pool", Value: "other"}}
		Expect(metadata("batch",
			labels)).To(Equal(map[string]string{"cost-centre": "7", "kubernetes.io-role-foo": "1", "gardener-pool": "batch"}))
	})

	It("should locate a site without asking it", func() {
		s := newRequest().Site
		Expect(New(client.NewSessions()).Locate(s, nil)).To(HaveExactElements(&v1alpha1.MachineProviderSpec{
			Site: s.Name, Shoot: s.Shoot, OpenStack: &v1alpha1.OpenStackMachineSpec{
				Connection: v1alpha1.OpenStackConnection{AuthURL: "http://127.0.0.1:1/v3"},
			},
		}))
	})

	It("should locate a site in the project of its status", func() {
		request := newRequest()
		request.Status.OpenStack.ProjectID = "p"
		Expect(New(client.NewSessions()).Locate(request.Site, request.Status)).To(HaveExactElements(HaveField("OpenStack.ProjectID", "p")))
	})

	It("should resolve nothing with credentials of another project than that of the status", func(ctx SpecContext) {
		stub, err := openstackstub.New(openstackstub.Settings{Flavors: []string{"m1.tiny"}, Images: []string{"gardenlinux"}})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stub.Close)
		request := newRequest()
		request.Site.Profile.OpenStack = &v1alpha1.OpenStackProfile{AuthURL: stub.AuthURL(), Region: openstackstub.Region}
		request.Site.Credentials = site.Credentials{"domainName": "d", "tenantName": "t", "username": "u", "password": "p"}
		sessions, spec := client.NewSessions(), &v1alpha1.MachineProviderSpec{}
		session, err := sessions.Get(ctx, "cloud", client.ConnectionOf(request.Site.Profile), request.Site.Credentials)
		Expect(err).NotTo(HaveOccurred())
		project, err := session.ProjectID()
		Expect(err).NotTo(HaveOccurred())

		request.Status.OpenStack.ProjectID = project
		Expect(New(sessions).Resolve(ctx, request, spec)).To(Succeed())
		Expect(spec.OpenStack.ProjectID).To(Equal(project))

		request.Status.OpenStack.ProjectID, spec = "former", &v1alpha1.MachineProviderSpec{}
		err = New(sessions).Resolve(ctx, request, spec)
		Expect(err).To(MatchError(And(HavePrefix(`site "cloud": credentials: `), ContainSubstring(`in project "former"`))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(spec.OpenStack).To(BeNil())
	})

	It("should neither locate nor clean up a site that left the CloudProfile", func(ctx SpecContext) {
		parts := New(client.NewSessions())
		message := `site "cloud": the CloudProfile no longer has an OpenStack site of this name`
		_, err := parts.Locate(&site.Site{Name: "cloud"}, nil)
		Expect(err).To(MatchError(message))
		Expect(parts.(platform.Cleaner).CleanUp(ctx, &site.Site{Name: "cloud"}, nil)).To(MatchError(message))
	})
})
