// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package monitoring_test lets Prometheis scrape the extension and a driver as the charts say, lets things go wrong, and shows which alerts
// fire and when they stop.
package monitoring_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	monitoringv1alpha1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1alpha1"
	prometheusclient "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/partitions"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMonitoring(t *testing.T) {
	suite.Run(t, "Alerts On Real Faults Suite")
}

const (
	extension = "gardener-extension-provider-hybrid"
	driver    = "machine-controller-manager"
	// token is what the Prometheus of a shoot may ask with.
	token = "some-token"
	// creation is how long all shoots take to be there, on a busy machine.
	creation = 6 * time.Minute
)

// monitored is what Prometheis and Plutono get from charts, by the name of the Prometheus that reads it.
type monitored struct {
	services   []*corev1.Service
	monitors   map[string][]*monitoringv1.ServiceMonitor
	federated  []*monitoringv1alpha1.ScrapeConfig
	rules      map[string][]*monitoringv1.PrometheusRule
	dashboards []*corev1.ConfigMap
}

var (
	lab *partitions.Lab
	// seed scrapes the extension, aggregate gets from it what alerts need, and shootwide scrapes what runs for the shoot "down".
	seed, aggregate, shootwide *prometheus
	ofSeed, ofShoot            monitored
	// shoots are the shoots by their names.
	shoots = map[string]*partitions.Shoot{}
	// played are the endpoints of what does not run here, by the names of their Services.
	played = map[string]*endpoint{}
)

var _ = BeforeSuite(func(ctx SpecContext) {
	binaries, err := shoot.Build(ctx, GinkgoT().TempDir(), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	lab, err = partitions.Start(ctx, partitions.Options{
		Dir: GinkgoT().TempDir(), Binaries: binaries, Progress: GinkgoWriter, Grace: 10 * time.Second,
		ExtensionArgs: []string{"--site-probe-interval=1s", "--site-discovery-interval=1m"},
	})
	DeferCleanup(func() { Expect(lab.Stop()).To(Succeed()) })
	Expect(err).NotTo(HaveOccurred())
	createShoots(ctx)
	createWithoutMachines(ctx)

	rendered, err := rendering.Packed(filepath.Join(landscape.Root(), "charts", extension), "provider-hybrid", extension, nil)
	Expect(err).NotTo(HaveOccurred())
	ofSeed = read(rendered)
	ports, err := landscape.FreePorts(3)
	Expect(err).NotTo(HaveOccurred())
	address := func(i int) string { return "127.0.0.1:" + strconv.Itoa(ports[i]) }
	found := addresses{extension: {"metrics": argument(lab.Seed.Extension, "metrics-bind-address"),
		"webhooks": argument(lab.Seed.Extension, "webhook-config-url")}}
	seed = startPrometheus(ctx, "seed", address(0), scrapes(ofSeed.monitors["seed"], found.targets(ofSeed.services), nil),
		ofSeed.rules["seed"])
	var prometheis []target
	for i, name := range []string{"prometheus-seed", "prometheus-aggregate"} {
		labels := serviceLabels(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "garden"}})
		labels["__meta_kubernetes_service_port_name"] = "web"
		prometheis = append(prometheis, target{Targets: []string{address(i)}, Labels: labels})
	}
	Expect(ofSeed.federated).To(HaveLen(1))
	aggregate = startPrometheus(ctx, "aggregate", address(1), []scrapeConfig{federate(ofSeed.federated[0], prometheis)},
		ofSeed.rules["aggregate"])

	ofShoot = read(readFiles("pkg/controller/controlplane/testdata/seed.yaml",
		"pkg/platform/openstack/controlplane/testdata/seed-controlplane.yaml",
		"pkg/platform/openstack/controlplane/testdata/seed-controlplane-shares.yaml",
		"pkg/platform/vsphere/controlplane/testdata/seed-controlplane.yaml"))
	Expect(prometheusclient.Register(platform.RequestDuration)).To(Succeed()) // for played endpoints
	authority, err := pki.NewAuthority()
	Expect(err).NotTo(HaveOccurred())
	found = addresses{driver: {"metrics": argumentPort(shoots[down].MCM), "providermetrics": argumentPort(shoots[down].Driver)}}
	for _, service := range ofShoot.services {
		played[service.Name] = play(authority, service)
		found[service.Name] = map[string]string{}
		for _, port := range service.Spec.Ports {
			found[service.Name][port.Name] = played[service.Name].address()
		}
	}
	services := append(ofShoot.services, driverService)
	shootwide = startPrometheus(ctx, "shoot", address(2), scrapes(ofShoot.monitors["shoot"], found.targets(services),
		map[string]string{"bundle.crt": authority.PEM, "token": token}), ofShoot.rules["shoot"])
}, NodeTimeout(creation+10*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process {
	processes := lab.Processes()
	for _, p := range []*prometheus{seed, aggregate, shootwide} {
		if p != nil {
			processes = append(processes, p.process)
		}
	}
	return processes
})

// driverService is that of machine-controller-manager and its driver, which Gardener creates.
var driverService = &corev1.Service{
	ObjectMeta: metav1.ObjectMeta{Name: driver, Labels: map[string]string{"app": "kubernetes", "role": "machine-controller-manager"}},
	Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "metrics"}, {Name: "providermetrics"}}},
}

// endpoint is the endpoint for metrics of a program that does not run here.
type endpoint struct {
	server *httptest.Server
	down   atomic.Bool
}

func (e *endpoint) address() string { return e.server.Listener.Addr().String() }

// play plays the endpoints of a Service with metrics of this process. That of the cloud-controller-manager has TLS and wants the token.
func play(authority *pki.Authority, service *corev1.Service) *endpoint {
	GinkgoHelper()
	e := &endpoint{}
	secure := service.Name == "cloud-controller-manager"
	e.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case e.down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case secure && r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			promhttp.Handler().ServeHTTP(w, r)
		}
	}))
	if secure {
		pair, err := authority.Server(service.Name, func(c *x509.Certificate) { c.DNSNames = []string{service.Name} })
		Expect(err).NotTo(HaveOccurred())
		certificate, err := tls.X509KeyPair([]byte(pair.Certificate), []byte(pair.Key))
		Expect(err).NotTo(HaveOccurred())
		e.server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS13}
		e.server.StartTLS()
	} else {
		e.server.Start()
	}
	DeferCleanup(e.server.Close)
	return e
}

// argument is the value of an argument of a process, the last if there are several.
func argument(process *landscape.Process, name string) string {
	GinkgoHelper()
	var value string
	for _, arg := range process.Args {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = v
		}
	}
	Expect(value).NotTo(BeEmpty(), name)
	return value
}

func argumentPort(process *landscape.Process) string {
	GinkgoHelper()
	return "127.0.0.1:" + argument(process, "port")
}

func readFiles(files ...string) string {
	GinkgoHelper()
	var all []string
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(landscape.Root(), filepath.FromSlash(file)))
		Expect(err).NotTo(HaveOccurred())
		all = append(all, string(content))
	}
	return strings.Join(all, "\n---\n")
}

// read reads what charts deploy for Prometheis.
func read(rendered string) monitored {
	GinkgoHelper()
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	m := monitored{monitors: map[string][]*monitoringv1.ServiceMonitor{}, rules: map[string][]*monitoringv1.PrometheusRule{}}
	for _, o := range objects {
		reader := o.GetLabels()["prometheus"]
		switch o.GetKind() {
		case "Service":
			m.services = append(m.services, decode[corev1.Service](o))
		case "ServiceMonitor":
			m.monitors[reader] = append(m.monitors[reader], decode[monitoringv1.ServiceMonitor](o))
		case "PrometheusRule":
			m.rules[reader] = append(m.rules[reader], decode[monitoringv1.PrometheusRule](o))
		case "ScrapeConfig":
			m.federated = append(m.federated, decode[monitoringv1alpha1.ScrapeConfig](o))
		case "ConfigMap":
			m.dashboards = append(m.dashboards, decode[corev1.ConfigMap](o))
		}
	}
	return m
}

func decode[T any](o *unstructured.Unstructured) *T {
	GinkgoHelper()
	into := new(T)
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)).To(Succeed(), o.GetName())
	return into
}

func scrapes(monitors []*monitoringv1.ServiceMonitor, targets []target, secrets map[string]string) []scrapeConfig {
	var all []scrapeConfig
	for _, monitor := range monitors {
		all = append(all, scrape(monitor, targets, secrets)...)
	}
	return all
}
