// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"gopkg.in/gcfg.v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// driverConfig is what the driver reads of its file, with its names.
type driverConfig struct {
	Global struct {
		ClusterID           string `gcfg:"cluster-id"`
		ClusterDistribution string `gcfg:"cluster-distribution"`
		CAFile              string `gcfg:"ca-file"`
		Thumbprint          string `gcfg:"thumbprint"`
	}
	VirtualCenter map[string]*driverVCenter
	Labels        struct {
		TopologyCategories string `gcfg:"topology-categories"`
	}
}

type driverVCenter struct {
	User         string `gcfg:"user"`
	Password     string `gcfg:"password"`
	Port         string `gcfg:"port"`
	Datacenters  string `gcfg:"datacenters"`
	InsecureFlag bool   `gcfg:"insecure-flag"`
}

func parse(storage *platform.Storage) driverConfig {
	GinkgoHelper()
	var result driverConfig
	Expect(gcfg.ReadStringInto(&result, storage.Files["csi-vsphere.conf"])).To(Succeed())
	return result
}

var _ = Describe("configuration of the driver", func() {
	storageOf := func(sites ...platform.ControlPlaneSite) *platform.Storage {
		GinkgoHelper()
		storage, err := New().Storage(sites)
		Expect(err).NotTo(HaveOccurred())
		return storage
	}

	It("should have a section for each vCenter", func() {
		storage := storageOf(east(), west())
		config := parse(storage)
		Expect(config.Global.ClusterID).To(Equal("shoot--demo--hybrid"))
		Expect(config.Global.ClusterDistribution).To(Equal("Gardener"))
		Expect(config.Global.CAFile).To(Equal("/etc/cloud/ca.crt"))
		Expect(config.Labels.TopologyCategories).To(Equal("k8s-region,k8s-zone"))
		Expect(config.VirtualCenter).To(HaveLen(2))
		Expect(*config.VirtualCenter["vc-east.example.com"]).To(Equal(driverVCenter{User: "k8s-east@vsphere.local", Password: "secret-east",
			Port: "443", Datacenters: "/dc-east"}))
		Expect(*config.VirtualCenter["vc-west.example.com"]).To(Equal(driverVCenter{User: "k8s-west@vsphere.local", Password: "secret-west",
			Port: "8443", Datacenters: "/dc-west"}))
		Expect(storage.Files["ca.crt"]).To(Equal(east().Site.Profile.TLS.CACert + west().Site.Profile.TLS.CACert))
	})

	It("should have one section for two sites at one vCenter", func() {
		other := newSite("other", "https://VC-east.example.com/sdk", "other-1")
		other.Site.Credentials = east().Site.Credentials
		other.Site.Profile.TLS = east().Site.Profile.TLS
		other.Site.Profile.Zones[0].VSphere.Datacenter = "/folder/dc-3"
		config := parse(storageOf(east(), other))
		Expect(config.VirtualCenter).To(HaveLen(1))
		Expect(config.VirtualCenter["vc-east.example.com"].Datacenters).To(Equal("/dc-east,/dc-other,/folder/dc-3"))
	})

	DescribeTable("should carry every password", func(password string) {
		site := east()
		site.Site.Credentials["password"] = password
		Expect(parse(storageOf(site)).VirtualCenter["vc-east.example.com"].Password).To(Equal(password))
	},
		Entry("quotation marks", `a"b"`),
		Entry("backslashes", `a\b\\n\`),
		Entry("comment signs", `a#b;c`),
		Entry("brackets and equals signs", `[Global] = x`),
		Entry("spaces around", "  a b  "),
		Entry("other scripts", "пароль-密码-🔑"),
		Entry("dollars and braces", `${HOME}{{ .Values }}%41`),
	)

	Describe("with credentials that cannot be used", func() {
		var (
			deployed        map[string]string
			eastUp, eastOld = "k8s-east@vsphere.local", "secret-east"
		)
		BeforeEach(func() { deployed = storageOf(east(), west()).Files })
		login := func(s platform.ControlPlaneSite, username, password string) platform.ControlPlaneSite {
			s.Site.Credentials = site.Credentials{"username": username, "password": password}
			return s
		}
		try := func(sites ...platform.ControlPlaneSite) (*platform.Storage, error) {
			GinkgoHelper()
			for i := range sites {
				sites[i].Deployed = deployed
			}
			storage, err := New().Storage(sites)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			var ofCredentials *platform.CredentialsError
			Expect(errors.As(err, &ofCredentials)).To(BeTrue())
			Expect(err).NotTo(MatchError(ContainSubstring("s3cr3t")))
			return storage, err
		}

		DescribeTable("should keep the login of the site, and change that of others", func(username, password, message string) {
			storage, err := try(login(east(), username, password), login(west(), "new@d", "new"))
			Expect(err).To(MatchError(And(HavePrefix(`site "east": credentials: `), ContainSubstring(message))))
			config := parse(storage)
			Expect(*config.VirtualCenter["vc-east.example.com"]).To(Equal(driverVCenter{User: eastUp, Password: eastOld, Port: "443",
				Datacenters: "/dc-east"}))
			Expect(*config.VirtualCenter["vc-west.example.com"]).To(And(HaveField("User", "new@d"), HaveField("Password", "new")))
			Expect(storage.Shoot).To(Equal(ShootValues{Sites: []string{"east", "west"}}))
			Expect(storage.Classes).To(HaveLen(2))
		},
			Entry("no credentials", "", "", `key "username" is missing`),
			Entry("no password", "u@d", "", `key "password" is missing`),
			Entry("a user without a domain", "s3cr3t", "s3cr3t", "username must be <user>@<domain>"),
			Entry("line breaks", "u@d", "s3cr3t\n[Labels]\n", `key "password" must be text`),
			Entry("no text", "u@d", "s3cr3t\xff", `key "password" must be text`),
		)

		It("should keep passwords with quotation marks and backslashes", func() {
			const password = `a"b\\c\n#;`
			deployed = storageOf(login(east(), eastUp, password), west()).Files
			storage, _ := try(login(east(), eastUp, ""), west())
			Expect(parse(storage).VirtualCenter["vc-east.example.com"].Password).To(Equal(password))
		})

		It("should leave a vCenter out that has no login yet, and bring the driver to its nodes", func() {
			deployed = nil
			storage, err := try(login(east(), "", ""), west())
			Expect(err).To(MatchError(And(HavePrefix(`site "east": credentials: `), HaveSuffix("; it has no volumes until they can be used"))))
			Expect(parse(storage).VirtualCenter).To(And(HaveLen(1), HaveKey("vc-west.example.com")))
			Expect(storage.Shoot).To(Equal(ShootValues{Sites: []string{"east", "west"}}))
		})

		It("should be no driver if no vCenter has a login yet", func() {
			deployed = nil
			storage, err := try(login(east(), "", ""))
			Expect(err).To(HaveOccurred())
			Expect(storage).To(BeNil())
		})

		Describe("of one of two sites at a vCenter", func() {
			other := func() platform.ControlPlaneSite {
				s := newSite("other", "https://vc-east.example.com", "other-1")
				s.Site.Profile.TLS, s.Site.Credentials = east().Site.Profile.TLS, east().Site.Credentials
				return s
			}
			BeforeEach(func() { deployed = storageOf(east(), other()).Files })

			DescribeTable("should be those of the other, also when it gets new ones", func(first bool) {
				sites := []platform.ControlPlaneSite{login(east(), eastUp, "new"), login(other(), eastUp, "")}
				if first {
					sites[0], sites[1] = login(east(), eastUp, ""), login(other(), eastUp, "new")
				}
				storage, _ := try(sites...)
				Expect(parse(storage).VirtualCenter["vc-east.example.com"]).To(And(HaveField("Password", "new"),
					HaveField("Datacenters", "/dc-east,/dc-other")))
			},
				Entry("the first has none", true),
				Entry("the second has none", false),
			)

			DescribeTable("should stay if they are not the same, because nobody knows which of them work", func(first, second string) {
				storage, err := try(login(east(), eastUp, first), login(other(), eastUp, second))
				Expect(err).To(MatchError(ContainSubstring(`site "other": credentials: password must be that of site "east"`)))
				Expect(parse(storage).VirtualCenter["vc-east.example.com"]).To(HaveField("Password", eastOld))
			},
				Entry("the first is new", "new", eastOld),
				Entry("the second is new", eastOld, "new"),
				Entry("both are new", "new", "newer"),
			)
		})

		It("should be an error of all if what is deployed cannot be read, without a word of it", func() {
			deployed = map[string]string{"csi-vsphere.conf": "[VirtualCenter \"s3cr3t"}
			bad := login(east(), "", "")
			bad.Deployed = deployed
			storage, err := New().Storage([]platform.ControlPlaneSite{bad})
			Expect(err).To(MatchError(And(ContainSubstring("the configuration that is deployed cannot be read"), Not(ContainSubstring("s3cr3t")))))
			Expect(storage).To(BeNil())
		})
	})

	DescribeTable("should say how one vCenter is trusted", func(tls *v1alpha1.TLS, caFile, thumbprint string, insecure bool) {
		storage := storageOf(vsphere(east(), func(p *v1alpha1.CloudProfileSite) { p.TLS = tls }))
		config := parse(storage)
		Expect(config.Global.CAFile).To(Equal(caFile))
		Expect(config.Global.Thumbprint).To(Equal(thumbprint))
		Expect(config.VirtualCenter["vc-east.example.com"].InsecureFlag).To(Equal(insecure))
		Expect(storage.Files).To(HaveLen(map[bool]int{true: 2, false: 1}[caFile != ""]))
	},
		Entry("by an authority", &v1alpha1.TLS{CACert: "PEM"}, "/etc/cloud/ca.crt", "", false),
		Entry("by the authorities of the system", nil, "", "", false),
		Entry("by a thumbprint with colons", &v1alpha1.TLS{Thumbprint: "5a:3c:ff"}, "", "5A:3C:FF", false),
		Entry("by a thumbprint without colons", &v1alpha1.TLS{Thumbprint: "5a3cff"}, "", "5A:3C:FF", false),
		Entry("always", &v1alpha1.TLS{InsecureSkipVerify: true}, "", "", true),
	)

	It("should have an authority that two vCenters share once", func() {
		ca := func(p *v1alpha1.CloudProfileSite) { p.TLS = &v1alpha1.TLS{CACert: "PEM"} }
		Expect(storageOf(vsphere(east(), ca), vsphere(west(), ca)).Files["ca.crt"]).To(Equal("PEM\n"))
	})

	It("should reach the API server and vCenters without a proxy directly", func() {
		storage := storageOf(vsphere(east(), func(p *v1alpha1.CloudProfileSite) {
			p.Proxy = &v1alpha1.Proxy{URL: "http://proxy:3128", NoProxy: []string{"10.0.0.0/8"}}
		}), west())
		Expect(storage.ControlPlane).To(Equal(SeedValues{Proxy: &ProxyValues{
			URL:     "http://proxy:3128",
			NoProxy: ".svc,.svc.cluster.local,10.0.0.0/8,127.0.0.1,kube-apiserver,localhost,vc-west.example.com",
		}}))
		Expect(storageOf(east()).ControlPlane).To(Equal(SeedValues{}))
	})
})
