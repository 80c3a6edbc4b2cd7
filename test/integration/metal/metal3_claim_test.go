// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// networkDataTemplate is network data with an address from a pool.
const networkDataTemplate = `{"links": [{"id": "$HOST", "type": "phy", "ethernet_mac_address": "$MAC"}], "networks": [{"id": "nodes", ` +
	`"link": "$HOST", "type": "ipv4", "ip_address": "$ADDRESS/$PREFIX", "gateway": "$GATEWAY", "dns_nameservers": $DNS_SERVERS_JSON}]}`

var _ = Describe("Machines on hosts of Metal3", func() {
	It("are told what they are, and run", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		driver := newDriver()
		created, err := driver.Create(ctx, t.request("a"))
		Expect(err).NotTo(HaveOccurred())
		Expect(created).To(Equal(platform.Machine{
			Name: t.machine("a"), NodeName: t.machine("a"), ProviderID: "metal3://hosts/" + hosts[0] + "/" + t.machine("a"),
		}))

		secret := secretOf(ctx, t.machine("a"))
		Expect(secret.Labels).To(HaveKeyWithValue("environment.metal3.io", "baremetal"))
		Expect(secret.OwnerReferences).To(ConsistOf(HaveField("Name", hosts[0])))
		Expect(secret.Data).To(HaveKeyWithValue("userData", []byte("#!/bin/bash\n")))
		var meta map[string]string
		Expect(json.Unmarshal(secret.Data["metaData"], &meta)).To(Succeed())
		Expect(meta).To(Equal(map[string]string{
			"name": t.machine("a"), "local-hostname": t.machine("a"), "local_hostname": t.machine("a"),
			"providerid": created.ProviderID, "machine": t.machine("a"), "host": hosts[0],
		}))

		Eventually(ctx, bareMetalHost(ctx, hosts[0]),
			soon).Should(And(HaveField("State", "provisioned"), HaveField("On", true), HaveField("Image", image)))
		request := t.request("a")
		request.ProviderID = created.ProviderID
		Expect(driver.Get(ctx, request)).To(Equal(created))
		Expect(driver.List(ctx, t.request(""))).To(ConsistOf(created))
		Expect(driver.Initialize(ctx, request)).To(Succeed())
	})

	It("can have nodes with the names of their hosts, and network data with an address", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		Expect(landscape.MakePool(ctx,
			metal.Pool{Name: t.rack, Addresses: []string{"10.250.140.1-10.250.140.9"}, Prefix: 18, Gateway: "10.250.128.1"})).To(Succeed())
		t.nodeName = v1alpha1.MetalNodeNameHost
		t.network = &v1alpha1.MetalMachineNetwork{
			PoolRef:    &corev1.TypedLocalObjectReference{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "GlobalInClusterIPPool", Name: t.rack},
			Template:   networkDataTemplate,
			DNSServers: []string{"192.0.2.53"},
		}
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).To(HaveField("NodeName", hosts[0]))
		secret := secretOf(ctx, t.machine("a"))
		Expect(string(secret.Data["metaData"])).To(ContainSubstring(fmt.Sprintf(`"local-hostname":%q`, hosts[0])))
		Expect(string(secret.Data["networkData"])).To(And(
			MatchRegexp(`"id": "%s", "type": "phy", "ethernet_mac_address": "[0-9a-f:]{17}"`, hosts[0]),
			MatchRegexp(`"ip_address": "10\.250\.140\.[1-9]/18", "gateway": "10\.250\.128\.1", "dns_nameservers": \["192\.0\.2\.53"\]`)))
		Expect(newDriver().Get(ctx, withID(t.request("a"), hosts[0]))).To(HaveField("NodeName", hosts[0]))

		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioned"))
		Expect(landscape.Addresses(ctx)).To(HaveKey(t.machine("a")))
		t.remove(ctx, driver, "a")
		Eventually(ctx, func() (map[string]string, error) { return landscape.Addresses(ctx) }, soon).ShouldNot(HaveKey(t.machine("a")))
	})

	It("give their addresses back when their site gives none any more", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		Expect(landscape.MakePool(ctx,
			metal.Pool{Name: t.rack, Addresses: []string{"10.250.141.1-10.250.141.9"}, Prefix: 18, Gateway: "10.250.128.1"})).To(Succeed())
		t.network = &v1alpha1.MetalMachineNetwork{
			PoolRef:  &corev1.TypedLocalObjectReference{APIGroup: new("ipam.cluster.x-k8s.io"), Kind: "GlobalInClusterIPPool", Name: t.rack},
			Template: networkDataTemplate, DNSServers: []string{"192.0.2.53"},
		}
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioned"))
		Expect(landscape.Addresses(ctx)).To(HaveKey(t.machine("a")))

		t.network = nil
		t.remove(ctx, driver, "a")
		Eventually(ctx, func() (map[string]string, error) { return landscape.Addresses(ctx) }, soon).ShouldNot(HaveKey(t.machine("a")))
	})

	It("are claimed once each by many at the same time, and the rest is told that there is no host", func(ctx SpecContext) {
		const (
			processes = 4
			wanted    = 50
			count     = 40
		)
		t, hosts := newTenants(ctx, count)
		drivers := make([]platform.Machines, processes)
		for n := range drivers {
			drivers[n] = newDriver()
		}
		var (
			mutex     sync.Mutex
			group     sync.WaitGroup
			claimed   = map[string]string{}
			exhausted []error
			slowest   time.Duration
		)
		for n := range wanted {
			name := fmt.Sprint(n)
			group.Go(func() {
				defer GinkgoRecover()
				begun := time.Now()
				created, err := drivers[n%processes].Create(ctx, t.request(name))
				mutex.Lock()
				defer mutex.Unlock()
				slowest = max(slowest, time.Since(begun))
				if err != nil {
					exhausted = append(exhausted, err)
					return
				}
				claimed[name] = strings.Split(created.ProviderID, "/")[3]
			})
		}
		group.Wait()
		AddReportEntry("slowest claim", slowest.String())

		Expect(exhausted).To(HaveLen(wanted - count))
		for _, err := range exhausted {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted), "%v", err)
			Expect(err).To(MatchError(MatchRegexp(`^site "racks": 40 of \d+ hosts match, 0 are free \(40 taken\)$`)))
		}
		Expect(claimed).To(HaveLen(count))
		for name, host := range claimed {
			Expect(landscape.Journal.HostsOf(t.shoot + "/" + t.machine(name))).To(ConsistOf(host))
		}
		for _, host := range hosts {
			Expect(landscape.Journal.Uses(host)).To(HaveLen(1))
		}
		Expect(landscape.WaitForHosts(ctx, "provisioned", hosts...)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("are found again after a restart, and completed", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 2)
		first, err := newDriver().Create(ctx, t.request("a"))
		Expect(err).NotTo(HaveOccurred())
		Expect(newDriver().Create(ctx, t.request("a"))).To(Equal(first))
		Expect(landscape.Journal.HostsOf(t.shoot + "/" + t.machine("a"))).To(HaveLen(1))

		By("taking the image away")
		host := t.hostOf(ctx, "a")
		Eventually(ctx, bareMetalHost(ctx, host), soon).Should(HaveField("State", "provisioned"))
		patchHost(ctx, host, `{"spec":{"image":null}}`)
		driver := newDriver()
		Expect(platform.ClassOf(errorOf(driver.Get(ctx, t.request("a"))))).To(Equal(platform.ClassNotFound))
		Expect(driver.Create(ctx, t.request("a"))).To(Equal(first))
		Eventually(ctx, bareMetalHost(ctx, host), soon).Should(And(HaveField("State", "provisioned"), HaveField("Image", image)))
		Expect(hosts).To(ContainElement(host))
	})

	It("get their Secret again if somebody deletes it before they run", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		driver := newDriver()
		landscape.Metal3.Pause()
		DeferCleanup(landscape.Metal3.Resume)
		first, err := driver.Create(ctx, t.request("a"))
		Expect(err).NotTo(HaveOccurred())
		Expect(landscape.Client.Delete(ctx,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: t.machine("a")}})).To(Succeed())
		Expect(platform.ClassOf(errorOf(driver.Get(ctx, t.request("a"))))).To(Equal(platform.ClassNotFound))
		Expect(driver.Get(ctx, withID(t.request("a"), hosts[0]))).To(Equal(first))
		Expect(driver.Create(ctx, t.request("a"))).To(Equal(first))
		Expect(secretOf(ctx, t.machine("a")).Data).To(HaveKey("userData"))
		landscape.Metal3.Resume()
		Eventually(ctx, bareMetalHost(ctx, hosts[0]), soon).Should(HaveField("State", "provisioned"))
		Eventually(func() (platform.Machine, error) { return driver.Get(ctx, t.request("a")) }).Within(soon).Should(Equal(first))
	})

	It("have one host also if watches are behind", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 6)
		g := newGate()
		through := *t
		through.connection.Server, through.connection.TLS = g.url, nil
		slow := newDriver()
		Expect(slow.List(ctx, through.request(""))).To(BeEmpty())
		g.hold()

		By("claiming hosts that the watch still shows as free")
		other := newDriver()
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			Expect(other.Create(ctx, t.request(name))).Error().NotTo(HaveOccurred())
		}
		begun := time.Now()
		Expect(slow.Create(ctx, through.request("f"))).Error().NotTo(HaveOccurred())
		Expect(time.Since(begun)).To(BeNumerically("<", 8*time.Second))
		Expect(platform.ClassOf(errorOf(slow.Create(ctx, through.request("g"))))).To(Equal(platform.ClassExhausted))

		By("asking for machines that the watch does not show")
		Expect(slow.Create(ctx, through.request("a"))).To(HaveField("ProviderID", ContainSubstring(t.hostOf(ctx, "a"))))
		Expect(slow.Get(ctx, withID(through.request("b"), t.hostOf(ctx, "b")))).Error().NotTo(HaveOccurred())
		for _, host := range hosts {
			Expect(landscape.Journal.Uses(host)).To(HaveLen(1))
		}
	})

	It("cost three calls", func(ctx SpecContext) {
		t, hosts := newTenants(ctx, 1)
		g := newGate()
		t.connection.Server, t.connection.TLS = g.url, nil
		driver := newDriver()
		Expect(driver.List(ctx, t.request(""))).To(BeEmpty())
		g.take()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		Expect(g.take()).To(HaveExactElements(
			HavePrefix("GET /apis/metal3.io/v1alpha1/namespaces/hosts/baremetalhosts?labelSelector="),
			Equal("POST /api/v1/namespaces/hosts/secrets"),
			Equal("PATCH /apis/metal3.io/v1alpha1/namespaces/hosts/baremetalhosts/"+hosts[0]),
		))
		Expect(driver.Get(ctx, withID(t.request("a"), hosts[0]))).Error().NotTo(HaveOccurred())
		Eventually(func() ([]platform.Machine, error) { return driver.List(ctx, t.request("")) }).Within(soon).Should(HaveLen(1))
	})
})
