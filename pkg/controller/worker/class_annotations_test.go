// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("The maximum of machines of a site", func() {
	It("should reach all machine classes of the site without a roll, and go again", func(ctx SpecContext) {
		f := newFixture(newNamespace())
		f.pool("a", "cloud-a", "rack-1")
		f.create(ctx)
		DeferCleanup(f.playMachineControllerManager())
		reconcile := func(ctx context.Context) {
			GinkgoHelper()
			f.encode()
			current := &extensionsv1alpha1.Worker{}
			Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(f.worker), current)).To(Succeed())
			Expect(f.actuator(time.Minute).Reconcile(ctx, logr.Discard(), current, f.cluster)).To(Succeed())
		}
		// maximums returns the annotations by the name of the site, and those of the class that only a former machine has.
		maximums := func(ctx context.Context) map[string]string {
			list := &machinev1alpha1.MachineClassList{}
			Expect(apiServer.List(ctx, list, client.InNamespace(f.worker.Namespace))).To(Succeed())
			found := map[string]string{}
			for i := range list.Items {
				class := &list.Items[i]
				key := class.Labels[v1alpha1.LabelSite]
				if class.Name == "former" {
					key = class.Name
				}
				if maximum, ok := class.Annotations[v1alpha1.AnnotationMaximumMachines]; ok {
					found[key] = maximum
				}
			}
			return found
		}
		reconcile(ctx)
		Expect(maximums(ctx)).To(BeEmpty())
		before := f.deployments(ctx)

		// Gardener deletes classes that no pool has; machine-controller-manager keeps them as long as machines use them.
		former := &machinev1alpha1.MachineClass{
			ObjectMeta: metav1.ObjectMeta{
				Name: "former", Namespace: f.worker.Namespace, Finalizers: machineFinalizers[:1],
				Labels:      map[string]string{v1alpha1.LabelSite: "racks"},
				Annotations: map[string]string{"example.com/kept": "later"},
			},
			ProviderSpec: runtime.RawExtension{Raw: []byte("{}")},
		}
		Expect(apiServer.Create(ctx, former)).To(Succeed())

		f.profile.Sites[1].MaximumMachines = new(int32(7))
		reconcile(ctx)
		Expect(maximums(ctx)).To(Equal(map[string]string{"racks": "7", "former": "7"}))

		By("having a smaller one of the owner")
		f.config.Sites[1].MaximumMachines, f.config.Sites[0].MaximumMachines = new(int32(3)), new(int32(0))
		reconcile(ctx)
		Expect(maximums(ctx)).To(Equal(map[string]string{"racks": "3", "former": "3", "cloud": "0"}))

		By("having one of a site that does not respond")
		f.cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))
		f.config.Sites[1].MaximumMachines = new(int32(5))
		reconcile(ctx)
		Expect(maximums(ctx)).To(HaveKeyWithValue("racks", "5"))
		f.cloud.Fail("racks", nil)

		By("having none any more")
		f.profile.Sites[1].MaximumMachines, f.config.Sites[1].MaximumMachines, f.config.Sites[0].MaximumMachines = nil, nil, nil
		reconcile(ctx)
		Expect(maximums(ctx)).To(BeEmpty())
		Expect(f.deployments(ctx)).To(Equal(before))
		Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(former), former)).To(Succeed())
		Expect(former.Annotations).To(HaveKey("example.com/kept"))
	})
})
