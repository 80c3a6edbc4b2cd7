// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// fakePlatform has a site for each name and notes with which credentials it is opened.
type fakePlatform struct {
	mutex  sync.Mutex
	opened map[string][]string
	err    error
	// stuck keeps sites from being opened, whatever their contexts say, until it is closed.
	stuck chan struct{}
}

func (f *fakePlatform) Open(_ context.Context, r platform.NodesRequest) (platform.NodeSite, error) {
	f.mutex.Lock()
	f.opened[r.Site.Name] = append(f.opened[r.Site.Name], r.Credentials["password"])
	stuck, err := f.stuck, f.err
	f.mutex.Unlock()
	if stuck != nil {
		<-stuck
	}
	return platform.NodeSite{Machines: &fakeMachines{}}, err
}

func (f *fakePlatform) openings(site string) func() []string {
	return func() []string {
		f.mutex.Lock()
		defer f.mutex.Unlock()
		return append([]string{}, f.opened[site]...)
	}
}

var _ = Describe("Manager", func() {
	const (
		head = `{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", "kind": "CloudControllerManagerConfiguration", "shoot": ` +
			`"shoot--local--a", "region": "west", "sites": [`
		first  = `{"name": "a", "vsphere": {"connection": {"server": "https://a"}, "zones": [{"name": "a-1", "computeCluster": "domain-c7"}]}}`
		second = `{"name": "b", "vsphere": {"connection": {"server": "https://b"}, "zones": [{"name": "b-1", "computeCluster": "domain-c7"}]}}`
	)
	var (
		toy    *fakePlatform
		files  Files
		m      *Manager
		reload func()
		write  = func(name, content string) {
			GinkgoHelper()
			Expect(os.WriteFile(filepath.Join(files.Credentials, name), []byte(content), 0o600)).To(Succeed())
		}
		config = func(content string) {
			GinkgoHelper()
			Expect(os.WriteFile(files.Config, []byte(content), 0o600)).To(Succeed())
		}
	)

	BeforeEach(func() {
		dir := GinkgoT().TempDir()
		files = Files{Config: filepath.Join(dir, "config.json"), Credentials: filepath.Join(dir, "credentials")}
		Expect(os.MkdirAll(filepath.Join(files.Credentials, "..data"), 0o700)).To(Succeed())
		for _, site := range []string{"a", "b"} {
			write(site+".username", "u")
			write(site+".password", "1")
		}
		write("..version", "x")
		config(head + first + "," + second + "]}")

		toy = &fakePlatform{opened: map[string][]string{}}
		m = NewManager(Options{
			Files:                     files,
			Platforms:                 platform.Registry[platform.Nodes]{v1alpha1.PlatformVSphere: toy},
			NewClient:                 func(string) (kubernetes.Interface, error) { return fake.NewClientset(), nil },
			FeatureGate:               utilfeature.DefaultFeatureGate,
			Metrics:                   controllersmetrics.NewControllerManagerMetrics("test"),
			NodeMonitorPeriod:         time.Second,
			NodeStatusUpdateFrequency: time.Second,
			NodeSyncs:                 1,
			NodeStatusUpdates:         1,
			ServiceSyncs:              1,
		})
		ctx, cancel := context.WithCancel(context.Background())
		DeferCleanup(func(spec SpecContext) {
			cancel()
			done := make(chan struct{})
			go func() {
				defer close(done)
				m.Run(ctx) // it looks at no files any more, and waits for the controllers
			}()
			Eventually(spec, done).WithTimeout(10 * time.Second).Should(BeClosed())
		})
		reload = func() { m.reload(ctx) }
		reload()
		Eventually(toy.openings("a")).WithTimeout(5 * time.Second).Should(Equal([]string{"1"}))
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(Equal([]string{"1"}))
	})

	It("opens a site again when its credentials change, and no other", func() {
		a := m.sets["a"]
		write("b.password", "2")
		reload()
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(Equal([]string{"1", "2"}))
		Expect(m.sets["a"]).To(BeIdenticalTo(a))
	})

	It("opens a site again when it comes back with another configuration, and no other", func() {
		a := m.sets["a"]
		config(head + first + "]}")
		reload()
		Expect(m.sets).NotTo(HaveKey("b"))
		config(head + first + "," + second + "]}")
		reload()
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(HaveLen(2))
		Expect(m.sets["a"]).To(BeIdenticalTo(a))
	})

	It("lets the controllers of a site that comes back wait for those that have not ended yet", func() {
		stuck := make(chan struct{})
		toy.mutex.Lock()
		toy.stuck = stuck
		toy.mutex.Unlock()
		write("b.password", "2")
		reload()
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(HaveLen(2))
		config(head + first + "]}")
		reload()
		config(head + first + "," + second + "]}")
		reload()
		Consistently(toy.openings("b")).WithTimeout(200 * time.Millisecond).Should(HaveLen(2))
		close(stuck)
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(HaveLen(3))
	})

	DescribeTable("changes nothing for a site whose configuration is wrong, and goes on with the others", func(content string, readable bool) {
		a, b := m.sets["a"], m.sets["b"]
		config(content)
		write("a.password", "2")
		write("b.password", "2")
		reload()
		Expect(m.sets["b"]).To(BeIdenticalTo(b))
		if !readable {
			Expect(m.sets["a"]).To(BeIdenticalTo(a))
			return
		}
		Expect(m.sets["a"]).NotTo(BeIdenticalTo(a))
		Eventually(toy.openings("a")).WithTimeout(5 * time.Second).Should(Equal([]string{"1", "2"}))
	},
		Entry("no configuration", "{", false),
		Entry("an unknown field", head+first+`,{"name": "b", "vmware": {}}]}`, false),
		Entry("two sites of a name", head+second+","+second+"]}", false),
		Entry("a site without zones", head+first+`,{"name": "b", "vsphere": {"connection": {"server": "https://b"}, "zones": []}}]}`, true),
		Entry("a platform that is not supported",
			head+first+`,{"name": "b", "openstack": {"connection": {"authURL": "https://b/v3", "region": "r"}, "zones": [{"name": "b-1", `+
				`"availabilityZone": "nova"}]}}]}`, true),
		Entry("no platform", head+first+`,{"name": "b"}]}`, true),
	)

	DescribeTable("keeps the controllers of a site whose credentials cannot be used, and goes on with the others", func(password string) {
		b := m.sets["b"]
		write("a.password", "2")
		write("b.password", password)
		reload()
		Eventually(toy.openings("a")).WithTimeout(5 * time.Second).Should(Equal([]string{"1", "2"}))
		Expect(m.sets["b"]).To(BeIdenticalTo(b))
		Expect(m.broken).To(And(HaveLen(1),
			HaveKeyWithValue("b", And(ContainSubstring(`credentials: key "password"`), Not(ContainSubstring("s3cr3t"))))))

		write("b.password", "3")
		reload()
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(Equal([]string{"1", "3"}))
		Expect(m.broken).To(BeEmpty())
	},
		Entry("none", ""),
		Entry("no text", "s3cr3t\xff"),
		Entry("a line break", "s3cr3t\n"),
	)

	It("opens a new site whose credentials cannot be used, so that it is tried until they can", func() {
		config(head + first + "]}")
		write("b.password", "")
		reload()
		Expect(m.sets).NotTo(HaveKey("b"))
		config(head + first + "," + second + "]}")
		reload()
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(Equal([]string{"1", ""}))
	})

	It("tries a site again that cannot be opened", func() {
		toy.mutex.Lock()
		toy.err = errors.New("no route to host")
		toy.mutex.Unlock()
		write("b.password", "2")
		reload()
		Eventually(toy.openings("b")).WithTimeout(5 * time.Second).Should(Equal([]string{"1", "2", "2"}))
	})
})

var _ = Describe("Marks of Services", func() {
	It("are written before the load balancer is made, and once", func(ctx SpecContext) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "1"}}
		client := fake.NewClientset(service)
		for range 2 {
			Expect(mark(ctx, client, service, "a", nil)).To(Succeed())
			Expect(service.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationLoadBalancerSite, "a"))
		}
		Expect(client.Actions()).To(HaveLen(1))
		Expect(client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})).To(HaveField("Annotations",
			HaveKeyWithValue(v1alpha1.AnnotationLoadBalancerSite, "a")))
	})

	DescribeTable("take what a site that is gone left with them", func(ctx SpecContext, before string, expected map[string]string) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default",
			Annotations: map[string]string{"team": "red", "id": "1"}}}
		if before != "" {
			service.Annotations[v1alpha1.AnnotationLoadBalancerSite] = before
		}
		client := fake.NewClientset(service)
		Expect(mark(ctx, client, service, "a", []string{"id", "address"})).To(Succeed())
		expected[v1alpha1.AnnotationLoadBalancerSite] = "a"
		Expect(service.Annotations).To(Equal(expected))
		Expect(client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})).To(HaveField("Annotations", expected))
	},
		Entry("none before", "", map[string]string{"team": "red", "id": "1"}),
		Entry("that of another site", "x", map[string]string{"team": "red"}),
	)

	It("of a site that is gone say that there is no load balancer, without a request", func(ctx SpecContext) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationLoadBalancerSite: "x"}}}
		_, exists, err := (&balancers{ctx: ctx, site: "a"}).GetLoadBalancer(ctx, "shoot", service)
		Expect(exists, err).To(BeFalse())

		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, _, err = (&balancers{ctx: ctx, site: "a"}).GetLoadBalancer(ended, "shoot", service)
		Expect(err).To(MatchError(context.Canceled))
	})
})
