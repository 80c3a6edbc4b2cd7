// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPreflight(t *testing.T) {
	suite.Run(t, "Preflight Suite")
}

// world is a shoot with the sites "one" and "two" and what they are checked with.
type world struct {
	profile *v1alpha1.CloudProfileConfig
	shoot   preflight.Shoot
	options preflight.Options
}

// newWorld returns a world in which nothing is wrong. Both APIs are the server.
func newWorld(server *httptest.Server) *world {
	profile := func(name string) v1alpha1.CloudProfileSite {
		return v1alpha1.CloudProfileSite{Name: name, TLS: trust(server), DNSServers: []string{"192.0.2.53"},
			VSphere: &v1alpha1.VSphereProfile{Server: server.URL, Datacenter: name},
			Zones:   []v1alpha1.SiteZone{{Name: name + "-1", VSphere: &v1alpha1.VSphereZone{ComputeCluster: name}}}}
	}
	return &world{
		profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{profile("one"), profile("two")}},
		shoot: preflight.Shoot{
			ConfigPath: field.NewPath("config"),
			Networking: &gardencorev1beta1.Networking{Pods: new("100.96.0.0/11"), Services: new("100.64.0.0/13")},
			Seed:       &gardencorev1beta1.SeedNetworks{Nodes: new("10.240.0.0/16"), Pods: "10.241.0.0/16", Services: "10.242.0.0/16"},
			Config: &v1alpha1.InfrastructureConfig{
				Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
				Sites: []v1alpha1.InfrastructureSite{
					{Name: "one", Nodes: []string{"10.0.1.0/24"}}, {Name: "two", Nodes: []string{"10.0.2.0/24"}},
				},
			},
			Demands: map[string][]platform.Demand{},
			Reports: map[string]*preflight.Report{},
		},
		options: preflight.Options{Resolve: func(context.Context, string, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{IsNotFound: true}
		}},
	}
}

func (w *world) preflight() *preflight.Preflight {
	GinkgoHelper()
	var err error
	w.shoot.Sites, err = site.Resolve(site.Input{Shoot: "shoot--local--hybrid", Profile: w.profile, Config: w.shoot.Config})
	Expect(err).NotTo(HaveOccurred())
	return preflight.New(w.shoot, w.options)
}

// site returns the findings about site "one", as texts.
func (w *world) site() []string {
	GinkgoHelper()
	findings, _ := w.preflight().Site(context.Background(), "one", nil)
	return texts(findings)
}

// pair returns the findings about both sites, as texts.
func (w *world) pair() []string {
	GinkgoHelper()
	pairs := w.preflight().Pairs(context.Background(), nil)
	Expect(pairs).To(HaveLen(1))
	Expect(pairs[0].Sites).To(Equal([2]string{"one", "two"}))
	return texts(pairs[0].Findings)
}

func texts(findings platform.Findings) []string {
	var result []string
	for _, found := range findings.Found {
		result = append(result, fmt.Sprintf("%s %s %s", found.Check.ID, found.State, found.Message()))
	}
	return result
}

// trust returns the settings that trust the server.
func trust(server *httptest.Server) *v1alpha1.TLS {
	if server.Certificate() == nil {
		return nil
	}
	return &v1alpha1.TLS{CACert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))}
}

// serve returns a server whose clock is ahead.
func serve(ahead time.Duration) *httptest.Server {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		http.Redirect(w, &http.Request{Method: http.MethodHead}, "https://elsewhere.invalid/", http.StatusFound)
	}))
	DeferCleanup(server.Close)
	return server
}

// certificate returns the settings with a certificate of the authority.
func certificate(raw []byte) string {
	_, err := x509.ParseCertificate(raw)
	Expect(err).NotTo(HaveOccurred())
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}))
}
