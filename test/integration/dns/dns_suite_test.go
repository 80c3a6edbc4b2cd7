// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package dns_test lets the extension's process reconcile DNSRecords in a real Designate, with BIND behind it, and in a BIND that
// takes dynamic updates, and asks both BINDs.
package dns_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestDNS(t *testing.T) {
	suite.Run(t, "DNS Suite")
}

const (
	// namespace is that of the shoot in example/.
	namespace = "shoot--local--hybrid"
	garden    = "garden"
)

// backend is a DNS service.
type backend struct {
	// kind is the type of its DNSRecords.
	kind string
	// secret is the name of the Secret with good credentials.
	secret string
	// zone is the name of its zone, and id what status.zone holds.
	zone, id string
	// server answers for the zone.
	server string
}

var (
	seed      *landscape.Landscape
	proxy     *countproxy.Proxy
	front     *nameserver.Front
	named     *nameserver.Server
	designate *openstack.Designate
	access    openstack.Credentials

	// cloud and plain are Designate and the BIND that takes updates.
	cloud, plain = &backend{kind: v1alpha1.DNSTypeDesignate, secret: "designate"}, &backend{kind: v1alpha1.DNSTypeRFC2136, secret: "plain"}
	run          = rand.String(5)
)

var _ = BeforeSuite(func(ctx SpecContext) {
	startDesignate(ctx)
	startNamed(ctx)
	startExtension(ctx)
}, NodeTimeout(25*time.Minute))

func startDesignate(ctx context.Context) {
	bed := specs.OpenStackWithDNS(ctx)
	var err error
	access, err = bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	designate, err = openstack.NewDesignate(ctx, access)
	Expect(err).NotTo(HaveOccurred())
	proxy = specs.Proxy()
	access.AuthURL = proxy.Rewrite(access.AuthURL)

	cloud.server, cloud.zone = openstack.Nameserver, "cloud-"+run+".example.test"
	cloud.id, err = designate.MakeZone(ctx, cloud.zone)
	DeferCleanup(func(ctx SpecContext) { Expect(designate.DeleteZone(ctx, cloud.id)).To(Succeed()) }, NodeTimeout(4*time.Minute))
	Expect(err).NotTo(HaveOccurred())
}

func startNamed(ctx context.Context) {
	plain.zone = "plain.example.test"
	plain.id = plain.zone + "."
	var err error
	named, err = nameserver.Start(ctx, GinkgoT().TempDir(), plain.zone, "deep."+plain.zone)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(named.Process.Check()).To(Succeed())
		named.Process.Stop(ctx)
	})
	front, err = nameserver.NewFront(named.Address)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(front.Close)
	plain.server = named.Address
}

func startExtension(ctx context.Context) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/gardener-extension-provider-hybrid")
	Expect(err).NotTo(HaveOccurred())
	binaries := landscape.DefaultBinaries().WithOwn(own)

	seed, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: namespace, Binaries: binaries, ExtensionArgs: []string{
		"--controllers=dnsrecord", "--disable-webhooks=*", "--extension-classes=shoot,seed,garden",
	}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seed.Stop)
	Expect(seed.StartCluster(ctx)).To(Succeed())
	Expect(client.IgnoreAlreadyExists(seed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: garden}}))).To(Succeed())
	for _, name := range []string{namespace, garden} {
		makeSecret(ctx, name, cloud.secret, designateKeys())
		makeSecret(ctx, name, plain.secret, updateKeys(nameserver.Writer))
	}
	makeCluster(ctx)
	Expect(seed.Extension.Start()).To(Succeed())
}

var _ = specs.ShowTails(func() []*landscape.Process { return seed.Processes() })
