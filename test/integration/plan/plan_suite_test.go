// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package plan_test shows that a plan is the truth: what it says that the next reconciliation of the Infrastructure requests from a real
// OpenStack and a simulated vCenter is what a proxy in front of them counts then, and as many servers as it says are created and deleted
// there and in inventories of bare metal.
package plan_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestPlan(t *testing.T) {
	suite.Run(t, "Plan Suite")
}

const vcenterService = "vcenter"

var (
	bed         *openstack.Bed
	credentials [2]openstack.Credentials
	server      *vcenter.VCenter
	vim         *vim25.Client
	tagging     *tags.Manager
	// proxies are in front of OpenStack and of the vCenter.
	proxies [2]*countproxy.Proxy
	// authority signed the certificate of the proxy in front of the vCenter.
	authority *pki.Authority
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed = specs.OpenStack(ctx)
	for i, project := range openstack.Projects {
		var err error
		credentials[i], err = bed.Credentials(project)
		Expect(err).NotTo(HaveOccurred())
	}
	startVCenter(ctx)

	var err error
	authority, err = pki.NewAuthority()
	Expect(err).NotTo(HaveOccurred())
	pair, err := authority.Server("proxy")
	Expect(err).NotTo(HaveOccurred())
	proxies[0] = specs.Proxy()
	proxies[1], err = countproxy.New(countproxy.Service{
		Name: vcenterService, Upstream: "https://" + server.Address, CA: server.CA, Certificate: pair.Certificate, Key: pair.Key,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxies[1].Close)
}, NodeTimeout(20*time.Minute))

func startVCenter(ctx context.Context) {
	GinkgoHelper()
	server = specs.VCenter(ctx, vcenter.Options{})
	var err error
	vim, err = server.Client(ctx)
	Expect(err).NotTo(HaveOccurred())
	client := rest.NewClient(vim)
	Expect(client.Login(ctx, url.UserPassword(vcenter.Username, vcenter.Password))).To(Succeed())
	tagging = tags.NewManager(client)
}
