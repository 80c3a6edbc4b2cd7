// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"encoding/base64"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vslm"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Machines", func() {
	var (
		place *bed
		spec  *v1alpha1.MachineProviderSpec
		part  platform.Machines
	)

	BeforeEach(func(ctx SpecContext) {
		place = newBed(ctx)
		spec = place.spec(ctx, "DC0_C0")
		part = machines.New(newSessions())
		sweeper := machines.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(server.Set(ctx, control.Settings{})).To(Succeed())
			r := platform.MachineRequest{Spec: spec, Credentials: siteCredentials()}
			existing, err := sweeper.List(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			for _, m := range existing {
				r.Name, r.ProviderID = m.Name, m.ProviderID
				Expect(sweeper.Delete(ctx, r)).To(Succeed())
			}
		})
	})

	request := func(name string) platform.MachineRequest {
		return platform.MachineRequest{Name: place.shoot + "-" + name, Spec: spec, Credentials: siteCredentials(),
			UserData: []byte("#!/bin/sh\n")}
	}
	expectComplete := func(ctx SpecContext, r platform.MachineRequest) {
		GinkgoHelper()
		vm := place.vm(ctx, r.Spec, r.Name)
		Expect(vm).NotTo(BeNil())
		Expect(vm.Runtime.PowerState).To(Equal(types.VirtualMachinePowerStatePoweredOn))
		Expect(disks(vm)).To(Equal([]int64{25, 7}))
		Expect(vm.Network).To(ConsistOf(HaveField("Value", r.Spec.VSphere.Network.ID)))
		Expect(vm.Config.Hardware.NumCPU).To(Equal(r.Spec.VSphere.CPUs))
		Expect(vm.Config.Hardware.MemoryMB).To(BeEquivalentTo(r.Spec.VSphere.MemoryMiB))
		attached, err := place.tags.ListAttachedTags(ctx, vm)
		Expect(err).NotTo(HaveOccurred())
		Expect(attached).To(ConsistOf(r.Spec.VSphere.TagIDs))
	}

	// expectDeleted deletes the machine as machine-controller-manager does, which comes again while something goes on.
	expectDeleted := func(ctx SpecContext, r platform.MachineRequest) {
		GinkgoHelper()
		Eventually(func(g Gomega, ctx SpecContext) {
			err := part.Delete(ctx, r)
			if err != nil && !platform.IsProgress(err) {
				StopTrying("the deletion failed").Wrap(err).Now()
			}
			g.Expect(err).NotTo(HaveOccurred())
		}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
	}

	It("should make a virtual machine with all that it needs, find it, and delete all that it made, with few requests", func(ctx SpecContext) {
		r := request("whole")
		_, err := part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))

		// atMost adds the polls for tasks: the longer a busy machine takes the more there are, one in 200 ms at most.
		var start time.Time
		atMost := func(requests int) OmegaMatcher {
			return BeNumerically("<=", requests+int(time.Since(start)/(200*time.Millisecond)))
		}
		count(ctx)
		start = time.Now()
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		first := count(ctx)
		Expect(first.Total()).To(atMost(14), "%v", first)
		expectComplete(ctx, r)
		vm := place.vm(ctx, spec, r.Name)
		Expect(created.ProviderID).To(Equal("vsphere://" + vm.Config.Uuid))
		Expect(base64.StdEncoding.DecodeString(option(vm, "guestinfo.userdata"))).To(BeEquivalentTo(r.UserData))
		Expect(option(vm, "gardener.shoot")).To(Equal(place.shoot))
		Expect(option(vm, "sched.cpu.latencySensitivity")).To(Equal("normal"))

		second := request("second")
		count(ctx)
		start = time.Now()
		_, err = part.Create(ctx, second)
		Expect(err).NotTo(HaveOccurred())
		steady := count(ctx)
		Expect(steady.Total()).To(atMost(5), "%v", steady)

		r.ProviderID = created.ProviderID
		count(ctx)
		found, err := part.Get(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.ProviderID).To(Equal(created.ProviderID))
		got := count(ctx)
		Expect(got.Total()).To(BeNumerically("<=", 2), "%v", got)

		list, err := part.List(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(list).To(ConsistOf(HaveField("Name", r.Name), HaveField("Name", second.Name)))
		listed := count(ctx)
		Expect(listed.Total()).To(BeNumerically("<=", 3), "%v", listed)

		start = time.Now()
		Expect(part.Delete(ctx, r)).To(Succeed())
		deleted := count(ctx)
		Expect(deleted.Total()).To(atMost(5), "%v", deleted)
		Expect(place.vm(ctx, spec, r.Name)).To(BeNil())
		Expect(part.Delete(ctx, r)).To(Succeed(), "a second time")
		AddReportEntry("requests",
			map[string]control.Counts{"first create": first, "create": steady, "get": got, "list": listed, "delete": deleted})
	})

	It("should return the machine that is there when its ID was lost", func(ctx SpecContext) {
		r := request("lost")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())

		restarted := machines.New(newSessions())
		Expect(restarted.Get(ctx, r)).To(HaveField("ProviderID", created.ProviderID))
		Expect(restarted.Create(ctx, r)).To(HaveField("ProviderID", created.ProviderID))
		Expect(place.vms(ctx, spec)).To(Equal(1))
		expectComplete(ctx, r)
	})

	DescribeTable("should complete or replace what was made only half, and never take it for done",
		func(ctx SpecContext, completed bool, settings control.Settings) {
			if settings.Clone.NoNetwork {
				spec.VSphere.Network = place.otherNetwork(ctx) // the clone stays in that of its template
			}
			r := request("half")
			disturb(ctx, settings)
			_, err := part.Create(ctx, r)
			acted, actedErr := server.Acted(ctx)
			Expect(actedErr).NotTo(HaveOccurred())
			Expect(acted.Faults).To(HaveLen(len(settings.Faults)))
			for i, f := range settings.Faults {
				Expect(acted.Faults[i]).To(Equal(f.Times), f.Method)
			}
			Expect(acted.Clones).To(BeNumerically(">=", settings.Clone.Times))
			Expect(err == nil).To(Equal(completed), "%v", err)
			if completed {
				expectComplete(ctx, r)
				return
			}

			restarted := machines.New(newSessions())
			_, err = restarted.Get(ctx, r)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound), "%v", err)
			_, err = restarted.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			Expect(restarted.Get(ctx, r)).To(HaveField("Name", r.Name))
			Expect(place.vms(ctx, spec)).To(Equal(1))
			expectComplete(ctx, r)
		},
		Entry("turned off", true, control.Settings{Clone: control.Clone{Off: true, Times: 1}}),
		Entry("without its disks", false, control.Settings{Clone: control.Clone{NoDisks: true, Times: 1}}),
		Entry("in the wrong network", false, control.Settings{Clone: control.Clone{NoNetwork: true, Times: 1}}),
		Entry("turned off and cannot be turned on", false, control.Settings{
			Clone:  control.Clone{Off: true, Times: 1},
			Faults: []control.Fault{{Method: "PowerOnVM_Task", Type: "HostCommunication", Times: 1}},
		}),
		Entry("without its disks and cannot be deleted", false, control.Settings{
			Clone:  control.Clone{NoDisks: true, Times: 1},
			Faults: []control.Fault{{Method: "Destroy_Task", Type: "HostCommunication", Times: 1}},
		}),
		Entry("in the wrong network and cannot be deleted", false, control.Settings{
			Clone:  control.Clone{NoNetwork: true, Times: 1},
			Faults: []control.Fault{{Method: "Destroy_Task", Type: "HostCommunication", Times: 1}},
		}),
		Entry("without its tags", false, control.Settings{
			Faults: []control.Fault{{Method: "/rest/com/vmware/cis/tagging/tag-association", Type: "503", Times: 1}},
		}),
	)

	DescribeTable("should not take a machine for deleted that cannot be, and delete it later", func(ctx SpecContext, fault control.Fault) {
		r := request("stays")
		_, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		disturb(ctx, control.Settings{Faults: []control.Fault{fault}})
		err = part.Delete(ctx, r)
		Expect(err).To(MatchError(ContainSubstring(fault.Type)))
		Expect(platform.IsProgress(err)).To(BeFalse())
		Expect(place.vm(ctx, spec, r.Name)).NotTo(BeNil())

		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(place.vm(ctx, spec, r.Name)).To(BeNil())
	},
		Entry("because it is refused", control.Fault{Method: "Destroy_Task", Type: "HostCommunication", Times: 1}),
		Entry("because its task fails", control.Fault{Method: "Destroy_Task", Type: "HostCommunication", Times: 1, InTask: true}),
	)

	It("should reserve the memory although the clone does not", func(ctx SpecContext) {
		spec.VSphere.MemoryReservationLockedToMax = true
		r := request("reserved")
		_, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(place.vm(ctx, spec, r.Name).Config.MemoryReservationLockedToMax).To(HaveValue(BeTrue()))
	})

	DescribeTable("should say what kind of problem it is", func(ctx SpecContext, fault control.Fault, class platform.Class, message string) {
		disturb(ctx, control.Settings{Faults: []control.Fault{fault}})
		_, err := part.Create(ctx, request("fails"))
		Expect(err).To(MatchError(ContainSubstring(message)))
		Expect(platform.ClassOf(err)).To(Equal(class))
		Expect(err).To(MatchError(HavePrefix("site \"vc\": ")))
		Expect(place.vms(ctx, spec)).To(BeZero())
	},
		Entry("the datastore is full", control.Fault{Method: "CloneVM_Task", Type: "NoDiskSpace", InTask: true}, platform.ClassExhausted,
			"NoDiskSpace"),
		Entry("the cluster has no memory", control.Fault{Method: "CloneVM_Task", Type: "InsufficientMemoryResourcesFault", InTask: true},
			platform.ClassExhausted, "InsufficientMemoryResourcesFault"),
		Entry("a privilege is missing", control.Fault{Method: "CloneVM_Task", Type: "NoPermission"}, platform.ClassForbidden, "privilege"),
		Entry("an argument is wrong", control.Fault{Method: "CloneVM_Task", Type: "InvalidArgument"}, platform.ClassConfiguration,
			"InvalidArgument"),
		Entry("the host is not reached", control.Fault{Method: "CloneVM_Task", Type: "HostCommunication"}, platform.ClassTransient,
			"HostCommunication"),
	)

	It("should name the network that does not exist", func(ctx SpecContext) {
		spec.VSphere.Network = v1alpha1.VSphereNetworkReference{Type: "Network", ID: "network-0"}
		_, err := part.Create(ctx, request("fails"))
		Expect(err).To(MatchError(ContainSubstring("network network-0 no longer exists")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should make one virtual machine when the same is asked for at once, in one process and in several", func(ctx SpecContext) {
		r := request("once")
		disturb(ctx, control.Settings{Task: 500 * time.Millisecond})
		parts := []platform.Machines{part, part, part, part, machines.New(newSessions()), machines.New(newSessions())}
		ids := make([]string, len(parts))
		errs := make([]error, len(parts))
		var group sync.WaitGroup
		for i, p := range parts {
			group.Go(func() {
				m, err := p.Create(ctx, r)
				ids[i], errs[i] = m.ProviderID, err
			})
		}
		group.Wait()
		for i := range parts {
			Expect(errs[i]).NotTo(HaveOccurred())
			Expect(ids[i]).To(Equal(ids[0]))
		}
		Expect(place.vms(ctx, spec)).To(Equal(1))
		expectComplete(ctx, r)
	})

	It("should return at the ID when the clone takes long, report no error meanwhile, and wait for it before it deletes",
		func(ctx SpecContext) {
			r := request("slow")
			disturb(ctx, control.Settings{Task: 18 * time.Second})
			start := time.Now()
			created, err := part.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			Expect(time.Since(start)).To(BeNumerically("<", 17*time.Second))
			Expect(place.vm(ctx, spec, r.Name)).To(BeNil(), "the clone goes on")
			r.ProviderID = created.ProviderID
			Expect(part.Get(ctx, r)).To(HaveField("ProviderID", created.ProviderID))

			Expect(server.Set(ctx, control.Settings{})).To(Succeed())
			expectDeleted(ctx, r)
			Expect(place.vms(ctx, spec)).To(BeZero())
		}, NodeTimeout(4*time.Minute))

	suite.NightlyIt("should not try again what fails when the machine shall be deleted", func(ctx SpecContext) {
		r := request("unwanted")
		disturb(ctx,
			control.Settings{Task: 15 * time.Second, Faults: []control.Fault{{Method: "CloneVM_Task", Type: "HostCommunication", InTask: true}}})
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		expectDeleted(ctx, r)
		_, err = part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound), "%v", err)
	}, NodeTimeout(4*time.Minute))

	It("should not take a virtual machine that is still being made for one that is not ours", func(ctx SpecContext) {
		r := request("unfinished")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())

		restarted := machines.New(newSessions())
		disturb(ctx, control.Settings{Unfinished: true})
		for _, id := range []string{"", created.ProviderID} {
			r.ProviderID = id
			err := restarted.Delete(ctx, r)
			Expect(err).To(MatchError(ContainSubstring("still being made")))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		}
		r.ProviderID = ""
		_, err = restarted.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)

		Expect(server.Set(ctx, control.Settings{})).To(Succeed())
		Expect(restarted.Delete(ctx, r)).To(Succeed())
		Expect(place.vms(ctx, spec)).To(BeZero())
	})

	It("should not take a virtual machine that the credentials cannot see for one that does not exist", func(ctx SpecContext) {
		r := request("hidden")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())

		disturb(ctx, control.Settings{Hidden: spec.VSphere.Folder})
		for _, id := range []string{"", created.ProviderID} {
			r.ProviderID = id
			_, err := part.Get(ctx, r)
			for _, err := range []error{err, part.Delete(ctx, r)} {
				Expect(err).To(MatchError(And(HavePrefix(`site "vc": `), ContainSubstring(r.Name), ContainSubstring(spec.VSphere.FolderPath),
					ContainSubstring(spec.VSphere.Folder))))
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
			}
		}

		Expect(server.Set(ctx, control.Settings{})).To(Succeed())
		expectComplete(ctx, r)
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(place.vms(ctx, spec)).To(BeZero())
	})

	It("should find a machine in the shoot's folder that somebody renamed, and none in one that is gone", func(ctx SpecContext) {
		r := request("moved")
		_, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		task, err := object.NewFolder(inspector, types.ManagedObjectReference{Type: "Folder", Value: spec.VSphere.Folder}).Rename(ctx,
			place.shoot+"-renamed")
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(place.vms(ctx, spec)).To(BeZero())

		gone := request("gone")
		gone.Spec = spec.DeepCopy()
		gone.Spec.VSphere.Folder = "group-v0"
		Expect(part.Delete(ctx, gone)).NotTo(Succeed(), "it may be another vCenter")
		gone.Spec.VSphere.Connection.InstanceUUID = inspector.ServiceContent.About.InstanceUuid
		Expect(part.Delete(ctx, gone)).To(Succeed())
	})

	suite.NightlyIt("should make a machine anew whose creation the vCenter accepted too late and that then failed", func(ctx SpecContext) {
		_, err := part.Create(ctx, request("first"))
		Expect(err).NotTo(HaveOccurred(), "the next one only has to be cloned")

		r := request("late")
		faults := []control.Fault{{Method: "CloneVM_Task", Type: "NoPermission", Times: 1}}
		disturb(ctx, control.Settings{Answer: 20 * time.Second, Faults: faults})
		_, err = part.Create(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
		_, err = part.Get(ctx, r)
		Expect(err).To(MatchError(ContainSubstring("has not accepted yet")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

		Expect(server.Set(ctx, control.Settings{Faults: faults})).To(Succeed())
		Eventually(func(ctx SpecContext) platform.Class {
			_, err := part.Get(ctx, r)
			return platform.ClassOf(err)
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(Equal(platform.ClassForbidden))
		_, err = part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound), "it was reported: %v", err)
		Expect(part.Create(ctx, r)).To(HaveField("Name", r.Name))
		expectComplete(ctx, r)
	}, NodeTimeout(4*time.Minute))

	suite.NightlyIt("should try a creation again that the vCenter accepted too late, once the machine was taken for one that exists",
		func(ctx SpecContext) {
			_, err := part.Create(ctx, request("first"))
			Expect(err).NotTo(HaveOccurred(), "the next one only has to be cloned")

			r := request("late")
			settings := control.Settings{
				Answer: 12 * time.Second, Task: 8 * time.Second,
				Faults: []control.Fault{{Method: "CloneVM_Task", Type: "HostCommunication", InTask: true, Times: 1}},
			}
			disturb(ctx, settings)
			_, err = part.Create(ctx, r)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), "%v", err)
			settings.Answer = 0
			Expect(server.Set(ctx, settings)).To(Succeed())
			Eventually(func(g Gomega, ctx SpecContext) {
				g.Expect(part.Get(ctx, r)).To(HaveField("Name", r.Name))
			}).WithContext(ctx).Within(time.Minute).ProbeEvery(500 * time.Millisecond).Should(Succeed())
			Expect(place.vm(ctx, spec, r.Name)).To(BeNil(), "its clone fails")
			Eventually(func(g Gomega, ctx SpecContext) {
				g.Expect(place.vm(ctx, spec, r.Name)).NotTo(BeNil())
			}).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(time.Second).Should(Succeed())
			Expect(part.Initialize(ctx, r)).To(Succeed())
			expectComplete(ctx, r)
		}, NodeTimeout(4*time.Minute))

	It("should report the failure of a clone after the call has returned", func(ctx SpecContext) {
		r := request("fails")
		disturb(ctx,
			control.Settings{Task: 14 * time.Second, Faults: []control.Fault{{Method: "CloneVM_Task", Type: "NoDiskSpace", InTask: true, Times: 1}}})
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID
		Expect(part.Get(ctx, r)).To(HaveField("ProviderID", created.ProviderID))
		Expect(platform.ClassOf(part.Initialize(ctx, r))).To(Equal(platform.ClassExhausted))
		_, err = part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))

		Expect(part.Delete(ctx, r)).To(Succeed())
		_, err = part.Get(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassNotFound))
	}, NodeTimeout(4*time.Minute))

	It("should complete a machine after the call has returned", func(ctx SpecContext) {
		r := request("later")
		disturb(ctx, control.Settings{Task: 12 * time.Second, Faults: []control.Fault{
			{Method: "/rest/com/vmware/cis/tagging/tag-association", Type: "503", Times: 1},
		}})
		_, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Initialize(ctx, r)).To(Succeed())
		Eventually(func(g Gomega, ctx SpecContext) {
			vm := place.vm(ctx, r.Spec, r.Name)
			g.Expect(vm).NotTo(BeNil())
			g.Expect(place.tags.ListAttachedTags(ctx, vm)).To(ConsistOf(spec.VSphere.TagIDs))
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(time.Second).Should(Succeed())
		expectComplete(ctx, r)
	}, NodeTimeout(4*time.Minute))

	It("should store machines by a storage policy, on a datastore of the cluster", func(ctx SpecContext) {
		r := request("policy")
		session, err := newSessions().Get(ctx, "vc", connection(), siteCredentials())
		Expect(err).NotTo(HaveOccurred())
		spec.VSphere.StoragePolicyID, err = session.StoragePolicyID(ctx, "vSAN Default Storage Policy")
		Expect(err).NotTo(HaveOccurred())
		spec.VSphere.Datastore = ""
		_, err = part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		expectComplete(ctx, r)
		_, err = session.StoragePolicyID(ctx, "none")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should keep the machines of a pool apart by a rule that follows them", func(ctx SpecContext) {
		spec.VSphere.AntiAffinityRule = place.shoot + "-pool"
		members := func() []types.ManagedObjectReference {
			GinkgoHelper()
			configuration, err := object.NewClusterComputeResource(inspector,
				types.ManagedObjectReference{Type: "ClusterComputeResource", Value: spec.VSphere.ComputeCluster}).Configuration(ctx)
			Expect(err).NotTo(HaveOccurred())
			for _, rule := range configuration.Rule {
				if apart, ok := rule.(*types.ClusterAntiAffinityRuleSpec); ok && apart.Name == spec.VSphere.AntiAffinityRule {
					return apart.Vm
				}
			}
			return nil
		}
		names := []string{"a", "b", "c"}
		var group sync.WaitGroup
		for _, name := range names {
			group.Go(func() {
				defer GinkgoRecover()
				_, err := part.Create(ctx, request(name))
				Expect(err).NotTo(HaveOccurred())
			})
		}
		group.Wait()
		Eventually(members).WithContext(ctx).Within(time.Minute).Should(HaveLen(3))
		Expect(part.Delete(ctx, request("a"))).To(Succeed())
		Eventually(members).WithContext(ctx).Within(time.Minute).
			Should(ConsistOf(place.vm(ctx, spec, request("b").Name).Self, place.vm(ctx, spec, request("c").Name).Self))
		Expect(part.Delete(ctx, request("b"))).To(Succeed())
		Eventually(members).WithContext(ctx).Within(time.Minute).Should(BeNil())
	})

	It("should make machines although the rule cannot be written", func(ctx SpecContext) {
		spec.VSphere.AntiAffinityRule = place.shoot + "-pool"
		disturb(ctx, control.Settings{Faults: []control.Fault{{Method: "ReconfigureComputeResource_Task", Type: "NoPermission"}}})
		for _, name := range []string{"a", "b"} {
			r := request(name)
			_, err := part.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			expectComplete(ctx, r)
		}
	})

	It("should make machines in four zones of two datacenters and list those of each folder", func(ctx SpecContext) {
		for _, cluster := range []string{"DC0_C0", "DC0_C1", "DC1_C0", "DC1_C1"} {
			r := request("zone")
			r.Name += "-" + cluster[len(cluster)-1:]
			r.Spec = place.spec(ctx, cluster)
			_, err := part.Create(ctx, r)
			Expect(err).NotTo(HaveOccurred())
			expectComplete(ctx, r)
		}
		for _, cluster := range []string{"DC0_C0", "DC1_C0"} {
			r := request("")
			r.Spec = place.spec(ctx, cluster)
			Expect(part.List(ctx, r)).To(HaveLen(2))
			for _, suffix := range []string{"-0", "-1"} {
				r.Name = place.shoot + "-zone" + suffix
				Expect(part.Delete(ctx, r)).To(Succeed())
			}
			Expect(place.vms(ctx, r.Spec)).To(BeZero())
		}
	})

	It("should not touch a virtual machine of the same name that is not ours, nor list it", func(ctx SpecContext) {
		r := request("foreign")
		folder := object.NewFolder(inspector, types.ManagedObjectReference{Type: "Folder", Value: spec.VSphere.Folder})
		pool := types.ManagedObjectReference{Type: "ResourcePool", Value: spec.VSphere.ResourcePool}
		template := object.NewVirtualMachine(inspector, types.ManagedObjectReference{Type: "VirtualMachine", Value: spec.VSphere.Template})
		task, err := template.Clone(ctx, folder, r.Name, types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}})
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())

		_, err = part.Create(ctx, r)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict), "%v", err)
		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(part.List(ctx, r)).To(BeEmpty())
		vm := place.vm(ctx, spec, r.Name)
		Expect(vm).NotTo(BeNil())
		r.ProviderID = "vsphere://" + vm.Config.Uuid
		Expect(platform.ClassOf(part.Delete(ctx, r))).To(Equal(platform.ClassConflict))
		Expect(place.vm(ctx, spec, r.Name)).NotTo(BeNil())
	})

	It("should delete a machine and not the volume that is attached to it", func(ctx SpecContext) {
		r := request("volume")
		created, err := part.Create(ctx, r)
		Expect(err).NotTo(HaveOccurred())
		r.ProviderID = created.ProviderID

		finder := find.NewFinder(inspector)
		datacenter, err := finder.Datacenter(ctx, "/DC0")
		Expect(err).NotTo(HaveOccurred())
		finder.SetDatacenter(datacenter)
		datastore, err := finder.Datastore(ctx, "LocalDS_0")
		Expect(err).NotTo(HaveOccurred())
		manager := vslm.NewObjectManager(inspector)
		task, err := manager.CreateDisk(ctx, types.VslmCreateSpec{
			Name:         r.Name + "-pv",
			CapacityInMB: 10,
			BackingSpec: &types.VslmCreateSpecDiskFileBackingSpec{
				VslmCreateSpecBackingSpec: types.VslmCreateSpecBackingSpec{Datastore: datastore.Reference()},
			},
		})
		Expect(err).NotTo(HaveOccurred())
		result, err := task.WaitForResult(ctx)
		Expect(err).NotTo(HaveOccurred())
		volume := result.Result.(types.VStorageObject)
		file := volume.Config.Backing.(*types.BaseConfigInfoDiskFileBackingInfo).FilePath
		attach(ctx, place.vm(ctx, spec, r.Name), &volume.Config.Id, file)
		Expect(disks(place.vm(ctx, spec, r.Name))).To(HaveLen(3))
		Expect(machines.New(newSessions()).Create(ctx, r)).To(HaveField("ProviderID", created.ProviderID),
			"the volume does not make it incomplete")

		Expect(part.Delete(ctx, r)).To(Succeed())
		Expect(place.vm(ctx, spec, r.Name)).To(BeNil())
		_, err = manager.Retrieve(ctx, datastore, volume.Config.Id.Id)
		Expect(err).NotTo(HaveOccurred())
		var path object.DatastorePath
		Expect(path.FromString(file)).To(BeTrue())
		_, err = datastore.Stat(ctx, path.Path)
		Expect(err).NotTo(HaveOccurred(), "the file %s of the volume", file)
	})
})
