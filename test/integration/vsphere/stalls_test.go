// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"fmt"
	"sync"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("A vCenter that answers, and whose tasks take long", func() {
	It("should not be taken for one that has stalled, however many machines are deleted", func(ctx SpecContext) {
		place := newBed(ctx)
		spec := place.spec(ctx, "DC0_C0")
		spec.VSphere.DataDisks = nil
		raw, err := codec.Encode(spec)
		Expect(err).NotTo(HaveOccurred())
		class := &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Name: "class"}, Provider: machine.Provider, ProviderSpec: *raw}
		secret := &corev1.Secret{Data: map[string][]byte{"userData": []byte("#!/bin/sh\n")}}
		for key, value := range siteCredentials() {
			secret.Data[spec.Site+"."+key] = []byte(value)
		}
		timeouts := machine.DefaultTimeouts()
		registry := platform.Registry[platform.Machines]{v1alpha1.PlatformVSphere: machines.New(newSessions())}
		creator := machine.NewDriver(registry, timeouts) // a busy machine may create nothing for long
		timeouts.Stalled, timeouts.StalledCalls = 6*time.Second, 4
		d := machine.NewDriver(registry, timeouts)

		// all does something with all machines at the same time, and returns their errors.
		all := func(do func(m *machinev1alpha1.Machine) error) []error {
			const number = 30
			var (
				errs  = make([]error, number)
				group sync.WaitGroup
			)
			for i := range number {
				group.Go(func() {
					errs[i] = do(&machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", place.shoot, i), UID: "1"}})
				})
			}
			group.Wait()
			return errs
		}
		Expect(all(func(m *machinev1alpha1.Machine) error {
			_, err := creator.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
			return err
		})).To(HaveEach(Succeed()))

		disturb(ctx, control.Settings{Task: 15 * time.Second})
		remove := func() []error {
			return all(func(m *machinev1alpha1.Machine) error {
				_, err := d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: secret})
				return err
			})
		}
		Expect(remove()).To(HaveEach(Or(BeNil(), MatchError(ContainSubstring("Progress: ")))))
		Expect(server.Set(ctx, control.Settings{})).To(Succeed())
		Eventually(ctx, remove).Within(2 * time.Minute).Should(HaveEach(BeNil()))
	}, SpecTimeout(6*time.Minute))
})
