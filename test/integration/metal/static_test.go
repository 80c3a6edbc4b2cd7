// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/static"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const script = "#!/bin/bash\necho join\n"

// newStaticHosts makes available hosts that no other container of specs uses.
func newStaticHosts(ctx context.Context, rack string, count int) []string {
	GinkgoHelper()
	var names []string
	for n := range count {
		host := staticHost(fmt.Sprintf("%s-%d", rack, n))
		host.Labels = map[string]string{rackLabel: rack}
		host.Spec = staticv1alpha1.StaticHostSpec{Address: "192.0.2.7", SSHSecretRef: staticv1alpha1.LocalReference{Name: "ssh"},
			HostKeys: []string{"ssh-ed25519 AAAA"}}
		Expect(landscape.Client.Create(ctx, host)).To(Succeed())
		play(ctx, host.Name, staticv1alpha1.PhaseAvailable, func(status *staticv1alpha1.StaticHostStatus) {
			status.Facts = &staticv1alpha1.Facts{Architecture: "amd64", CPUs: 4, MemoryMiB: 8192, MachineID: "m", BootID: "b",
				OSRelease: staticv1alpha1.OSRelease{ID: "debian", VersionID: "12"}}
		})
		names = append(names, host.Name)
	}
	return names
}

// play sets the status of the host as its operator does.
func play(ctx context.Context, name string, phase staticv1alpha1.Phase, changes ...func(*staticv1alpha1.StaticHostStatus)) {
	GinkgoHelper()
	host := readStaticHost(ctx, name)
	host.Status.Phase, host.Status.Provisioned = phase, nil
	switch phase {
	case staticv1alpha1.PhaseProvisioning, staticv1alpha1.PhaseProvisioned, staticv1alpha1.PhaseReleasing, staticv1alpha1.PhaseDirty:
		host.Status.Provisioned = &staticv1alpha1.Provisioned{Machine: "m", Shoot: "s", UserDataHash: "h", MachineID: "m", BootID: "b",
			Time: metav1.Now()}
	}
	for _, change := range changes {
		change(&host.Status)
	}
	Expect(landscape.Client.Status().Update(ctx, host)).To(Succeed())
}

func unclean(status *staticv1alpha1.StaticHostStatus) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: staticv1alpha1.ConditionClean, Status: metav1.ConditionFalse,
		Reason: "StepFailed", Message: "unmount: exit code 32"})
}

func staticHost(name string) *staticv1alpha1.StaticHost {
	return &staticv1alpha1.StaticHost{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: name}}
}

func readStaticHost(ctx context.Context, name string) *staticv1alpha1.StaticHost {
	GinkgoHelper()
	host := staticHost(name)
	Expect(landscape.Client.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
	return host
}

func patchStaticHost(ctx context.Context, c client.Client, name, patch string) error {
	return c.Patch(ctx, staticHost(name), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// newStatic is the inventory as the driver of a process that just started has it.
func newStatic(ctx context.Context, o owner.Owner) inventory.Inventory {
	GinkgoHelper()
	return static.New(newSession(ctx, v1alpha1.MetalInventoryStatic), inventory.Options{Owner: o, Watched: true})
}

// staticClaim is what a machine wants of a host of the rack.
func staticClaim(machine, rack string) inventory.Claim {
	return inventory.Claim{
		Machine: machine,
		Selection: inventory.Selection{Selector: labels.SelectorFromSet(labels.Set{rackLabel: rack}),
			OSRelease: &v1alpha1.MetalOSRelease{ID: "debian", VersionID: "12"}},
		Data: func(context.Context, *inventory.Host) (inventory.Data, error) {
			return inventory.Data{UserData: []byte(script), NodeName: machine}, nil
		},
	}
}

var _ = Describe("Static hosts", func() {
	var (
		o       owner.Owner
		i       inventory.Inventory
		rack    string
		machine string
	)
	BeforeEach(func(ctx SpecContext) {
		o, rack = newOwner(), "own-"+rand.String(5)
		i, machine = newStatic(ctx, o), o.Shoot+"-m"
	})
	release := func(ctx context.Context) error {
		_, err := i.Release(ctx, machine, "static://hosts/"+rack+"-0/"+machine, v1alpha1.MetalCleaningMetadata)
		return err
	}

	It("become machines, and are free again when their operator says so", func(ctx SpecContext) {
		name := newStaticHosts(ctx, rack, 1)[0]
		claimed, err := i.Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(claimed).To(HaveValue(And(HaveField("Name", name), HaveField("ProviderID", "static://hosts/"+name+"/"+machine),
			HaveField("NodeName", machine), HaveField("Complete", true), HaveField("Running", false))))
		Expect(i.HasProviderID(claimed.ProviderID)).To(BeTrue())
		host := readStaticHost(ctx, name)
		Expect(host.Spec.ConsumerRef).To(HaveValue(Equal(o.Reference(machine))))
		Expect(host.Spec.NodeName).To(Equal(machine))
		Expect(labels.Set(host.Labels)).To(Equal(labels.Merge(labels.Set{rackLabel: rack}, o.MachineLabels(machine))))
		Expect(secretOf(ctx, host.Spec.UserDataSecretRef.Name).Data).To(Equal(map[string][]byte{"userData": []byte(script)}))

		play(ctx, name, staticv1alpha1.PhaseProvisioned, func(status *staticv1alpha1.StaticHostStatus) {
			status.Facts.OSRelease.VersionID = "13" // it was updated in place
		})
		Expect(i.Find(ctx, "", claimed.ProviderID)).To(HaveValue(HaveField("Name", name)))
		Eventually(ctx, func() (*inventory.Host, error) { return i.Find(ctx, machine, "") }, soon).Should(HaveValue(HaveField("Running", true)))
		Expect(i.Faults(ctx, []string{o.Shoot})).To(BeEmpty())

		Expect(release(ctx)).To(MatchError(ContainSubstring("waiting to be released")))
		host = readStaticHost(ctx, name)
		Expect(host.Spec.UserDataSecretRef).To(BeNil())
		Expect(host.Spec.NodeName).To(BeEmpty())
		Expect(host.Spec.ConsumerRef).NotTo(BeNil())
		play(ctx, name, staticv1alpha1.PhaseReleasing)
		Expect(release(ctx)).To(MatchError(ContainSubstring(`host %q is Releasing`, name)))
		play(ctx, name, staticv1alpha1.PhaseDirty, unclean)
		Expect(release(ctx)).To(MatchError(ContainSubstring("StepFailed: unmount: exit code 32")))
		Expect(i.Faults(ctx, []string{o.Shoot})).To(ConsistOf(HaveField("Message", "StepFailed: unmount: exit code 32")))
		Expect(i.Find(ctx, "", claimed.ProviderID)).NotTo(BeNil())

		play(ctx, name, staticv1alpha1.PhaseAvailable)
		Expect(release(ctx)).To(Succeed())
		host = readStaticHost(ctx, name)
		Expect(host.Spec.ConsumerRef).To(BeNil())
		Expect(host.Labels).To(Equal(map[string]string{rackLabel: rack}))
		Expect(host.Annotations).To(BeEmpty())
		Expect(landscape.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: machine}, &corev1.Secret{})).
			To(Satisfy(apierrors.IsNotFound))
		Expect(release(ctx)).To(Succeed(), "it is no longer the machine's")
	})

	It("are won by exactly one of many drivers", func(ctx SpecContext) {
		newStaticHosts(ctx, rack, 1)
		const drivers = 6
		machines := make([]string, drivers)
		owners := make([]owner.Owner, drivers)
		inventories := make([]inventory.Inventory, drivers)
		for n := range drivers {
			owners[n] = newOwner()
			machines[n], inventories[n] = owners[n].Shoot+"-m", newStatic(ctx, owners[n])
		}
		errs := platform.Each(drivers, func(n int) error {
			_, err := inventories[n].Claim(ctx, staticClaim(machines[n], rack))
			return err
		})
		won := 0
		for n, err := range errs {
			if err == nil {
				won++
				Expect(readStaticHost(ctx, rack+"-0").Spec.ConsumerRef).To(HaveValue(Equal(owners[n].Reference(machines[n]))))
				continue
			}
			Expect(err).To(MatchError("1 of "+fmt.Sprint(staticHosts(ctx))+" hosts match, 0 are free (1 taken)"), machines[n])
			Expect(landscape.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: machines[n]}, &corev1.Secret{})).
				To(Satisfy(apierrors.IsNotFound), "whoever lost leaves no Secret")
		}
		Expect(won).To(Equal(1))
	})

	It("are one for each machine, also after a claim that was interrupted anywhere", func(ctx SpecContext) {
		names := newStaticHosts(ctx, rack, 3)
		By("before the patch, when only the Secret is written")
		c := newSession(ctx, v1alpha1.MetalInventoryStatic).Client()
		Expect(bootdata.WriteSecret(ctx, c, o, machine, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace},
			Data: map[string][]byte{"userData": []byte("old")}})).To(Succeed())
		first, err := i.Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(secretOf(ctx, machine).Data).To(HaveKeyWithValue("userData", []byte(script)))

		By("after the patch, by a process that has ended")
		again, err := newStatic(ctx, o).Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(again.ProviderID).To(Equal(first.ProviderID))

		By("after somebody removed the user data")
		Expect(patchStaticHost(ctx, landscape.Client, first.Name, `{"spec":{"userDataSecretRef":null}}`)).To(Succeed())
		again, err = newStatic(ctx, o).Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(again).To(HaveValue(And(HaveField("ProviderID", first.ProviderID), HaveField("Complete", true))))

		By("after the Secret was deleted before the operator read it")
		Expect(landscape.Client.Delete(ctx, secretOf(ctx, machine))).To(Succeed())
		_, err = newStatic(ctx, o).Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(secretOf(ctx, machine).Data).To(HaveKey("userData"))
		consumers := 0
		for _, name := range names {
			if readStaticHost(ctx, name).Spec.ConsumerRef != nil {
				consumers++
			}
		}
		Expect(consumers).To(Equal(1))
	})

	It("keep their machine whatever is written, until they are released", func(ctx SpecContext) {
		name := newStaticHosts(ctx, rack, 1)[0]
		_, err := i.Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		for _, phase := range []staticv1alpha1.Phase{staticv1alpha1.PhaseProvisioning, staticv1alpha1.PhaseProvisioned,
			staticv1alpha1.PhaseReleasing, staticv1alpha1.PhaseDirty} {
			play(ctx, name, phase)
			Expect(patchStaticHost(ctx, landscape.Client, name, `{"spec":{"consumerRef":null,"userDataSecretRef":null}}`)).To(
				MatchError(ContainSubstring("only from a host that was released")), string(phase))
			Expect(patchStaticHost(ctx, landscape.Client, name, `{"spec":{"consumerRef":{"name":"other"}}}`)).To(
				MatchError(ContainSubstring("but not changed")), string(phase))
		}
	})

	It("are not claimed with another operating system, and the message says so", func(ctx SpecContext) {
		name := newStaticHosts(ctx, rack, 1)[0]
		play(ctx, name, staticv1alpha1.PhaseAvailable, func(status *staticv1alpha1.StaticHostStatus) { status.Facts.OSRelease.VersionID = "11" })
		_, err := i.Claim(ctx, staticClaim(machine, rack))
		Expect(err).To(MatchError(ContainSubstring("1 with another operating system")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
	})

	It("have their hardware for hybridctl discover", func(ctx SpecContext) {
		name := newStaticHosts(ctx, rack, 1)[0]
		Expect(i.Survey(ctx, "")).To(ContainElement(inventory.Surveyed{Name: name, Labels: map[string]string{rackLabel: rack}, Free: true,
			CPUs: 4, Memory: 8 << 30, Architecture: "amd64"}))
	})
})

var _ = Describe("Whoever has the credentials of an inventory of static hosts", func() {
	It("changes nothing of a host but what makes it a machine", func(ctx SpecContext) {
		o, rack := newOwner(), "own-"+rand.String(5)
		i, machine := newStatic(ctx, o), o.Shoot+"-m"
		names := newStaticHosts(ctx, rack, 3)
		own, free, foreign := names[0], names[1], names[2]
		Expect(patchStaticHost(ctx, landscape.Client, free, `{"metadata":{"labels":{"`+rackLabel+`":"`+rack+`-free"}}}`)).To(Succeed())
		Expect(patchStaticHost(ctx, landscape.Client, foreign, `{"metadata":{"labels":{"`+rackLabel+`":"other"}},"spec":{"consumerRef":`+
			`{"kind":"Other","namespace":"other","name":"m"}}}`)).To(Succeed())
		claimed, err := i.Claim(ctx, staticClaim(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(claimed.Name).To(Equal(own))

		token, err := landscape.Token(ctx)
		Expect(err).NotTo(HaveOccurred())
		thief, err := landscape.ClientOf(token)
		Expect(err).NotTo(HaveOccurred())
		for patch, host := range map[string]string{
			`{"spec":{"address":"198.51.100.1"}}`:                                                                  own,
			`{"spec":{"port":2222}}`:                                                                               free,
			`{"spec":{"user":"thief"}}`:                                                                            own,
			`{"spec":{"sshSecretRef":{"name":"other"}}}`:                                                           own,
			`{"spec":{"hostKeys":["ssh-ed25519 BBBB"]}}`:                                                           free,
			`{"spec":{"maintenance":true}}`:                                                                        own,
			`{"spec":{"taints":[{"key":"mine"}]}}`:                                                                 free,
			`{"spec":{"reset":{"hook":"#!/bin/sh"}}}`:                                                              own,
			`{"metadata":{"labels":{"rack":"mine"}}}`:                                                              free,
			`{"metadata":{"finalizers":["example.com/a"]}}`:                                                        own,
			`{"metadata":{"annotations":{"` + staticv1alpha1.AnnotationRetry + `":""}}}`:                           own,
			`{"metadata":{"labels":{"` + owner.LabelShoot + `":"shoot--other--x"}}}`:                               free,
			`{"spec":{"userDataSecretRef":{"name":"shoot--other--x-m"}}}`:                                          own,
			`{"spec":{"consumerRef":{"kind":"Machine","namespace":"` + o.Shoot + `","name":"shoot--other--x-m"}}}`: free,
			`{"spec":{"consumerRef":{"kind":"Other","namespace":"` + o.Shoot + `","name":"` + machine + `"}}}`:     free,
			`{"spec":{"consumerRef":null}}`:                                                                        foreign,
			`{"spec":{"userDataSecretRef":{"name":"m"}}}`:                                                          foreign,
		} {
			before := readStaticHost(ctx, host)
			Expect(patchStaticHost(ctx, thief, host, patch)).To(Satisfy(apierrors.IsInvalid), patch)
			Expect(readStaticHost(ctx, host)).To(Equal(before), patch)
		}
		status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Available"}}`))
		Expect(thief.Status().Patch(ctx, staticHost(own), status)).To(Satisfy(apierrors.IsForbidden))
		Expect(thief.Delete(ctx, staticHost(own))).To(Satisfy(apierrors.IsForbidden))
		Expect(thief.Create(ctx, staticHost("new"))).To(Satisfy(apierrors.IsForbidden))
	})
})

// staticHosts returns how many hosts there are.
func staticHosts(ctx context.Context) int {
	GinkgoHelper()
	list := &staticv1alpha1.StaticHostList{}
	Expect(landscape.Client.List(ctx, list, client.InNamespace(metal.Namespace))).To(Succeed())
	return len(list.Items)
}
