// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/nodes"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Virtual machines that somebody changed", func() {
	var (
		place *bed
		spec  *v1alpha1.MachineProviderSpec
		part  platform.Machines
	)

	BeforeEach(func(ctx SpecContext) {
		place = newBed(ctx)
		spec = place.spec(ctx, "DC0_C0")
		part = machines.New(newSessions())
	})

	request := func(name string) platform.MachineRequest {
		return platform.MachineRequest{Name: place.shoot + "-" + name, Spec: spec, Credentials: siteCredentials(),
			UserData: []byte("#!/bin/sh\n")}
	}
	create := func(ctx context.Context, name string) (platform.MachineRequest, *object.VirtualMachine) {
		GinkgoHelper()
		r := request(name)
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		return r, object.NewVirtualMachine(inspector, place.vm(ctx, spec, r.Name).Self)
	}
	run := func(ctx context.Context, task *object.Task, err error) types.AnyType {
		GinkgoHelper()
		Expect(err).NotTo(HaveOccurred())
		result, err := task.WaitForResult(ctx)
		Expect(err).NotTo(HaveOccurred())
		return result.Result
	}
	exists := func(ctx context.Context, vm object.Reference) bool {
		GinkgoHelper()
		var entity mo.ManagedEntity
		err := inspect(ctx, vm.Reference(), []string{"name"}, &entity)
		return err == nil
	}
	// old makes a virtual machine like those that former versions made.
	old := func(ctx context.Context, vm *object.VirtualMachine) {
		GinkgoHelper()
		task, err := vm.Reconfigure(ctx,
			types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "gardener.machine", Value: ""}}})
		run(ctx, task, err)
	}
	nothing := func(context.Context, *object.VirtualMachine) {}
	off := func(ctx context.Context, vm *object.VirtualMachine) {
		GinkgoHelper()
		task, err := vm.PowerOff(ctx)
		run(ctx, task, err)
	}
	rename := func(ctx context.Context, vm *object.VirtualMachine) {
		GinkgoHelper()
		task, err := vm.Rename(ctx, place.shoot+"-renamed-by-admin")
		run(ctx, task, err)
	}
	move := func(ctx context.Context, vm *object.VirtualMachine) {
		GinkgoHelper()
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/vm")
		Expect(err).NotTo(HaveOccurred())
		task, err := found.(*object.Folder).MoveInto(ctx, []types.ManagedObjectReference{vm.Reference()})
		run(ctx, task, err)
	}

	type change = func(context.Context, *object.VirtualMachine)
	DescribeTable("should be listed with the name of their machine or not at all, found by their ID, and deleted",
		func(ctx SpecContext, listed bool, changes ...change) {
			r, vm := create(ctx, "m")
			for _, change := range changes {
				change(ctx, vm)
			}
			restarted := machines.New(newSessions())
			list, err := restarted.List(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			if listed {
				Expect(list).To(ConsistOf(platform.Machine{Name: r.Name, ProviderID: r.ProviderID}))
			} else {
				Expect(list).To(BeEmpty())
			}

			lost := r
			lost.ProviderID = ""
			for _, r := range []platform.MachineRequest{r, lost} {
				found, err := restarted.Get(ctx, r)
				if platform.ClassOf(err) == platform.ClassNotFound {
					Expect(err).To(MatchError(ContainSubstring("it is powered off")), "whose creation is completed")
					continue
				}
				Expect(err).NotTo(HaveOccurred())
				Expect(found.Name).To(Equal(r.Name))
				Expect(found.ProviderID).To(Equal("vsphere://" + vmUUID(ctx, vm)))
				Expect(found.Addresses).To(ContainElement(corev1.NodeAddress{Type: corev1.NodeHostName, Address: r.Name}))
			}
			Expect(restarted.Delete(ctx, lost)).To(Succeed())
			Expect(exists(ctx, vm)).To(BeFalse())
			Expect(restarted.Delete(ctx, r)).To(Succeed())
		},
		Entry("renamed", true, func(ctx context.Context, vm *object.VirtualMachine) { rename(ctx, vm) }),
		Entry("renamed and off", true, func(ctx context.Context, vm *object.VirtualMachine) { rename(ctx, vm); off(ctx, vm) }),
		Entry("made by a former version and renamed", true,
			func(ctx context.Context, vm *object.VirtualMachine) { old(ctx, vm); rename(ctx, vm) }),
		Entry("made by a former version", true, func(ctx context.Context, vm *object.VirtualMachine) { old(ctx, vm) }),
		Entry("off", true, func(ctx context.Context, vm *object.VirtualMachine) { off(ctx, vm) }),
		Entry("moved to another folder", false, func(ctx context.Context, vm *object.VirtualMachine) { move(ctx, vm) }),
		Entry("moved and renamed", false, func(ctx context.Context, vm *object.VirtualMachine) { move(ctx, vm); rename(ctx, vm) }),
		Entry("as they were", true, func(ctx context.Context, vm *object.VirtualMachine) { nothing(ctx, vm) }),
	)

	It("should keep the node of a virtual machine that was renamed", func(ctx SpecContext) {
		r, vm := create(ctx, "m")
		rename(ctx, vm)
		open, err := nodes.New(newSessions()).Open(ctx, platform.NodesRequest{
			Shoot: place.shoot, Credentials: siteCredentials(),
			Site: &v1alpha1.CloudControllerSite{Name: "vc", VSphere: &v1alpha1.VSphereCloudController{
				Connection: connection(), Zones: []v1alpha1.VSphereCloudControllerZone{{Name: "z", Folder: spec.VSphere.Folder}},
			}},
		})
		Expect(err).NotTo(HaveOccurred())
		node := &corev1.Node{Spec: corev1.NodeSpec{ProviderID: r.ProviderID}}
		node.Name = r.Name
		Expect(open.Machines.Exists(ctx, node)).To(BeTrue())
		Expect(open.Machines.ShutDown(ctx, node)).To(BeFalse())
		node.Name = place.shoot + "-another"
		_, err = open.Machines.Exists(ctx, node)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		Expect(part.Delete(ctx, r)).To(Succeed())
	})

	It("should not take a copy of a machine for the machine, nor for one without an object", func(ctx SpecContext) {
		r, vm := create(ctx, "m")
		folder := object.NewFolder(inspector, types.ManagedObjectReference{Type: "Folder", Value: spec.VSphere.Folder})
		pool := types.ManagedObjectReference{Type: "ResourcePool", Value: spec.VSphere.ResourcePool}
		marks := []types.BaseOptionValue{
			&types.OptionValue{Key: "gardener.shoot", Value: place.shoot}, &types.OptionValue{Key: "gardener.site",
				Value: "vc"}, &types.OptionValue{Key: "gardener.machine", Value: r.Name},
		}
		task, err := vm.Clone(ctx, folder, r.Name+"-copy", types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &pool}, Config: &types.VirtualMachineConfigSpec{ExtraConfig: marks},
		})
		copied := run(ctx, task, err).(types.ManagedObjectReference)

		Expect(part.List(ctx, r)).To(ConsistOf(platform.Machine{Name: r.Name, ProviderID: r.ProviderID}))
		twin := r
		twin.ProviderID = "vsphere://" + vmUUID(ctx, object.NewVirtualMachine(inspector, copied))
		Expect(platform.ClassOf(part.Delete(ctx, twin))).To(Equal(platform.ClassConflict))
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(exists(ctx, vm)).To(BeFalse())
		Expect(exists(ctx, copied)).To(BeTrue())
		Expect(machines.New(newSessions()).List(ctx, r)).To(BeEmpty())
	})

	It("should delete the machine and not a replica with its UUID and marks, and neither if it cannot tell them apart", func(ctx SpecContext) {
		r, vm := create(ctx, "m")
		pool := types.ManagedObjectReference{Type: "ResourcePool", Value: spec.VSphere.ResourcePool}
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC0/vm")
		Expect(err).NotTo(HaveOccurred())
		marks := []types.BaseOptionValue{&types.OptionValue{Key: "gardener.shoot", Value: place.shoot},
			&types.OptionValue{Key: "gardener.site", Value: "vc"}}
		task, err := vm.Clone(ctx, found.(*object.Folder), place.shoot+"-replica", types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &pool}, Config: &types.VirtualMachineConfigSpec{Uuid: vmUUID(ctx, vm),
				ExtraConfig: marks},
		})
		replica := run(ctx, task, err).(types.ManagedObjectReference)

		rename(ctx, vm)
		Expect(part.Get(ctx, r)).To(HaveField("ProviderID", r.ProviderID))
		move(ctx, vm)
		_, err = part.Get(ctx, r)
		Expect(err).To(MatchError(And(ContainSubstring(replica.Value), ContainSubstring(vm.Reference().Value))))
		Expect(platform.ClassOf(part.Delete(ctx, r))).To(Equal(platform.ClassConflict))
		task, err = vm.Rename(ctx, r.Name)
		run(ctx, task, err)
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(exists(ctx, vm)).To(BeFalse())
		Expect(exists(ctx, replica)).To(BeTrue())
	})

	It("should not be promised if the vCenter gives them another UUID", func(ctx SpecContext) {
		disturb(ctx, control.Settings{Clone: control.Clone{NoUUID: true, Times: 1}})
		r := request("m")
		_, err := part.Create(ctx, r)
		Expect(err).To(MatchError(ContainSubstring("by which it would be found")))
		Expect(place.vms(ctx, spec)).To(BeZero())
		Expect(part.Create(ctx, r)).To(HaveField("Name", r.Name))
		Expect(part.Delete(ctx, r)).To(Succeed())
	})

	It("should be deletable although the template is gone and their ID was lost", func(ctx SpecContext) {
		r, _ := create(ctx, "m")
		r.ProviderID = ""
		r.Spec = spec.DeepCopy()
		r.Spec.VSphere.Template = "vm-0"
		restarted := machines.New(newSessions())
		Expect(restarted.Get(ctx, r)).To(HaveField("Name", r.Name))
		Expect(restarted.Delete(ctx, r)).To(Succeed())
		Expect(place.vms(ctx, spec)).To(BeZero())
	})

	It("should not be made of a template with an independent disk, of which each would leave a disk", func(ctx SpecContext) {
		template := object.NewVirtualMachine(inspector, types.ManagedObjectReference{Type: "VirtualMachine", Value: spec.VSphere.Template})
		folder := object.NewFolder(inspector, types.ManagedObjectReference{Type: "Folder", Value: spec.VSphere.Folder})
		pool := types.ManagedObjectReference{Type: "ResourcePool", Value: spec.VSphere.ResourcePool}
		task, err := template.Clone(ctx, folder, place.shoot+"-template",
			types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}})
		independent := object.NewVirtualMachine(inspector, run(ctx, task, err).(types.ManagedObjectReference))
		devices, err := independent.Device(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, device := range devices {
			if disk, ok := device.(*types.VirtualDisk); ok {
				disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).DiskMode = string(types.VirtualDiskModeIndependent_persistent)
				Expect(independent.EditDevice(ctx, disk)).To(Succeed())
			}
		}
		spec.VSphere.Template = independent.Reference().Value
		_, err = part.Create(ctx, request("m"))
		Expect(err).To(MatchError(ContainSubstring("independent_persistent")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(place.vms(ctx, spec)).To(Equal(1), "the template alone")
		Expect(place.files(ctx, request("m").Name)).To(BeEmpty())
	})

	suite.NightlyIt("should keep no worker while they take long to be deleted", func(ctx SpecContext) {
		r, vm := create(ctx, "m")
		disturb(ctx, control.Settings{Task: 15 * time.Second})
		start := time.Now()
		err := part.Delete(ctx, r)
		Expect(platform.IsProgress(err)).To(BeTrue(), "%v", err)
		Expect(time.Since(start)).To(BeNumerically("<", 25*time.Second))
		Expect(exists(ctx, vm)).To(BeTrue())
		Expect(part.Delete(ctx, r)).To(Succeed(), "the deletion went on")
		Expect(exists(ctx, vm)).To(BeFalse())
	}, NodeTimeout(4*time.Minute))

	It("should not wait for the rules of others", func(ctx SpecContext) {
		spec.VSphere.AntiAffinityRule = place.shoot + "-pool"
		var requests []platform.MachineRequest
		for _, name := range []string{"a", "b", "c", "d"} {
			r, _ := create(ctx, name)
			requests = append(requests, r)
		}
		disturb(ctx, control.Settings{Rule: time.Minute})
		var group sync.WaitGroup
		for _, r := range requests {
			group.Go(func() {
				defer GinkgoRecover()
				ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
				defer cancel()
				Expect(part.Delete(ctx, r)).To(Succeed())
				Expect(ctx.Err()).NotTo(HaveOccurred())
			})
		}
		group.Wait()
	}, NodeTimeout(4*time.Minute))

})

func vmUUID(ctx context.Context, vm *object.VirtualMachine) string {
	GinkgoHelper()
	var properties mo.VirtualMachine
	Expect(inspect(ctx, vm.Reference(), []string{"config.uuid"}, &properties)).To(Succeed())
	return properties.Config.Uuid
}
