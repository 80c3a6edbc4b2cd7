// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"net/url"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// bed is the place of a shoot in the vCenter.
type bed struct {
	shoot string
	tagID string
	tags  *tags.Manager
}

// newBed makes the tag of a shoot.
func newBed(ctx context.Context) *bed {
	GinkgoHelper()
	b := &bed{shoot: "shoot--it--" + rand.String(5)}
	r := rest.NewClient(inspector)
	Expect(r.Login(ctx, url.UserPassword(vcenter.Username, vcenter.Password))).To(Succeed())
	b.tags = tags.NewManager(r)
	category, err := b.tags.CreateCategory(ctx,
		&tags.Category{Name: owner.TagCategory + b.shoot, Cardinality: "SINGLE", AssociableTypes: []string{"VirtualMachine"}})
	Expect(err).NotTo(HaveOccurred())
	b.tagID, err = b.tags.CreateTag(ctx, &tags.Tag{Name: b.shoot, CategoryID: category})
	Expect(err).NotTo(HaveOccurred())
	return b
}

// spec is the provider spec of a machine class in a cluster, such as DC0_C1. The shoot's folder is made if it is not there.
func (b *bed) spec(ctx context.Context, cluster string) *v1alpha1.MachineProviderSpec {
	GinkgoHelper()
	datacenter, _, _ := strings.Cut(cluster, "_")
	finder := find.NewFinder(inspector)
	dc, err := finder.Datacenter(ctx, "/"+datacenter)
	Expect(err).NotTo(HaveOccurred())
	finder.SetDatacenter(dc)

	compute, err := finder.ClusterComputeResource(ctx, cluster)
	Expect(err).NotTo(HaveOccurred())
	pool, err := compute.ResourcePool(ctx)
	Expect(err).NotTo(HaveOccurred())
	datastore, err := finder.Datastore(ctx, "LocalDS_0")
	Expect(err).NotTo(HaveOccurred())
	network, err := finder.Network(ctx, datacenter+"_DVPG0")
	Expect(err).NotTo(HaveOccurred())
	template, err := finder.VirtualMachine(ctx, vcenter.Template)
	Expect(err).NotTo(HaveOccurred())
	path := "/" + datacenter + "/vm/" + b.shoot
	folder, err := finder.Folder(ctx, path)
	if err != nil {
		parent, err := finder.Folder(ctx, "/"+datacenter+"/vm")
		Expect(err).NotTo(HaveOccurred())
		folder, err = parent.CreateFolder(ctx, b.shoot)
		Expect(err).NotTo(HaveOccurred())
	}

	return &v1alpha1.MachineProviderSpec{
		Site:  "vc",
		Shoot: b.shoot,
		VSphere: &v1alpha1.VSphereMachineSpec{
			Connection:     connection(),
			Template:       template.Reference().Value,
			Datacenter:     dc.Reference().Value,
			ComputeCluster: compute.Reference().Value,
			ResourcePool:   pool.Reference().Value,
			Folder:         folder.Reference().Value,
			FolderPath:     path,
			Network:        v1alpha1.VSphereNetworkReference{Type: network.Reference().Type, ID: network.Reference().Value},
			Datastore:      datastore.Reference().Value,
			CPUs:           4,
			MemoryMiB:      8192,
			RootDiskGiB:    25,
			DataDisks:      []v1alpha1.VSphereDataDisk{{Name: "data", SizeGiB: 7}},
			TagIDs:         []string{b.tagID},
			ExtraConfig:    map[string]string{"sched.cpu.latencySensitivity": "normal"},
		},
	}
}

// otherNetwork is one that templates are not in.
func (b *bed) otherNetwork(ctx context.Context) v1alpha1.VSphereNetworkReference {
	GinkgoHelper()
	network, err := find.NewFinder(inspector).Network(ctx, "/DC0/network/VM Network")
	Expect(err).NotTo(HaveOccurred())
	return v1alpha1.VSphereNetworkReference{Type: network.Reference().Type, ID: network.Reference().Value}
}

// vm returns the virtual machine with the name in the shoot's folder, nil if there is none.
func (b *bed) vm(ctx context.Context, spec *v1alpha1.MachineProviderSpec, name string) *mo.VirtualMachine {
	GinkgoHelper()
	found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, spec.VSphere.FolderPath+"/"+name)
	Expect(err).NotTo(HaveOccurred())
	if found == nil {
		return nil
	}
	vm := &mo.VirtualMachine{}
	Expect(property.DefaultCollector(inspector).RetrieveOne(ctx, found.Reference(), nil, vm)).To(Succeed())
	return vm
}

// vms is how many virtual machines are in the shoot's folder.
func (b *bed) vms(ctx context.Context, spec *v1alpha1.MachineProviderSpec) int {
	GinkgoHelper()
	var folder mo.Folder
	Expect(property.DefaultCollector(inspector).RetrieveOne(ctx, types.ManagedObjectReference{Type: "Folder", Value: spec.VSphere.Folder},
		[]string{"childEntity"}, &folder)).To(Succeed())
	return len(folder.ChildEntity)
}

func disks(vm *mo.VirtualMachine) []int64 {
	var sizes []int64
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			sizes = append(sizes, disk.CapacityInKB>>20)
		}
	}
	return sizes
}

func option(vm *mo.VirtualMachine, key string) string {
	for _, o := range vm.Config.ExtraConfig {
		if value := o.GetOptionValue(); value.Key == key {
			return value.Value.(string)
		}
	}
	return ""
}

// attach attaches the file of a First Class Disk. The simulator's own method for it does not add the disk.
func attach(ctx context.Context, vm *mo.VirtualMachine, id *types.ID, file string) {
	GinkgoHelper()
	var controller int32
	for _, device := range vm.Config.Hardware.Device {
		if disk, ok := device.(*types.VirtualDisk); ok {
			controller = disk.ControllerKey
		}
	}
	task, err := object.NewVirtualMachine(inspector, vm.Self).Reconfigure(ctx, types.VirtualMachineConfigSpec{
		DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device: &types.VirtualDisk{
				VDiskId:         id,
				CapacityInBytes: 10 << 20,
				VirtualDevice: types.VirtualDevice{
					Key:           -1,
					ControllerKey: controller,
					UnitNumber:    new(int32(9)),
					Backing: &types.VirtualDiskFlatVer2BackingInfo{
						VirtualDeviceFileBackingInfo: types.VirtualDeviceFileBackingInfo{FileName: file},
						DiskMode:                     string(types.VirtualDiskModePersistent),
					},
				},
			},
		}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(task.Wait(ctx)).To(Succeed())
}

// files are the disks that are in the folder of a virtual machine with the name in the first datastore.
func (b *bed) files(ctx context.Context, name string) []string {
	GinkgoHelper()
	finder := find.NewFinder(inspector)
	datacenter, err := finder.Datacenter(ctx, "/DC0")
	Expect(err).NotTo(HaveOccurred())
	finder.SetDatacenter(datacenter)
	datastore, err := finder.Datastore(ctx, "LocalDS_0")
	Expect(err).NotTo(HaveOccurred())
	browser, err := datastore.Browser(ctx)
	Expect(err).NotTo(HaveOccurred())
	task, err := browser.SearchDatastore(ctx, datastore.Path(name), &types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*.vmdk"}})
	Expect(err).NotTo(HaveOccurred())
	result, err := task.WaitForResult(ctx)
	if err != nil {
		return nil // there is no such folder
	}
	var files []string
	for _, file := range result.Result.(types.HostDatastoreBrowserSearchResults).File {
		files = append(files, file.GetFileInfo().Path)
	}
	return files
}

// inspect reads properties of an object.
func inspect(ctx context.Context, object types.ManagedObjectReference, properties []string, into any) error {
	return property.DefaultCollector(inspector).RetrieveOne(ctx, object, properties, into)
}
