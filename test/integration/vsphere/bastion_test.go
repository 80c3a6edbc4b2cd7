// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/bastion"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = Describe("Bastion", func() {
	var (
		previous          *vcenter.VCenter
		previousInspector *vim25.Client

		s       *site.Site
		status  *v1alpha1.SiteStatus
		network platform.Infrastructure
		part    platform.Bastions
		name    string
	)

	BeforeEach(func(ctx SpecContext) {
		previous, previousInspector = server, inspector
		var err error
		server, err = vcenter.Start(ctx, GinkgoT().TempDir(), vcenter.Options{Guest: 100 * time.Millisecond})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			server.Stop(ctx)
			server, inspector = previous, previousInspector
		})
		inspector, err = server.Client(ctx)
		Expect(err).NotTo(HaveOccurred())

		makeParentFolders(ctx)
		s = newSite("shoot--it--" + rand.String(5))
		name = s.Shoot + "-bastion-cli"
		network, part = infrastructure.New(newSessions()), bastion.New(newSessions())
		status, err = network.Reconcile(ctx, s, persist(&s))
		Expect(err).NotTo(HaveOccurred())
	}, NodeTimeout(2*time.Minute))

	request := func(ingress ...string) platform.BastionRequest {
		r := platform.BastionRequest{
			Name: name, Site: s, Status: status,
			Machine: func() (platform.MachineClassRequest, error) {
				return platform.MachineClassRequest{
					Site: s, Status: status, Zone: &s.Profile.Zones[2], MachineType: &v1alpha1.SiteMachineType{Name: "vc"},
					Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("2Gi")},
					Image:    &v1alpha1.SiteMachineImage{Name: "vc", VSphere: &v1alpha1.VSphereImage{Template: vcenter.Template}},
				}, nil
			},
			UserData: []byte("#!/bin/bash -eu\nuseradd gardener\n"),
		}
		for _, cidr := range ingress {
			r.Ingress = append(r.Ingress, netip.MustParsePrefix(cidr))
		}
		return r
	}
	running := func(ctx SpecContext, r platform.BastionRequest) (result platform.Bastion, said []string) {
		GinkgoHelper()
		Eventually(func(ctx context.Context) error {
			var err error
			if result, err = part.Ensure(ctx, r); platform.IsProgress(err) {
				said = append(said, err.Error())
			} else if err != nil {
				return StopTrying("it is not progress").Wrap(err)
			}
			return err
		}).WithContext(ctx).Within(time.Minute).ProbeEvery(100 * time.Millisecond).Should(Succeed())
		return result, said
	}
	machine := func(ctx SpecContext) *mo.VirtualMachine {
		GinkgoHelper()
		found, err := object.NewSearchIndex(inspector).FindByInventoryPath(ctx, "/DC1/vm/gardener/"+s.Shoot+".vc/"+name)
		Expect(err).NotTo(HaveOccurred())
		if found == nil {
			return nil
		}
		vm := &mo.VirtualMachine{}
		Expect(inspect(ctx, found.Reference(), nil, vm)).To(Succeed())
		return vm
	}
	tagsOf := func(ctx SpecContext, vm *mo.VirtualMachine) []string {
		GinkgoHelper()
		attached, err := tagManager(ctx).ListAttachedTags(ctx, vm)
		Expect(err).NotTo(HaveOccurred())
		return attached
	}
	script := func(vm *mo.VirtualMachine) string {
		GinkgoHelper()
		data, err := base64.StdEncoding.DecodeString(option(vm, "guestinfo.userdata"))
		Expect(err).NotTo(HaveOccurred())
		return string(data)
	}

	It("should restrict SSH by itself, not be a machine, and be replaced if the ranges change", func(ctx SpecContext) {
		created, _ := running(ctx, request("203.0.113.0/24", "2001:db8::/64"))
		Expect(created.NodeAddresses).NotTo(BeEmpty())
		Expect(created.Address).To(Equal(created.NodeAddresses[0]))
		vm := machine(ctx)
		Expect(vm.Config.Hardware.NumCPU).To(BeEquivalentTo(1))
		Expect(option(vm, "gardener.site")).To(Equal("vc/bastion"))
		Expect(script(vm)).To(And(HavePrefix("#!/bin/bash -eu\nset -e\n"), HaveSuffix("\nuseradd gardener\n"),
			ContainSubstring("ip saddr 203.0.113.0/24 tcp dport 22 accept\n"+
				"    ip6 saddr 2001:db8::/64 tcp dport 22 accept\n    tcp dport 22 drop\n")))
		Expect(part.IsPublic(s)).To(BeFalse())

		By("seeing that nothing is to do, also if the machine type is gone")
		count(ctx)
		same := request("203.0.113.0/24", "2001:db8::/64")
		same.Machine = func() (platform.MachineClassRequest, error) {
			return platform.MachineClassRequest{}, platform.NewError(platform.ClassConfiguration, "gone")
		}
		Expect(part.Ensure(ctx, same)).To(Equal(created))
		Expect(count(ctx).Total()).To(BeNumerically("<=", 3))

		By("not being listed as a machine")
		specs, err := machineclasses.New(newSessions()).Locate(s, status)
		Expect(err).NotTo(HaveOccurred())
		for _, spec := range specs {
			Expect(machines.New(newSessions()).List(ctx, platform.MachineRequest{Spec: spec, Credentials: s.Credentials})).To(BeEmpty())
		}

		By("replacing it")
		_, said := running(ctx, request("198.51.100.0/24"))
		Expect(said).To(ContainElement(ContainSubstring("is replaced, because its allowed ranges have changed")))
		replaced := machine(ctx)
		Expect(replaced.Self).NotTo(Equal(vm.Self))
		Expect(script(replaced)).To(And(ContainSubstring("ip saddr 198.51.100.0/24 tcp"), Not(ContainSubstring("203.0.113"))))

		Eventually(part.Delete).WithContext(ctx).WithArguments(s, name).Within(time.Minute).Should(Succeed())
		Expect(machine(ctx)).To(BeNil())
		Expect(part.Delete(ctx, s, name)).To(Succeed(), "again")
	}, NodeTimeout(3*time.Minute))

	It("should not block the deletion of the infrastructure", func(ctx SpecContext) {
		running(ctx, request("203.0.113.0/24"))
		orphans, err := network.Orphans(ctx, s)
		Expect(err).NotTo(HaveOccurred())
		Expect(orphans).To(ContainElement(And(HaveField("Kind", "virtual machine"), HaveField("Name", name))))
		Eventually(network.Delete).WithContext(ctx).WithArguments(s, persist(&s)).Within(time.Minute).Should(Succeed())
		Expect(objectsOf(ctx, s.Shoot)).To(BeEmpty())
		Expect(part.Delete(ctx, s, name)).To(Succeed(), "after the infrastructure")
	}, NodeTimeout(3*time.Minute))

	suite.NightlyIt("should lose nothing if the process is killed after any write", func(ctx SpecContext) {
		var table []string
		parts := map[*life]platform.Bastions{}
		at := func(l *life) platform.Bastions {
			connection := l.connection()
			s.Profile.VSphere.Server, s.Profile.TLS = "https://"+connection.Server, connection.TLS
			if parts[l] == nil {
				parts[l] = bastion.New(newSessions())
			}
			return parts[l]
		}
		create := func(ctx context.Context, l *life) error {
			_, err := at(l).Ensure(ctx, request("203.0.113.0/24"))
			return err
		}
		change := func(ctx context.Context, l *life) error {
			_, err := at(l).Ensure(ctx, request("198.51.100.0/24"))
			return err
		}
		remove := func(ctx context.Context, l *life) error { return at(l).Delete(ctx, s, name) }
		before := objectsOf(ctx, s.Shoot)
		for k := 1; ; k++ {
			var after [3]string
			for i, do := range []func(context.Context, *life) error{create, change, remove} {
				_, after[i] = through(ctx, k, do)
				vm := machine(ctx)
				switch i {
				case 0:
					Expect(script(vm)).To(ContainSubstring("203.0.113.0/24"), after[i])
					Expect(tagsOf(ctx, vm)).To(ConsistOf(status.VSphere.OwnerTagID), after[i])
				case 1:
					Expect(script(vm)).To(ContainSubstring("198.51.100.0/24"), after[i])
				case 2:
					Expect(vm).To(BeNil(), after[i])
				}
			}
			Expect(objectsOf(ctx, s.Shoot)).To(Equal(before))
			table = append(table, fmt.Sprintf("%2d: %q", k, after))
			if after == [3]string{} {
				break
			}
		}
		AddReportEntry("crash matrix", table)
	}, NodeTimeout(5*time.Minute))
})

// persist keeps the state as the controller does.
func persist(s **site.Site) platform.Persist {
	return func(_ context.Context, state *v1alpha1.SiteState) error {
		(*s).State = state.DeepCopy()
		return nil
	}
}
