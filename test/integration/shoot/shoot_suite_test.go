// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package shoot_test shows a shoot on two OpenStack sites: real extension, machine-controller-manager, driver and OpenStack.
package shoot_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestShoot(t *testing.T) {
	suite.Run(t, "Shoot Suite")
}

var (
	bed        *openstack.Bed
	seed       *landscape.Landscape
	inspectors []*openstack.Client
	// shoot is the technical ID of the shoot and its namespace in the seed.
	shoot = "shoot--it--" + rand.String(5)
)

var _ = BeforeSuite(func(ctx SpecContext) {
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/...")
	Expect(err).NotTo(HaveOccurred())

	bed = specs.OpenStack(ctx)
	for _, project := range openstack.Projects {
		credentials, err := bed.Credentials(project)
		Expect(err).NotTo(HaveOccurred())
		inspector, err := openstack.NewClient(ctx, credentials)
		Expect(err).NotTo(HaveOccurred())
		inspectors = append(inspectors, inspector)
	}

	seed, err = landscape.New(landscape.Options{Dir: GinkgoT().TempDir(), Namespace: shoot,
		Binaries: landscape.DefaultBinaries().WithOwn(own)})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(seed.Stop)
	Expect(seed.StartCluster(ctx)).To(Succeed())
	Expect(seed.StartControllers()).To(Succeed())
	playKubelets()
}, NodeTimeout(25*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process { return seed.Processes() })

// playKubelets lets a node join as soon as its server is active in OpenStack.
func playKubelets() {
	ctx, cancel := context.WithCancel(context.Background())
	nodes := &kubelets.Kubelets{
		Seed: seed.Client, Shoot: seed.Client, Namespace: shoot,
		Servers: openstack.NewWatch(shoot, inspectors...).Active, Log: logr.Discard(),
	}
	var group sync.WaitGroup
	group.Go(func() { nodes.Run(ctx) })
	DeferCleanup(func() {
		cancel()
		group.Wait()
	})
}
