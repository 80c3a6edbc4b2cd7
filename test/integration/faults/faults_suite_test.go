// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package faults_test disturbs one of two OpenStack sites while machines exist and more are wanted.
package faults_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestFaults(t *testing.T) {
	suite.Run(t, "Faults Suite")
}

// longVariable names the environment variable that makes the faults last as long as outages do: minutes.
const longVariable = "LONG_FAULTS"

// requestTimeout is how long requests to the disturbed site may take. It is short, so that a site that hangs is soon told from one
// that works, but longer than OpenStack needs for a port on a busy machine: the driver would make a second port.
const requestTimeout = 15 * time.Second

var (
	local *shoot.Shoot
	// project is the site that is disturbed.
	project *openstack.Project
	// proxy is in front of the site that is disturbed. The other site is reached directly.
	proxy *countproxy.Proxy
	long  = os.Getenv(longVariable) != ""
)

var _ = BeforeSuite(func(ctx SpecContext) {
	bed := specs.OpenStack(ctx)
	proxy = specs.Proxy()

	var err error
	name := "shoot--faults--" + rand.String(5)
	project, err = bed.NewProject(ctx, name, rand.String(20))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) error { return project.Delete(ctx) }, NodeTimeout(2*time.Minute))

	local = specs.Shoot(ctx, shoot.Options{
		Name: name, Bed: bed, Project: project, DriverArgs: []string{"--resource-exhausted-retry=5s"},
	}, func(site *v1alpha1.CloudProfileSite) {
		if site.Name == disturbed {
			site.OpenStack.AuthURL = proxy.Rewrite(site.OpenStack.AuthURL)
			site.RequestTimeout = &metav1.Duration{Duration: requestTimeout}
		}
	})
}, NodeTimeout(25*time.Minute))

var _ = specs.ShowTails(func() []*landscape.Process { return local.Processes() })
