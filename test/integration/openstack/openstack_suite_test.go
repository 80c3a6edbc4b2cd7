// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package openstack_test shows the OpenStack platform against a real OpenStack, through a proxy that counts and disturbs.
package openstack_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestOpenStack(t *testing.T) {
	suite.Run(t, "OpenStack Platform Suite")
}

var (
	bed         *openstack.Bed
	credentials openstack.Credentials
	inspector   *openstack.Client
	proxy       *countproxy.Proxy
	connection  v1alpha1.OpenStackConnection
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed = specs.OpenStack(ctx)
	var err error
	credentials, err = bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	inspector, err = openstack.NewClient(ctx, credentials)
	Expect(err).NotTo(HaveOccurred())

	proxy = specs.Proxy()
	connection = v1alpha1.OpenStackConnection{AuthURL: proxy.Rewrite(credentials.AuthURL), Region: credentials.Region}
}, NodeTimeout(20*time.Minute))

// shootName returns a technical ID and checks in the end that nothing of the shoot is left.
func shootName() string {
	shoot := "shoot--it--" + rand.String(5)
	DeferCleanup(func(ctx SpecContext) {
		Expect(proxy.SetFaults()).To(Succeed())
		Eventually(func(ctx context.Context) ([]openstack.Object, error) { return inspector.Objects(ctx, shoot) }).
			WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(BeEmpty())
	}, NodeTimeout(4*time.Minute))
	return shoot
}

// label makes the requests from now on count for the label and returns them when it is called.
func label(name string) func() []countproxy.Request {
	name += "-" + rand.String(5)
	proxy.SetLabel(name)
	return func() []countproxy.Request { return proxy.Requests(name) }
}

func siteCredentials() site.Credentials {
	return site.Credentials(credentials.SiteCredentials())
}

// newSessions are sessions of a process that just started.
func newSessions() *client.Sessions {
	return client.NewSessions()
}

// disturbed repeats the operation until it succeeds, each time as a process that just started and that ends with its next write to one of
// the paths: the answer is lost, and nothing follows.
func disturbed(ctx context.Context, what, paths string, operation func(ctx context.Context) error) {
	GinkgoHelper()
	for k, ended := 1, false; !ended; k++ {
		Expect(k).To(BeNumerically("<", 60))
		killed, kill := context.WithCancel(ctx)
		Expect(proxy.SetFaults(countproxy.Fault{Path: paths, Kind: countproxy.KindWrite, Action: countproxy.ActionCall, After: true, Times: 1,
			Call: func(countproxy.Request) { kill() }})).To(Succeed())
		err := operation(killed)
		kill()
		Expect(proxy.SetFaults()).To(Succeed())
		ended = err == nil
		GinkgoWriter.Printf("%s, %d: %v\n", what, k, err)
	}
}
