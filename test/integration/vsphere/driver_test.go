// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("The driver with the controllers of machine-controller-manager", Ordered, func() {
	var (
		place *bed
		spec  *v1alpha1.MachineProviderSpec
		seed  *landscape.Landscape
		way   *life
	)

	BeforeAll(func(ctx SpecContext) {
		own, err := landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, "./cmd/machine-controller-manager-provider-hybrid")
		Expect(err).NotTo(HaveOccurred())
		place = newBed(ctx)
		spec = place.spec(ctx, "DC0_C0")
		way = begin(0)
		spec.VSphere.Connection = way.connection()
		spec.VSphere.Connection.InstanceUUID = inspector.ServiceContent.About.InstanceUuid
		seed, err = landscape.New(landscape.Options{
			Dir: GinkgoT().TempDir(), Namespace: place.shoot, Binaries: landscape.DefaultBinaries().WithOwn(own),
			DriverArgs: []string{"--machine-safety-orphan-vms-period=10s", "--resource-exhausted-retry=2s"},
		})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(seed.Stop)
		Expect(seed.StartCluster(ctx)).To(Succeed())

		raw, err := codec.Encode(spec)
		Expect(err).NotTo(HaveOccurred())
		Expect(seed.Client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: place.shoot},
			StringData: map[string]string{"userData": "#!/bin/sh\n", "vc.username": siteCredentials()["username"],
				"vc.password": siteCredentials()["password"]},
		})).To(Succeed())
		Expect(seed.Client.Create(ctx, &machinev1alpha1.MachineClass{
			ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: place.shoot}, Provider: machine.Provider, ProviderSpec: *raw,
			SecretRef: &corev1.SecretReference{Name: "cloudprovider", Namespace: place.shoot},
		})).To(Succeed())
		Expect(seed.Driver.Start()).To(Succeed())
	}, NodeTimeout(15*time.Minute))

	create := func(ctx context.Context, names ...string) []*machinev1alpha1.Machine {
		GinkgoHelper()
		created := make([]*machinev1alpha1.Machine, len(names))
		for i, name := range names {
			created[i] = &machinev1alpha1.Machine{
				ObjectMeta: metav1.ObjectMeta{Name: place.shoot + "-" + name, Namespace: place.shoot},
				Spec:       machinev1alpha1.MachineSpec{Class: machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: "class"}},
			}
			Expect(seed.Client.Create(ctx, created[i])).To(Succeed())
		}
		for _, m := range created {
			Eventually(func(ctx context.Context) (machinev1alpha1.MachinePhase, error) {
				err := seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m)
				return m.Status.CurrentStatus.Phase, err
			}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(200 * time.Millisecond).Should(Equal(machinev1alpha1.MachinePending))
		}
		return created
	}
	remove := func(ctx context.Context, created ...*machinev1alpha1.Machine) {
		GinkgoHelper()
		for _, m := range created {
			Expect(seed.Client.Delete(ctx, m)).To(Succeed())
		}
		for _, m := range created {
			Eventually(func(ctx context.Context) error { return seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m) }).
				WithContext(ctx).Within(2 * time.Minute).ProbeEvery(200 * time.Millisecond).Should(MatchError(apierrors.IsNotFound, "not found"))
		}
	}
	virtualMachine := func(ctx context.Context, m *machinev1alpha1.Machine) *object.VirtualMachine {
		GinkgoHelper()
		return object.NewVirtualMachine(inspector, place.vm(ctx, spec, m.Name).Self)
	}
	done := func(ctx context.Context, task *object.Task, err error) {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
	}

	It("should delete no machine that was renamed, moved, turned off, made a template or copied, and leave none behind",
		func(ctx SpecContext) {
			created := create(ctx, "renamed", "moved", "off", "copied", "template")
			renamed, moved, off, copied, template := created[0], created[1], created[2], created[3], created[4]
			root, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/vm")
			Expect(err).NotTo(HaveOccurred())
			task, err := virtualMachine(ctx, renamed).Rename(ctx, place.shoot+"-by-admin")
			done(ctx, task, err)
			task, err = root.(*object.Folder).MoveInto(ctx, []types.ManagedObjectReference{virtualMachine(ctx, moved).Reference()})
			done(ctx, task, err)
			task, err = virtualMachine(ctx, off).PowerOff(ctx)
			done(ctx, task, err)
			task, err = virtualMachine(ctx, template).PowerOff(ctx)
			done(ctx, task, err)
			Expect(virtualMachine(ctx, template).MarkAsTemplate(ctx)).To(Succeed())
			pool := types.ManagedObjectReference{Type: "ResourcePool", Value: spec.VSphere.ResourcePool}
			folder := object.NewFolder(inspector, types.ManagedObjectReference{Type: "Folder", Value: spec.VSphere.Folder})
			marks := []types.BaseOptionValue{
				&types.OptionValue{Key: "gardener.shoot", Value: place.shoot}, &types.OptionValue{Key: "gardener.site", Value: "vc"},
				&types.OptionValue{Key: "gardener.machine", Value: copied.Name},
			}
			task, err = virtualMachine(ctx, copied).Clone(ctx, folder, copied.Name+"-copy", types.VirtualMachineCloneSpec{
				Location: types.VirtualMachineRelocateSpec{Pool: &pool}, Config: &types.VirtualMachineConfigSpec{ExtraConfig: marks},
			})
			done(ctx, task, err)
			before := objectsOf(ctx, place.shoot)

			// What has no machine is deleted by the next look for orphans, so that it has seen the others then.
			orphan := platform.MachineRequest{Name: place.shoot + "-orphan", Spec: spec.DeepCopy(), Credentials: siteCredentials(),
				UserData: []byte("#!/bin/sh\n")}
			orphan.Spec.VSphere.Connection = connection()
			_, err = machines.New(newSessions()).Create(ctx, orphan)
			Expect(err).NotTo(HaveOccurred())
			remove(ctx, create(ctx, "another")...)
			Eventually(func(ctx context.Context) []string {
				return objectsOf(ctx,
					place.shoot)
			}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Equal(before))
			for _, m := range created {
				Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
			}
			remove(ctx, created...)
			left := objectsOf(ctx, place.shoot)
			Expect(left).To(ContainElement("virtual machine "+copied.Name+"-copy"), "which is not ours")
			Expect(left).NotTo(ContainElement(And(HavePrefix("virtual machine"), Not(HaveSuffix("-copy")))))
			task, err = object.NewVirtualMachine(inspector, place.vm(ctx, spec, copied.Name+"-copy").Self).Destroy(ctx)
			done(ctx, task, err)
		}, SpecTimeout(8*time.Minute))

	It("should create no more machines than the site's maximum at once, the oldest first, also after a crash and without another class",
		func(ctx SpecContext) {
			class := &machinev1alpha1.MachineClass{}
			Expect(seed.Client.Get(ctx, client.ObjectKey{Namespace: place.shoot, Name: "class"}, class)).To(Succeed())
			class.ObjectMeta = metav1.ObjectMeta{
				Name: "limited", Namespace: place.shoot, Annotations: map[string]string{v1alpha1.AnnotationMaximumMachines: "3"},
			}
			Expect(seed.Client.Create(ctx, class)).To(Succeed())
			there := func() []string {
				return slices.DeleteFunc(objectsOf(ctx, place.shoot), func(name string) bool {
					return !strings.HasPrefix(name, "virtual machine "+place.shoot+"-limited-")
				})
			}

			requested := make([]*machinev1alpha1.Machine, 10)
			for i := range requested {
				m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-limited-%d", place.shoot, i),
					Namespace: place.shoot}}
				m.Spec.Class = machinev1alpha1.ClassSpec{Kind: "MachineClass", Name: class.Name}
				m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: "vc"}
				requested[i] = m
				Expect(seed.Client.Create(ctx, m)).To(Succeed())
			}
			// expect waits until the machines that exist are the given ones, and all others are refused.
			expect := func(names ...int) {
				GinkgoHelper()
				Eventually(func(g Gomega) {
					var existing []int
					for i, m := range requested {
						if m == nil {
							continue
						}
						g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
						if m.Spec.ProviderID != "" {
							existing = append(existing, i)
							continue
						}
						g.Expect(m.Status.LastOperation).To(And(HaveField("ErrorCode", "ResourceExhausted"),
							HaveField("Description", ContainSubstring("maximumMachines"))), m.Name)
					}
					g.Expect(existing).To(Equal(names))
				}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(200 * time.Millisecond).Should(Succeed())
				Expect(there()).To(HaveLen(len(names)))
			}
			expect(0, 1, 2)

			By("killing the driver and deleting a machine")
			seed.Driver.Kill()
			Expect(seed.Driver.Start()).To(Succeed())
			remove(ctx, requested[1])
			requested[1] = nil
			expect(0, 2, 3)

			By("raising the maximum")
			patch := client.MergeFrom(class.DeepCopy())
			class.Annotations[v1alpha1.AnnotationMaximumMachines] = "6"
			Expect(seed.Client.Patch(ctx, class, patch)).To(Succeed())
			expect(0, 2, 3, 4, 5, 6)

			By("lowering it")
			patch = client.MergeFrom(class.DeepCopy())
			class.Annotations[v1alpha1.AnnotationMaximumMachines] = "1"
			Expect(seed.Client.Patch(ctx, class, patch)).To(Succeed())
			remove(ctx, requested[0], requested[2])
			requested[0], requested[2] = nil, nil
			expect(3, 4, 5, 6)

			remove(ctx, slices.DeleteFunc(requested, func(m *machinev1alpha1.Machine) bool { return m == nil })...)
			Expect(there()).To(BeEmpty())
		}, SpecTimeout(8*time.Minute))

	suite.NightlyIt("should come to the same if its process is killed right after one of its writes", func(ctx SpecContext) {
		var table []string
		defer func() { AddReportEntry("crash matrix", strings.Join(table, "\n"), ReportEntryVisibilityAlways) }()
		restarted := make(chan error, 1)
		way.kill = func() {
			seed.Driver.Kill()
			restarted <- seed.Driver.Start()
		}
		there := func(ctx context.Context) []string {
			return append(objectsOf(ctx, place.shoot), place.files(ctx, place.shoot+"-m")...)
		}
		phase := func(k int, name string, do func()) int {
			GinkgoHelper()
			way.arm(k)
			do()
			if k > 0 {
				Eventually(restarted).WithContext(ctx).Within(time.Minute).Should(Receive(BeNil()), "%s was not killed at write %d", name, k)
				table = append(table, fmt.Sprintf("%s killed after write %d: %v", name, k, way.after.Load()))
			}
			return int(way.writes.Load())
		}
		var m *machinev1alpha1.Machine
		before := there(ctx)
		creations := phase(0, "create", func() { m = create(ctx, "m")[0] })
		with := there(ctx)
		deletions := phase(0, "delete", func() { remove(ctx, m) })
		Expect(there(ctx)).To(Equal(before))
		Expect([]int{creations, deletions}).NotTo(ContainElement(0))
		for k := 1; k <= max(creations, deletions); k++ {
			phase(killed(k, creations), "create", func() { m = create(ctx, "m")[0] })
			Expect(there(ctx)).To(Equal(with), "created, killed after %v", way.after.Load())
			phase(killed(k, deletions), "delete", func() { remove(ctx, m) })
			Expect(there(ctx)).To(Equal(before), "deleted, killed after %v", way.after.Load())
		}
	}, SpecTimeout(10*time.Minute))
})
