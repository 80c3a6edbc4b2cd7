// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/go-logr/logr"
	"github.com/miekg/dns"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

var _ = Describe("Gardener", Ordered, func() {
	var (
		steps          = &timeline{}
		l              *lab.Lab
		shoot, patient *lab.Shoot
		// discovered has the CloudProfile of what the sites offer, available a control plane that is highly available.
		discovered, available *lab.Shoot
		first                 = []string{lab.Cloud, lab.VC, lab.Racks}
		machines              map[string]string
	)

	BeforeAll(func(ctx SpecContext) {
		requirements()
		log.SetLogger(logr.Discard())
		steps.begin()
		dir, err := landscape.CacheDir("garden")
		Expect(err).NotTo(HaveOccurred())
		unlock, err := lock(dir)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(unlock)
		own, err := landscape.BuildOwn(ctx, dir+"-binaries", steps, "./cmd/...") // where they stay: what has not changed is not linked again
		Expect(err).NotTo(HaveOccurred())
		steps.add("Build our executables")
		l, err = lab.Start(ctx, lab.Options{Dir: dir, Own: own, Progress: steps, Log: GinkgoLogr})
		DeferCleanup(func(ctx SpecContext) {
			steps.table()
			if os.Getenv("KEEP") != "" && l.Garden != nil {
				lookAround(ctx, steps, l)
			}
			Expect(l.Stop(ctx)).To(Succeed())
		}, NodeTimeout(24*time.Hour))
		Expect(err).NotTo(HaveOccurred())
		shoot, patient, available = l.Shoot(lab.Hybrid), l.Shoot(lab.Patient), l.Shoot(lab.Available)
		discovered = l.ShootIn(l.Second, lab.Discovered)
		steps.add("Sites: OpenStack, vCenter, inventory of bare metal")
	}, NodeTimeout(30*time.Minute))

	JustAfterEach(steps.failure)

	steps.step("Virtual garden", func(ctx SpecContext) {
		Expect(l.StartVirtual(ctx)).To(Succeed())
		Expect(l.Register(ctx)).To(Succeed())
		Expect(l.CreateProfile(ctx)).To(Succeed())
	})

	steps.step("Seed with our extension", func(ctx SpecContext) {
		Expect(l.Seed.Start(ctx)).To(Succeed())
		Expect(l.WaitSeed(ctx, l.Seed.Name, steps.tell)).To(Succeed())
		Expect(l.Second.Start(ctx)).To(Succeed()) // nobody waits for it yet
	})

	steps.step("Admission from its charts, which refuses sites that overlap", func(ctx SpecContext) {
		Expect(l.InstallAdmission(ctx)).To(Succeed())
		object, err := shoot.Object(first...)
		Expect(err).NotTo(HaveOccurred())
		Expect(lab.Overlap(object)).To(Succeed())
		Eventually(l.Client.Create).WithArguments(ctx, object, client.DryRunAll).Should(MatchError(And(
			ContainSubstring("denied the request"), ContainSubstring("spec.provider.infrastructureConfig.sites"),
		)))
	})

	// Its hosts need longer than gardenlet waits. Meanwhile the other shoot goes through its life.
	steps.step("Begin to create a shoot with slow hosts", func(ctx SpecContext) {
		object, err := patient.Slow()
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Client.Create(ctx, object)).To(Succeed())
	})

	steps.step("Create the shoot on OpenStack, vSphere and bare metal", func(ctx SpecContext) {
		object, err := shoot.Object(first...)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Client.Create(ctx, object)).To(Succeed())
		Expect(shoot.WaitCreated(ctx, steps.tell)).To(Succeed())
	})

	steps.step("Its nodes are initialised by the cloud controllers of their sites", func(ctx SpecContext) {
		Expect(shoot.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1, lab.Racks: 1})).To(Succeed())
		var err error
		machines, err = shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(machines).To(HaveLen(3))
		for _, domain := range []string{"internal", "shoots"} {
			answer, err := nameserver.Ask(ctx, l.DNS.Address, "api."+lab.Hybrid+"."+garden.Project+"."+domain+"."+garden.Domain, dns.TypeA)
			Expect(err).NotTo(HaveOccurred())
			Expect(answer.Values).To(HaveLen(1))
		}
	})

	steps.step("Its etcd is backed up by etcd-backup-restore, to a bucket with object lock", func(ctx SpecContext) {
		Eventually(shoot.Backups).WithContext(ctx).WithTimeout(2 * time.Minute).Should(ContainElement(
			And(ContainSubstring("/etcd-main/"), ContainSubstring("/Full-"))))
		message, known, err := shoot.BackupError(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(known).To(BeTrue())
		Expect(message).To(BeEmpty())
	})

	steps.step("Create a bastion, change from where it is reached, and let it expire", func(ctx SpecContext) {
		before, err := shoot.Left(ctx)
		Expect(err).NotTo(HaveOccurred())
		bastion, err := shoot.NewBastion(ctx, "203.0.113.7/32")
		Expect(err).NotTo(HaveOccurred())
		Expect(bastion.Spec).To(And(HaveField("SeedName", HaveValue(Equal(garden.SeedName))),
			HaveField("ProviderType", HaveValue(Equal(garden.ProviderType)))))
		Expect(l.WaitBastion(ctx, bastion, steps.tell)).To(Succeed())
		Expect(shoot.LeftAtCloud(ctx, " "+bastion.Status.Ingress.IP+" ")).To(ConsistOf(ContainSubstring("floating IP")))
		server, err := shoot.LeftAtCloud(ctx, ": server "+shoot.TechnicalID()+"-bastion-")
		Expect(err).NotTo(HaveOccurred())
		Expect(server).To(HaveLen(1))
		Expect(shoot.LeftAtCloud(ctx, "ingress IPv4 tcp 22-22 ")).To(HaveLen(2)) // to the bastion, and from it to the nodes
		Expect(shoot.LeftAtCloud(ctx, "ingress IPv4 tcp 22-22 203.0.113.7/32")).To(HaveLen(1))

		Expect(l.ExpireBastion(ctx, bastion, time.Now().Add(20*time.Second), "203.0.113.8/32")).To(Succeed())
		Eventually(shoot.LeftAtCloud).WithContext(ctx).WithArguments("ingress IPv4 tcp 22-22 203.0.113.").WithTimeout(15 * time.Second).
			Should(ConsistOf(ContainSubstring("203.0.113.8/32")))
		Expect(shoot.LeftAtCloud(ctx, ": server "+shoot.TechnicalID()+"-bastion-")).To(Equal(server))
		Expect(l.WaitNoBastion(ctx, bastion, steps.tell)).To(Succeed())
		Expect(time.Now()).To(BeTemporally(">", bastion.Status.ExpirationTimestamp.Time))
		Expect(shoot.Left(ctx)).To(ConsistOf(before))
	})

	steps.step("Scale the pool to two machines on each site", func(ctx SpecContext) {
		since := time.Now()
		Expect(shoot.Change(ctx, func(s *gardencorev1beta1.Shoot) error {
			pool := lab.PoolOf(s, lab.Pool)
			pool.Minimum, pool.Maximum = 6, 8
			return nil
		})).To(Succeed())
		Expect(shoot.Wait(ctx, since, steps.tell)).To(Succeed())
		Expect(shoot.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 2, lab.VC: 2, lab.Racks: 2})).To(Succeed())
	})

	steps.step("Add a site, while no machine is replaced", func(ctx SpecContext) {
		before, err := shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.Collect(maps.Keys(before))).To(ContainElements(slices.Collect(maps.Keys(machines))))
		since := time.Now()
		Expect(shoot.Change(ctx, func(s *gardencorev1beta1.Shoot) error {
			return lab.SetSites(s, append(slices.Clone(first), lab.Hall)...)
		})).To(Succeed())
		Expect(shoot.Wait(ctx, since, steps.tell)).To(Succeed())
		Expect(shoot.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 2, lab.VC: 2, lab.Racks: 2, lab.Hall: 1})).To(Succeed())
		machines, err = shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.Collect(maps.Keys(machines))).To(ContainElements(slices.Collect(maps.Keys(before))))
	})

	steps.step("Rotate the credentials of OpenStack and bare metal, whose former ones end", func(ctx SpecContext) {
		deployed := func() map[string][]byte {
			secret := &corev1.Secret{}
			Expect(l.Seed.Client.Get(ctx, client.ObjectKey{Namespace: shoot.TechnicalID(), Name: v1beta1constants.SecretNameCloudProvider},
				secret)).To(Succeed())
			return secret.Data
		}
		before := deployed()
		end, err := l.Rotate(ctx)
		Expect(err).NotTo(HaveOccurred())
		since := time.Now()
		Expect(shoot.Ask(ctx, v1beta1constants.GardenerOperationReconcile)).To(Succeed())
		Expect(shoot.Wait(ctx, since, steps.tell)).To(Succeed())
		Expect(end(ctx)).To(Succeed())
		Expect(deployed()).To(And(HaveKey("racks.clientKey"), HaveKey("hall.clientKey"), Not(HaveKey("racks.token")),
			HaveKeyWithValue("cloud.applicationCredentialID", Not(Equal(before["cloud.applicationCredentialID"])))))
		Expect(shoot.Machines(ctx)).To(Equal(machines))
	})

	steps.step("A second seed, whose backups are in Swift", func(ctx SpecContext) {
		Expect(garden.Unknown(ctx, l.ShootClient(shoot.TechnicalID()))).To(BeEmpty())
		Expect(l.WaitSeed(ctx, l.Second.Name, steps.tell)).To(Succeed())
		Expect(l.Forbidden(ctx)).To(BeEmpty()) // later, those of a shoot may end before the processes that have them
	})

	// kept remembers what a shoot has. The function that it returns expects that it has the same after a move, in a seed whose load balancers
	// have addresses with a prefix, and reports how many machines were replaced.
	kept := func(ctx SpecContext, shoot *lab.Shoot, name string) func(to *garden.Seed, addresses, figure string) {
		GinkgoHelper()
		machines, err := shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		nodes, err := shoot.Nodes(ctx)
		Expect(err).NotTo(HaveOccurred())
		left, err := shoot.Left(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(machines)).To(And(BeNumerically(">=", len(first)), Equal(len(nodes))))
		begin := time.Now()
		return func(to *garden.Seed, addresses, figure string) {
			GinkgoHelper()
			steps.figure(figure+"-seconds", time.Since(begin).Seconds())
			Eventually(shoot.Machines).WithContext(ctx).WithTimeout(time.Minute).Should(HaveLen(len(machines)))
			after, err := shoot.Machines(ctx)
			Expect(err).NotTo(HaveOccurred())
			replaced := 0
			for id := range machines {
				if after[id] != machines[id] {
					replaced++
				}
			}
			steps.figure(figure+"-machines-replaced", float64(replaced))
			Expect(after).To(Equal(machines))
			Expect(shoot.Left(ctx)).To(ConsistOf(left))
			Expect(shoot.Nodes(ctx)).To(Equal(nodes))
			for _, domain := range []string{"internal", "shoots"} {
				answer, err := nameserver.Ask(ctx, l.DNS.Address, "api."+name+"."+garden.Project+"."+domain+"."+garden.Domain, dns.TypeA)
				Expect(err).NotTo(HaveOccurred())
				Expect(answer.Values).To(ConsistOf(HavePrefix(addresses)))
			}
			Expect(shoot.InSeed(ctx, to)).To(HaveLen(3)) // a namespace, a Cluster and a BackupEntry
		}
	}
	move := func(ctx SpecContext, from, to *garden.Seed, addresses string) {
		GinkgoHelper()
		expectKept := kept(ctx, shoot, lab.Hybrid)
		Expect(shoot.Move(ctx, to, steps.tell)).To(Succeed())
		expectKept(to, addresses, "move-control-plane")
		Eventually(shoot.InSeed).WithContext(ctx).WithArguments(from).WithTimeout(time.Minute).Should(BeEmpty())
	}

	steps.step("Move the control plane to it while machines on all platforms run", func(ctx SpecContext) {
		move(ctx, l.Seed, l.Second, "10.240.101.")
		Expect(shoot.SwiftBackups(ctx)).To(ContainElements(ContainSubstring("/etcd-main/v2/Full-")))
	})

	steps.step("Move it back", func(ctx SpecContext) {
		move(ctx, l.Second, l.Seed, "10.240.100.")
		Eventually(shoot.SwiftBackups).WithContext(ctx).WithTimeout(time.Minute).Should(BeEmpty())
	})

	steps.step("Hibernate", func(ctx SpecContext) {
		since := time.Now()
		Expect(shoot.Change(ctx, func(s *gardencorev1beta1.Shoot) error {
			s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(true)}
			return nil
		})).To(Succeed())
		Expect(shoot.Wait(ctx, since, steps.tell)).To(Succeed())
		Expect(shoot.Machines(ctx)).To(BeEmpty())
	})

	steps.step("Wake up", func(ctx SpecContext) {
		since := time.Now()
		Expect(shoot.Change(ctx, func(s *gardencorev1beta1.Shoot) error {
			s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: new(false)}
			return nil
		})).To(Succeed())
		Expect(shoot.Wait(ctx, since, steps.tell)).To(Succeed())
		Expect(shoot.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1, lab.Racks: 1, lab.Hall: 1})).To(Succeed())
	})

	// changeAlone changes the pool on the OpenStack site alone, and expects it to have that many machines when gardenlet is done.
	changeAlone := func(ctx SpecContext, machines int, change func(*gardencorev1beta1.Shoot) error) {
		GinkgoHelper()
		since := time.Now()
		Expect(shoot.Change(ctx, change)).To(Succeed())
		Expect(shoot.Wait(ctx, since, steps.tell)).To(Succeed())
		list := &machinev1alpha1.MachineList{}
		Expect(l.Seed.Client.List(ctx, list, client.InNamespace(shoot.TechnicalID()))).To(Succeed())
		prefix := shoot.TechnicalID() + "-" + lab.AlonePool + "-"
		list.Items = slices.DeleteFunc(list.Items, func(m machinev1alpha1.Machine) bool { return !strings.HasPrefix(m.Name, prefix) })
		Expect(list.Items).To(And(HaveLen(machines), HaveEach(HaveField("Status.CurrentStatus.Phase", machinev1alpha1.MachineRunning))))
	}
	// expectCondition waits for a condition of the Infrastructure that says what is wrong with the vCenter.
	expectCondition := func(ctx SpecContext, kind, text string) {
		GinkgoHelper()
		Eventually(shoot.Conditions).WithContext(ctx).WithTimeout(2 * time.Minute).Should(ContainElement(And(
			HaveField("Type", gardencorev1beta1.ConditionType(kind)), HaveField("Status", gardencorev1beta1.ConditionFalse),
			HaveField("Message", And(ContainSubstring(`site "`+lab.VC+`"`), ContainSubstring(text))))))
	}
	resizeAlone := func(minimum int32) func(*gardencorev1beta1.Shoot) error {
		return func(s *gardencorev1beta1.Shoot) error {
			lab.PoolOf(s, lab.AlonePool).Minimum = minimum
			return nil
		}
	}
	var leave func(context.Context) error

	steps.step("Add a pool on OpenStack while the vCenter refuses the password", func(ctx SpecContext) {
		before, err := shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		leave, err = l.VCenter.Settle(ctx, shoot.TechnicalID())
		Expect(err).NotTo(HaveOccurred())
		Expect(l.VCenter.Set(ctx, control.Settings{Password: "expired"})).To(Succeed())
		Expect(l.VCenter.EndSessions(ctx)).To(Succeed())
		changeAlone(ctx, 1, func(s *gardencorev1beta1.Shoot) error {
			lab.AddAlone(s)
			return nil
		})
		expectCondition(ctx, v1alpha1.ConditionSitesReconciled, "InvalidLogin")
		after, err := shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(slices.Collect(maps.Keys(after))).To(ContainElements(slices.Collect(maps.Keys(before))))
		Expect(l.VCenter.Set(ctx, control.Settings{})).To(Succeed())
	})

	steps.step("Remove the vCenter, whose folder has a virtual machine of somebody else", func(ctx SpecContext) {
		changeAlone(ctx, 2, func(s *gardencorev1beta1.Shoot) error {
			if err := lab.SetSites(s, lab.Cloud, lab.Racks, lab.Hall); err != nil {
				return err
			}
			lab.AddAlone(s)
			lab.PoolOf(s, lab.AlonePool).Minimum = 2
			return nil
		})
		Expect(shoot.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 3, lab.Racks: 1, lab.Hall: 1})).To(Succeed())
		expectCondition(ctx, v1alpha1.ConditionRemovedSitesDeleted, "somebody-elses")
	})

	steps.step("Grow the pool while the removed vCenter is dead", func(ctx SpecContext) {
		Expect(l.VCenter.Set(ctx, control.Settings{Down: true})).To(Succeed())
		changeAlone(ctx, 3, resizeAlone(3))
		expectCondition(ctx, v1alpha1.ConditionRemovedSitesDeleted, "")
		Expect(l.VCenter.Set(ctx, control.Settings{})).To(Succeed())
	})

	steps.step("The vCenter is deleted when its folder is free", func(ctx SpecContext) {
		Expect(leave(ctx)).To(Succeed())
		Expect(shoot.Ask(ctx, v1beta1constants.GardenerOperationReconcile)).To(Succeed())
		Eventually(shoot.Conditions).WithContext(ctx).WithTimeout(5 * time.Minute).ShouldNot(ContainElement(
			HaveField("Type", gardencorev1beta1.ConditionType(v1alpha1.ConditionRemovedSitesDeleted))))
		Eventually(func() ([]vcenter.Object,
			error) {
			return l.VCenter.Objects(ctx, shoot.TechnicalID())
		}).WithTimeout(time.Minute).Should(BeEmpty())
	})

	steps.step("Delete the shoot: nothing is left in the garden, the seed and on any site", func(ctx SpecContext) {
		Expect(shoot.Delete(ctx, steps.tell)).To(Succeed())
		Expect(shoot.Backups(ctx)).To(ContainElement(ContainSubstring("/Incr-")))
		Eventually(func(ctx context.Context) (string, error) {
			message, _, err := shoot.BackupError(ctx)
			return message, err
		}).WithContext(ctx).WithTimeout(2 * time.Minute).Should(ContainSubstring("locked until "))
		Expect(shoot.UnlockBackups(ctx)).To(Succeed())
		Expect(client.IgnoreNotFound(l.Seed.Client.Get(ctx, client.ObjectKey{Name: shoot.TechnicalID()}, &corev1.Namespace{}))).To(Succeed())
		Eventually(shoot.InGarden).WithContext(ctx).WithTimeout(5 * time.Minute).Should(BeEmpty())
		Expect(shoot.Left(ctx)).To(BeEmpty())
	})

	steps.step("Create a CloudProfile of what the sites offer, and a shoot with it in the second seed", func(ctx SpecContext) {
		Expect(l.Discover(ctx)).To(Succeed())
		object, err := discovered.Discovered(ctx)
		Expect(err).NotTo(HaveOccurred())
		object.Spec.SeedName = new(garden.SecondName)
		Expect(l.Client.Create(ctx, object)).To(Succeed())
		Expect(discovered.WaitCreated(ctx, steps.tell)).To(Succeed())
		Expect(discovered.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1, lab.Racks: 1, lab.Hall: 1})).To(Succeed())
		Expect(l.Second.RestartGardenlet(ctx)).To(Succeed()) // it saves ShootStates of what is created when it starts, and every six hours
		Expect(discovered.WaitState(ctx, steps.tell)).To(Succeed())
	})

	steps.step("The second seed dies: the shoot is restored in the first one from its ShootState and its backups", func(ctx SpecContext) {
		expectKept := kept(ctx, discovered, lab.Discovered)
		Eventually(discovered.SwiftBackups).WithContext(ctx).WithTimeout(time.Minute).Should(ContainElement(ContainSubstring("/Incr-")))
		Expect(l.Forbidden(ctx, garden.Lasting...)).To(BeEmpty())
		l.Second.Die(ctx)
		l.Seed.CopyWithoutFinalSnapshots()
		Expect(discovered.Rescue(ctx, l.Seed, steps.tell)).To(Succeed())
		expectKept(l.Seed, "10.240.100.", "rescue-control-plane")
	})

	steps.step("Delete the shoot of the dead seed", func(ctx SpecContext) {
		Expect(discovered.Delete(ctx, steps.tell)).To(Succeed())
		Expect(discovered.UnlockBackups(ctx)).To(Succeed())
		Eventually(discovered.InGarden).WithContext(ctx).WithTimeout(5 * time.Minute).Should(BeEmpty())
		Expect(discovered.Left(ctx)).To(BeEmpty())
		Expect(discovered.SwiftBackups(ctx)).To(BeEmpty())
	})

	steps.step("Create a shoot whose control plane is highly available", func(ctx SpecContext) {
		object, err := available.Available(lab.Cloud, lab.VC)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Client.Create(ctx, object)).To(Succeed())
		Expect(available.WaitCreated(ctx, steps.tell)).To(Succeed())
		Expect(available.WaitNodes(ctx, steps.tell, map[string]int{lab.Cloud: 1, lab.VC: 1})).To(Succeed())
		for deployment := range lab.Elected {
			Eventually(available.Replicas).WithContext(ctx).WithTimeout(time.Minute).Should(HaveKeyWithValue(deployment, int32(2)))
		}
		Expect(available.Replicas(ctx)).To(HaveKeyWithValue("csi-vsphere-controller", int32(2)))
	})

	steps.step("Each component of it loses its leader, and another member takes over", func(ctx SpecContext) {
		for deployment, leases := range lab.Elected {
			before, err := available.Leaders(ctx, deployment)
			Expect(err).NotTo(HaveOccurred())
			Expect(before).To(HaveLen(len(leases)), deployment)
			for lease, pod := range before {
				begin := time.Now()
				Expect(available.Lose(ctx, pod)).To(Succeed())
				Eventually(available.Leaders).WithContext(ctx).WithArguments(deployment).WithTimeout(2 * time.Minute).
					Should(HaveKeyWithValue(lease, Not(Equal(pod))))
				steps.tell(fmt.Sprintf("%s: Lease %s has another leader after %.0f s", deployment, lease, time.Since(begin).Seconds()))
			}
			Eventually(available.Replicas).WithContext(ctx).WithTimeout(time.Minute).Should(HaveKeyWithValue(deployment, int32(2)))
		}
	})

	steps.step("Delete the shoot with the highly available control plane", func(ctx SpecContext) {
		Expect(available.Delete(ctx, steps.tell)).To(Succeed())
		Expect(available.UnlockBackups(ctx)).To(Succeed())
		Eventually(available.InGarden).WithContext(ctx).WithTimeout(5 * time.Minute).Should(BeEmpty())
		Expect(available.Left(ctx)).To(BeEmpty())
	})

	steps.stepWithin(15*time.Minute, "The shoot with slow hosts was tried again and is created: no machine was lost", func(ctx SpecContext) {
		Expect(patient.WaitCreated(ctx, steps.tell)).To(Succeed())
		failures, err := patient.Failures(ctx)
		Expect(err).NotTo(HaveOccurred())
		var failure lab.Failure
		Expect(failures).To(ContainElement(HaveField("Message", And(ContainSubstring("Worker "), ContainSubstring(`site "`+lab.Racks))),
			&failure))
		for _, f := range failures {
			steps.tell("gardenlet's attempt of " + f.Time.Format(time.TimeOnly) + " failed: " + f.Message)
		}
		Expect(patient.WaitNodes(ctx, steps.tell, map[string]int{lab.Racks: 2})).To(Succeed())
		machines, err := patient.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(machines).To(HaveLen(2))
		var names []string
		for _, use := range l.Inventory.Journal.UsesOf(patient.TechnicalID()) {
			Expect(use).To(And(HaveField("From", BeTemporally("<", failure.Time)), HaveField("To", BeZero())))
			names = append(names, strings.TrimPrefix(use.Consumer, patient.TechnicalID()+"/"))
		}
		Expect(names).To(ConsistOf(slices.Collect(maps.Values(machines))))
	})

	steps.step("Delete it: nothing is left", func(ctx SpecContext) {
		Expect(patient.Delete(ctx, steps.tell)).To(Succeed())
		Expect(patient.UnlockBackups(ctx)).To(Succeed())
		Eventually(patient.InGarden).WithContext(ctx).WithTimeout(5 * time.Minute).Should(BeEmpty())
		Expect(patient.Left(ctx)).To(BeEmpty())
	})

	steps.step("All that our extension and the admission component may do was needed, and they tried nothing else", func(ctx SpecContext) {
		Expect(l.Forbidden(ctx, garden.Lasting...)).To(BeEmpty())
		Expect(l.Unused(ctx)).To(BeEmpty())
	})
})
