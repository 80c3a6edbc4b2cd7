// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package vsphere_test shows the vSphere platform against a simulated vCenter that runs as a process of its own.
package vsphere_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestVSphere(t *testing.T) {
	suite.Run(t, "vSphere Platform Suite")
}

var (
	server    *vcenter.VCenter
	inspector *vim25.Client
)

var _ = BeforeSuite(func(ctx SpecContext) { start(ctx) }, NodeTimeout(10*time.Minute))

// start makes a vCenter of its own the one of the specs.
func start(ctx context.Context) {
	GinkgoHelper()
	var err error
	server, err = vcenter.Start(ctx, GinkgoT().TempDir(), vcenter.Options{})
	Expect(err).NotTo(HaveOccurred())
	started := server
	DeferCleanup(func(ctx SpecContext) {
		Expect(started.Check()).To(Succeed())
		started.Stop(ctx)
	})
	inspector, err = server.Client(ctx)
	Expect(err).NotTo(HaveOccurred())
}

// newSessions are the sessions of a process that just started. They end with the spec.
func newSessions() *client.Sessions {
	sessions := client.NewSessions(client.Intervals{Idle: time.Hour, KeepAlive: time.Hour})
	DeferCleanup(sessions.Close)
	return sessions
}

func connection() v1alpha1.VSphereConnection {
	return v1alpha1.VSphereConnection{Server: server.Address, TLS: &v1alpha1.TLS{CACert: server.CA}}
}

func siteCredentials() site.Credentials {
	return site.Credentials{"username": vcenter.Username, "password": vcenter.Password}
}

// disturb applies the settings until the spec ends.
func disturb(ctx context.Context, settings control.Settings) {
	GinkgoHelper()
	Expect(server.Set(ctx, settings)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(server.Set(ctx, control.Settings{})).To(Succeed()) })
}

// count returns the requests since the last call.
func count(ctx context.Context) control.Counts {
	GinkgoHelper()
	counts, err := server.Counts(ctx)
	Expect(err).NotTo(HaveOccurred())
	return counts
}
