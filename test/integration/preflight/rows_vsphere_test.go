// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

// vSphereRows are what is wrong with the vSphere site.
var vSphereRows = []row{
	// What the CloudProfile and the Shoot name.
	{wrong: "the datacenter is misspelt", id: "vsphere-zones",
		field: `sites\[vc\]\.vsphere\.datacenter$`, documents: func(d *documents, _ string) { d.site(vcSite).VSphere.Datacenter = "DC-0" }},
	{wrong: "the cluster is that of another datacenter", id: "vsphere-zones",
		field: `zones\[vc-1\]\.vsphere\.computeCluster$`, documents: func(d *documents, _ string) {
			d.zone(vcSite).VSphere.ComputeCluster = "DC1_C0"
		}},
	{wrong: "two clusters in folders have the name", id: "vsphere-zones",
		field: `zones\[vc-1\]\.vsphere\.computeCluster$`, states: []string{failed, warning},
		documents: func(d *documents, _ string) { d.zone(vcSite).VSphere.ComputeCluster = "twin" }, make: func(ctx SpecContext) string {
			for _, name := range []string{"one", "two"} {
				folder := makeFolder(ctx, "/DC0/host", name)
				_, err := folder.CreateCluster(ctx, "twin", types.ClusterConfigSpecEx{})
				Expect(err).NotTo(HaveOccurred())
			}
			return ""
		}},
	{wrong: "the cluster has no hosts", id: "vsphere-hosts",
		field: `zones\[vc-1\]\.vsphere\.computeCluster$`, documents: func(d *documents, made string) {
			d.zone(vcSite).VSphere.ComputeCluster = made
		}, make: func(ctx SpecContext) string {
			_, err := makeFolder(ctx, "/DC0/host", "place").CreateCluster(ctx, "empty", types.ClusterConfigSpecEx{})
			Expect(err).NotTo(HaveOccurred())
			return "/DC0/host/place/empty"
		}, also: anything},
	{wrong: "the resource pool is misspelt", id: "vsphere-zones",
		field: `zones\[vc-1\]\.vsphere\.resourcePool$`, documents: func(d *documents, _ string) {
			d.zone(vcSite).VSphere.ResourcePool = "ndoes"
		}},
	{wrong: "the resource pool has a limit that the minima exceed", id: "vsphere-resource-pool",
		field: `zones\[vc-2\]\.vsphere\.resourcePool$`, states: []string{warning},
		documents: func(d *documents, made string) {
			d.site(vcSite).Zones[1].VSphere.ResourcePool = made
		}, make: func(ctx SpecContext) string {
			parent, err := find.NewFinder(bed.vim).ResourcePool(ctx, "/DC0/host/DC0_C1/Resources")
			Expect(err).NotTo(HaveOccurred())
			spec := types.DefaultResourceConfigSpec()
			spec.MemoryAllocation.Limit = new(int64(512))
			small, err := parent.Create(ctx, "small", spec)
			Expect(err).NotTo(HaveOccurred())
			destroyInTheEnd(small.Common)
			return "small"
		}},
	{wrong: "the datastore is misspelt", id: "vsphere-zones",
		field: `zones\[vc-1\]\.vsphere\.datastore$`, documents: func(d *documents, _ string) {
			d.zone(vcSite).VSphere.Datastore = "LocalDS-0"
		}},
	{wrong: "the datastore is on one host of the cluster only", id: "vsphere-datastore",
		field: `zones\[vc-1\]\.vsphere\.datastore$`, states: []string{failed, warning},
		documents: func(d *documents, made string) { d.zone(vcSite).VSphere.Datastore = made }, make: func(ctx SpecContext) string {
			makeDatastore(ctx, "/DC0/host/DC0_C0/DC0_C0_H0", "onehost")
			return "onehost"
		}},
	{wrong: "the datastore is on no host of the cluster", id: "vsphere-datastore",
		field: `zones\[vc-1\]\.vsphere\.datastore$`, documents: func(d *documents, made string) {
			d.zone(vcSite).VSphere.Datastore = made
		}, make: func(ctx SpecContext) string {
			makeDatastore(ctx, "/DC0/host/DC0_C1/DC0_C1_H0", "elsewhere")
			return "elsewhere"
		}},
	{wrong: "the datastore is full", id: "vsphere-datastore-space",
		field: `zones\[vc-1\]\.vsphere\.datastore$`, states: []string{failed, warning}, make: func(ctx SpecContext) string {
			full := control.Datastore{Free: 100 << 20}
			setVCenter(ctx, control.Settings{Datastores: map[string]control.Datastore{"LocalDS_0": full, "LocalDS_1": full}})
			return ""
		}},
	{wrong: "the datastore is in maintenance", id: "vsphere-datastore",
		field: `zones\[vc-1\]\.vsphere\.datastore$`, states: []string{failed, warning}, make: func(ctx SpecContext) string {
			setVCenter(ctx, control.Settings{Datastores: map[string]control.Datastore{"LocalDS_0": {Maintenance: true}}})
			return ""
		}},
	{wrong: "the datastore is not accessible", id: "vsphere-datastore",
		field: `zones\[vc-1\]\.vsphere\.datastore$`, states: []string{failed, warning}, make: func(ctx SpecContext) string {
			setVCenter(ctx, control.Settings{Datastores: map[string]control.Datastore{"LocalDS_0": {Inaccessible: true}}})
			return ""
		}},
	{wrong: "the storage policy of a zone is misspelt", id: "vsphere-zones",
		field: `zones\[vc-1\]\.vsphere\.storagePolicy$`, documents: func(d *documents, _ string) {
			d.zone(vcSite).VSphere.Datastore, d.zone(vcSite).VSphere.StoragePolicy = "", "glod"
		}},
	{wrong: "the storage policy of a volume type is misspelt", id: "vsphere-volume-policies",
		field: `volume\.type$`, documents: func(d *documents, _ string) {
			d.config.VolumeTypes[0].Sites[1].VSphere.StoragePolicy = "glod"
		}},
	{wrong: "the storage policy of a storage class is misspelt", id: "vsphere-volume-policies",
		field: `storageClasses\[.*\]\.vsphere\.storagePolicy$`, states: []string{failed, warning},
		documents: func(d *documents, _ string) { d.site(vcSite).StorageClasses[0].VSphere.StoragePolicy = "glod" }},
	{wrong: "the network is misspelt", id: "vsphere-zones",
		field: `zones\[vc-1\]\.vsphere\.network$`, documents: func(d *documents, _ string) {
			d.zone(vcSite).VSphere.Network = "DC0-DVPG0"
		}},
	{wrong: "the network that the Shoot names is misspelt", id: "vsphere-zones",
		field: `^spec.*sites\[\d\]\.vsphere\.network$`, documents: func(d *documents, _ string) {
			d.network(vcSite).VSphere = &v1alpha1.VSphereInfrastructure{Network: "batch-gp"}
		}},
	{wrong: "two networks have the name", id: "vsphere-network",
		field: `zones\[vc-1\]\.vsphere\.network$`, documents: func(d *documents, made string) {
			d.zone(vcSite).VSphere.Network = made
		}, make: func(ctx SpecContext) string {
			makePortGroups(ctx, "twins", "NSX-nodes", "NSX-nodes")
			return "NSX-nodes"
		}},
	{wrong: "the network is attached to no host of the cluster", id: "vsphere-network",
		field: `zones\[vc-1\]\.vsphere\.network$`, documents: func(d *documents, made string) {
			d.zone(vcSite).VSphere.Network = made
		}, make: func(ctx SpecContext) string {
			makePortGroups(ctx, "unattached", "unattached-nodes")
			return "unattached-nodes"
		}, states: []string{failed, warning}},
	{wrong: "the folder is misspelt", id: "vsphere-zones",
		field: `sites\[vc\]\.vsphere\.folder$`, documents: func(d *documents, _ string) { d.site(vcSite).VSphere.Folder = "gradener" }},
	{wrong: "tags of the topology are missing, and must not be created", id: "vsphere-topology",
		field: `sites\[vc\]\.vsphere\.topology$`, documents: func(d *documents, _ string) {
			d.site(vcSite).VSphere.Topology.Create = false
		}},
	{wrong: "a tag of a pool does not exist", id: "vsphere-tags",
		field: `workers.*\.vsphere\.tags$`, documents: func(d *documents, _ string) {
			d.poolAt(volumesPool, vcSite).VSphere.Tags = []string{"backup/dialy"}
		}},

	// Templates.
	{wrong: "the template is misspelt", id: "vsphere-template",
		field: `machine\.image$`, documents: func(d *documents, _ string) {
			d.image(0, vcSite).VSphere.Template = "gardenlinux-1877-3-0"
		}},
	{wrong: "the template is a virtual machine", id: "vsphere-template",
		field: `machine\.image$`, documents: useTemplate, make: func(ctx SpecContext) string {
			return makeMachine(ctx, "machine").Name()
		}},
	{wrong: "the template has a larger disk than the volume of the pool", id: "vsphere-template-disk",
		states: []string{warning}, field: `volume\.size$`, documents: useTemplate,
		make: makeTemplate("large", func(ctx context.Context, vm *object.VirtualMachine) {
			changeDisk(ctx, vm, func(disk *types.VirtualDisk) { disk.CapacityInKB, disk.CapacityInBytes = 100<<20, 100<<30 })
		})},
	{wrong: "the disk of the template is independent of snapshots", id: "vsphere-template",
		field: `machine\.image$`, documents: useTemplate,
		make: makeTemplate("independent", func(ctx context.Context, vm *object.VirtualMachine) {
			changeDisk(ctx, vm, func(disk *types.VirtualDisk) {
				if backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
					backing.DiskMode = string(types.VirtualDiskModeIndependent_persistent)
				}
			})
		})},
	{wrong: "the template has two network cards", unnamed: "machines get one, whatever the template has",
		field: `machine\.image$`, states: []string{failed, warning}, documents: useTemplate,
		make: makeTemplate("cards", func(ctx context.Context, vm *object.VirtualMachine) {
			network, err := find.NewFinder(bed.vim).Network(ctx, "/DC0/network/VM Network")
			Expect(err).NotTo(HaveOccurred())
			backing, err := network.EthernetCardBackingInfo(ctx)
			Expect(err).NotTo(HaveOccurred())
			card, err := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
			Expect(err).NotTo(HaveOccurred())
			Expect(vm.AddDevice(ctx, card)).To(Succeed())
		})},

	// Hosts.
	{wrong: "all hosts of the cluster are in maintenance", id: "vsphere-hosts",
		field: `zones\[vc-1\]\.vsphere\.computeCluster$`, states: []string{failed, warning},
		make: func(ctx SpecContext) string {
			for _, host := range hostsOf(ctx, "DC0_C0") {
				task, err := host.EnterMaintenanceMode(ctx, 0, false, nil)
				Expect(err).NotTo(HaveOccurred())
				Expect(task.Wait(ctx)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) {
					task, err := host.ExitMaintenanceMode(ctx, 0)
					Expect(err).NotTo(HaveOccurred())
					Expect(task.Wait(ctx)).To(Succeed())
				})
			}
			return ""
		}},
	{wrong: "all hosts of the cluster are disconnected", id: "vsphere-hosts",
		field: `zones\[vc-1\]\.vsphere\.computeCluster$`, states: []string{failed, warning},
		make: func(ctx SpecContext) string {
			for _, host := range hostsOf(ctx, "DC0_C0") {
				task, err := host.Disconnect(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(task.Wait(ctx)).To(Succeed())
				DeferCleanup(func(ctx SpecContext) {
					task, err := host.Reconnect(ctx, nil, nil)
					Expect(err).NotTo(HaveOccurred())
					Expect(task.Wait(ctx)).To(Succeed())
				})
			}
			return ""
		}},
	{wrong: "machines have more CPUs than any host", id: "vsphere-machine-type",
		field: `machine\.type$`, states: []string{failed, warning},
		documents: func(d *documents, _ string) {
			d.machineType("small", vcSite).Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("256")}
		}},
	{wrong: "machines have more memory than any host", id: "vsphere-machine-type",
		field: `machine\.type$`, states: []string{failed, warning},
		documents: func(d *documents, _ string) {
			d.machineType("small", vcSite).Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("4Ti")}
		}},
	{wrong: "a pool wants anti-affinity, and the cluster has no DRS", id: "vsphere-drs",
		field: `\.antiAffinity$`, states: []string{failed, warning},
		documents: func(d *documents, _ string) { d.poolAt(volumesPool, vcSite).VSphere.AntiAffinity = true },
		make: func(ctx SpecContext) string {
			cluster, err := find.NewFinder(bed.vim).ClusterComputeResource(ctx, "/DC0/host/DC0_C1")
			Expect(err).NotTo(HaveOccurred())
			set := func(ctx context.Context, enabled bool) {
				task, err := cluster.Reconfigure(ctx, &types.ClusterConfigSpecEx{DrsConfig: &types.ClusterDrsConfigInfo{Enabled: &enabled}}, true)
				Expect(err).NotTo(HaveOccurred())
				Expect(task.Wait(ctx)).To(Succeed())
			}
			set(ctx, false)
			DeferCleanup(func(ctx SpecContext) { set(ctx, true) })
			return ""
		}},

	// The connection and the user.
	{wrong: "the thumbprint is that of another certificate", id: "site-certificate-trust",
		also: connection, field: `\.tls$`, documents: func(d *documents, _ string) {
			d.site(vcSite).TLS = &v1alpha1.TLS{Thumbprint: bed.vCenter.Thumbprint}
		}},
	{wrong: "the authority is another one", id: "site-certificate-trust",
		also: connection, field: `\.tls$`, documents: otherAuthority(vcSite)},
	{wrong: "the certificate has expired", id: "site-certificate-end",
		also: connection, field: `\.tls$`, documents: func(d *documents, made string) {
			d.site(vcSite).VSphere.Server = made
		}, make: func(SpecContext) string { return expired(vCenterService()).URL(sitefaults.VCenterService) }},
	{wrong: "the certificate ends in three days", id: "site-certificate-end",
		field: `\.tls$`, states: []string{warning}, documents: func(d *documents, made string) {
			d.site(vcSite).VSphere.Server = made
		}, make: func(SpecContext) string { return endingSoon(vCenterService()).URL(sitefaults.VCenterService) }},
	{wrong: "the server is not a vCenter", id: "vsphere-connection", field: `vsphere\.server$`, documents: func(d *documents, _ string) {
		d.site(vcSite).VSphere.Server = bed.Others.URL(sitefaults.InventoryService)
	}},
	{wrong: "the user may not deploy templates", id: "vsphere-privileges",
		field: `vc\.username`, make: deny("VirtualMachine.Provisioning.DeployTemplate")},
	{wrong: "the user may not assign virtual machines to the resource pool", id: "vsphere-privileges",
		field: `vc\.username`,
		make:  deny("Resource.AssignVMToPool")},
	{wrong: "the user may not allocate space", id: "vsphere-privileges",
		field: `vc\.username`, make: deny("Datastore.AllocateSpace")},
	{wrong: "the user may not assign the network", id: "vsphere-privileges",
		field: `vc\.username`, make: deny("Network.Assign")},
	{wrong: "the user may not attach tags", id: "vsphere-privileges",
		field: `vc\.username`, make: deny("InventoryService.Tagging.ObjectAttachable")},
}

func vCenterService() countproxy.Service {
	return countproxy.Service{Name: sitefaults.VCenterService, Upstream: "https://" + bed.vCenter.Address, CA: bed.vCenter.CA}
}

func deny(privileges ...string) func(SpecContext) string {
	return func(ctx SpecContext) string {
		setVCenter(ctx, control.Settings{Denied: privileges})
		return ""
	}
}

func setVCenter(ctx context.Context, settings control.Settings) {
	GinkgoHelper()
	Expect(bed.vCenter.Set(ctx, settings)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(bed.vCenter.Set(ctx, control.Settings{})).To(Succeed()) })
}

func destroyInTheEnd(o object.Common) {
	DeferCleanup(func(ctx SpecContext) {
		task, err := o.Destroy(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
	})
}

func makeFolder(ctx context.Context, parent, name string) *object.Folder {
	GinkgoHelper()
	within, err := find.NewFinder(bed.vim).Folder(ctx, parent)
	Expect(err).NotTo(HaveOccurred())
	folder, err := within.CreateFolder(ctx, name)
	Expect(err).NotTo(HaveOccurred())
	destroyInTheEnd(folder.Common)
	return folder
}

// makeDatastore makes a datastore of one host.
func makeDatastore(ctx context.Context, path, name string) {
	GinkgoHelper()
	host, err := find.NewFinder(bed.vim).HostSystem(ctx, path)
	Expect(err).NotTo(HaveOccurred())
	system, err := host.ConfigManager().DatastoreSystem(ctx)
	Expect(err).NotTo(HaveOccurred())
	datastore, err := system.CreateLocalDatastore(ctx, name, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	destroyInTheEnd(datastore.Common)
}

// makePortGroups makes port groups of a switch that no host has.
func makePortGroups(ctx context.Context, name string, groups ...string) {
	GinkgoHelper()
	folder, err := find.NewFinder(bed.vim).Folder(ctx, "/DC0/network")
	Expect(err).NotTo(HaveOccurred())
	task, err := folder.CreateDVS(ctx, types.DVSCreateSpec{ConfigSpec: &types.DVSConfigSpec{Name: name}})
	Expect(err).NotTo(HaveOccurred())
	result, err := task.WaitForResult(ctx)
	Expect(err).NotTo(HaveOccurred())
	dvs := object.NewDistributedVirtualSwitch(bed.vim, result.Result.(types.ManagedObjectReference))
	destroyInTheEnd(dvs.Common)
	var specs []types.DVPortgroupConfigSpec
	for _, group := range groups {
		specs = append(specs, types.DVPortgroupConfigSpec{Name: group, NumPorts: 8})
	}
	task, err = dvs.AddPortgroup(ctx, specs)
	Expect(err).NotTo(HaveOccurred())
	Expect(task.Wait(ctx)).To(Succeed())
	made, err := find.NewFinder(bed.vim).NetworkList(ctx, "/DC0/network/"+groups[0])
	Expect(err).NotTo(HaveOccurred())
	for _, group := range made {
		destroyInTheEnd(object.NewCommon(bed.vim, group.Reference()))
	}
}

func useTemplate(d *documents, name string) {
	d.image(0, vcSite).VSphere.Template = name
}

// makeMachine makes a virtual machine of the template of the first version.
func makeMachine(ctx context.Context, name string) *object.VirtualMachine {
	GinkgoHelper()
	finder := find.NewFinder(bed.vim)
	template, err := finder.VirtualMachine(ctx, "/DC0/vm/gardenlinux-"+imageVersion[0])
	Expect(err).NotTo(HaveOccurred())
	pool, err := finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	Expect(err).NotTo(HaveOccurred())
	folder, err := finder.Folder(ctx, "/DC0/vm")
	Expect(err).NotTo(HaveOccurred())
	task, err := template.Clone(ctx, folder, name,
		types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: types.NewReference(pool.Reference())}})
	Expect(err).NotTo(HaveOccurred())
	Expect(task.Wait(ctx)).To(Succeed())
	vm, err := finder.VirtualMachine(ctx, "/DC0/vm/"+name)
	Expect(err).NotTo(HaveOccurred())
	destroyInTheEnd(vm.Common)
	return vm
}

// makeTemplate makes a template that is changed before.
func makeTemplate(name string, change func(context.Context, *object.VirtualMachine)) func(SpecContext) string {
	return func(ctx SpecContext) string {
		vm := makeMachine(ctx, name)
		change(ctx, vm)
		Expect(vm.MarkAsTemplate(ctx)).To(Succeed())
		return name
	}
}

func changeDisk(ctx context.Context, vm *object.VirtualMachine, change func(*types.VirtualDisk)) {
	GinkgoHelper()
	devices, err := vm.Device(ctx)
	Expect(err).NotTo(HaveOccurred())
	disk := devices.SelectByType(&types.VirtualDisk{})[0].(*types.VirtualDisk)
	change(disk)
	Expect(vm.EditDevice(ctx, disk)).To(Succeed())
}

func hostsOf(ctx context.Context, cluster string) []*object.HostSystem {
	GinkgoHelper()
	found, err := find.NewFinder(bed.vim).HostSystemList(ctx, "/DC0/host/"+cluster+"/*")
	Expect(err).NotTo(HaveOccurred())
	return found
}
