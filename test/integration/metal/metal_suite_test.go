// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package metal_test shows the bare-metal platform against the operators of Metal3 and IronCore and an allocator of addresses, behind
// an API server that checks permissions.
package metal_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMetal(t *testing.T) {
	suite.Run(t, "Metal Platform Suite")
}

const soon = 20 * time.Second

var (
	// landscape is the inventory that all specs use.
	landscape *metal.Inventory
	// credentials are those of a tenant with the permissions that the documentation lists.
	credentials site.Credentials
)

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	landscape, err = metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir(), Metal3: true, IronCore: true, Static: true, IPAM: true})
	DeferCleanup(func() {
		Expect(landscape.Check()).To(Succeed())
		landscape.Stop()
	})
	Expect(err).NotTo(HaveOccurred(), "hack/landscape/build.sh builds what is missing")
	grant(ctx)
}, NodeTimeout(10*time.Minute))

// grant gives the tenant its permissions and credentials. What it had before is void if its account was deleted.
func grant(ctx context.Context) {
	GinkgoHelper()
	Expect(landscape.Grant(ctx)).To(Succeed())
	token, err := landscape.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	credentials = token.SiteCredentials()
}

// newShoot is the technical ID of a shoot.
func newShoot() string {
	return "shoot--it--" + rand.String(5)
}

// profile is the site in the CloudProfile.
func profile(inventory v1alpha1.MetalInventory, zones ...v1alpha1.SiteZone) *v1alpha1.CloudProfileSite {
	return &v1alpha1.CloudProfileSite{
		Name: "racks", Zones: zones, TLS: &v1alpha1.TLS{CACert: landscape.CA()},
		Metal: &v1alpha1.MetalProfile{
			Inventory: inventory, Server: landscape.Server(), Namespace: metal.Namespace,
			Cleaning: v1alpha1.MetalCleaningMetadata, NodeName: v1alpha1.MetalNodeNameMachine,
		},
	}
}

// newSession is the session of a process that just started. It ends with the spec.
func newSession(ctx context.Context, inventory v1alpha1.MetalInventory) *kubernetes.Session {
	GinkgoHelper()
	sessions := metalclient.NewSessions()
	DeferCleanup(sessions.Close)
	session, err := sessions.Get(ctx, "racks", metalclient.ConnectionOf(profile(inventory)), credentials)
	Expect(err).NotTo(HaveOccurred())
	return session
}
