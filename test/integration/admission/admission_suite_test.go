// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package admission_test shows the admission component's process beside Gardener's own admission: gardener-apiserver with its plugins calls
// the webhooks that the component registered.
//
// How to add a table: a file of its own with refused and accepted entries and one of the bodies of harness_test.go, which try each case on
// the valid Shoots of example/ without keeping it. Objects that a webhook would refuse, but that existed before, are made
// with beforeWebhooks.
package admission_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const (
	binary = "gardener-extension-admission-hybrid"
	// registrationFile registers the extension, shootFile and profileFile have two OpenStack sites, and the others one site of each platform.
	registrationFile                  = "controller-registration.yaml"
	shootFile, profileFile            = "40-shoot.yaml", "20-cloudprofile.yaml"
	allPlatforms, allPlatformsProfile = "shoot-all-platforms.yaml", "cloudprofile-all-platforms.yaml"
	credentialsFile                   = "30-secret-cloudprovider.yaml"
)

func TestAdmission(t *testing.T) {
	suite.Run(t, "Admission Suite")
}

var (
	garden *gardenapi.Garden
	// hybridctl is the path of the command line.
	hybridctl string
	// earlier are called before the webhooks exist.
	earlier []func(ctx context.Context)
)

// beforeWebhooks lets objects be created before the webhooks exist. The project, the CloudProfiles, the credentials and the Shoots of
// example/ are there. It is called when variables of a file are initialised: var _ = beforeWebhooks(…)
func beforeWebhooks(create func(ctx context.Context)) bool {
	earlier = append(earlier, create)
	return true
}

var _ = BeforeSuite(func(ctx SpecContext) {
	log.SetLogger(logr.Discard())
	own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/"+binary, "./cmd/hybridctl")
	Expect(err).NotTo(HaveOccurred())
	hybridctl = filepath.Join(own, "hybridctl")
	garden, err = gardenapi.Start(ctx, gardenapi.Options{Dir: GinkgoT().TempDir(), Admission: filepath.Join(own, binary)})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(garden.Stop()).To(Succeed()) })
	Expect(garden.CreateProject(ctx)).To(Succeed())
	createAll(ctx, registrationFile, profileFile, allPlatformsProfile)
	Expect(garden.CreateCredentials(ctx, credentials())).To(Succeed())
	for _, file := range []string{shootFile, allPlatforms} {
		// Gardener's plugins see what was created before a moment later.
		Eventually(func() error { return garden.Client.Create(ctx, shootOf(file)) }).WithTimeout(10 * time.Second).Should(Succeed())
	}
	for _, create := range earlier {
		create(ctx)
	}

	undecodable := read[gardencorev1beta1.CloudProfile](profileFile)
	undecodable.Name, undecodable.Spec.ProviderConfig = "undecodable", &runtime.RawExtension{Raw: []byte("{}")}
	Expect(garden.StartAdmission(ctx, undecodable)).To(Succeed())
	Eventually(func(g Gomega) {
		shoot := newShoot(shootFile)
		g.Expect(garden.Client.Create(ctx, shoot, client.DryRunAll)).To(Succeed())
		g.Expect(shoot.Spec.Networking.ProviderConfig).NotTo(BeNil())
	}).WithTimeout(10*time.Second).Should(Succeed(), "the webhook that mutates should be called")
}, NodeTimeout(10*time.Minute))

var _ = ReportAfterEach(func(report SpecReport) {
	if report.Failed() && garden != nil {
		AddReportEntry(binary, garden.Admission.Tail(20), ReportEntryVisibilityFailureOrVerbose)
	}
})

// credentials are those of all sites in example/.
func credentials() map[string][]byte {
	data := map[string][]byte{}
	for _, folder := range []string{"", "openstack-vsphere-metal", "static"} {
		for key, value := range read[corev1.Secret](filepath.Join(folder, credentialsFile)).StringData {
			data[key] = []byte(value)
		}
	}
	return data
}

// shootOf returns the Shoot of a file, which exists in the garden.
func shootOf(file string) *gardencorev1beta1.Shoot {
	return read[gardencorev1beta1.Shoot](file)
}

// newShoot returns the Shoot of a file with another name and other addresses of load balancers, so that it can be created.
func newShoot(file string) *gardencorev1beta1.Shoot {
	shoot := shootOf(file)
	shoot.Name = "new"
	if file == allPlatforms {
		onMetalLB(func(c *v1alpha1.MetalLB) {
			c.AddressPools[0].CIDRs, c.AddressPools[1].CIDRs = []string{"10.250.249.0/24"}, []string{"192.0.2.32-192.0.2.47"}
		})(shoot)
	}
	return shoot
}
