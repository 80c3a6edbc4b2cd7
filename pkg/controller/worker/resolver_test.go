// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
)

// deaf is a platform that does not give up when its time is over on the site racks.
type deaf struct {
	platform.MachineClasses
	release chan struct{}
}

func (m *deaf) Resolve(ctx context.Context, request platform.MachineClassRequest, spec *v1alpha1.MachineProviderSpec) error {
	if request.Site.Name == "racks" {
		<-m.release
	}
	return m.MachineClasses.Resolve(ctx, request, spec)
}

var _ = Describe("Resolver", func() {
	It("takes the answers of all other sites if one never gives any", func(ctx SpecContext) {
		f := newFixture("shoot--p--s")
		pools := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for _, name := range pools {
			f.pool(name, "rack-1", "cloud-a")
		}
		platforms := &deaf{MachineClasses: toyplatform.NewMachineClasses(f.cloud), release: make(chan struct{})}
		DeferCleanup(func() { close(platforms.release) })

		d := f.delegate(fake.NewClientBuilder().WithScheme(landscape.Scheme).WithObjects(f.secret, f.user, f.worker).Build())
		d.resolver = resolver{machineClasses: platform.Registry[platform.MachineClasses]{toyplatform.Platform: platforms}, timeout: 200 * time.Millisecond}
		p, err := d.plan(ctx)
		Expect(err).NotTo(HaveOccurred())

		Expect(p.pools).To(HaveLen(len(pools)))
		p.zones(func(_ *pool, z *zone) {
			if z.siteName == "racks" {
				Expect(z.err).To(MatchError(ContainSubstring(`site "racks": no answer within 200ms`)))
				Expect(platform.ClassOf(z.err)).To(Equal(platform.ClassTransient))
				return
			}
			Expect(z.err).NotTo(HaveOccurred())
			Expect(z.spec.Metal).NotTo(BeNil())
		})
	})
})
