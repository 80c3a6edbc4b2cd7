// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"fmt"
	"time"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/ironcore"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Servers of IronCore", Ordered, func() {
	const rack = "ic-claim"
	var servers []string

	BeforeAll(func(ctx SpecContext) { servers = newServers(ctx, rack, 2, false) }, NodeTimeout(2*time.Minute))

	It("are claimed, told what to be, and switched on", func(ctx SpecContext) {
		shoot := newOwner()
		machine := shoot.Shoot + "-1"
		i := newIronCore(ctx, shoot)
		DeferCleanup(release, i, machine)

		request := claimOf(machine, rack)
		request.Data = func(_ context.Context, host *inventory.Host) (inventory.Data, error) {
			Expect(servers).To(ContainElement(host.Name))
			Expect(host.MACAddress).NotTo(BeEmpty())
			return inventory.Data{UserData: []byte(ironCoreTool), NodeName: host.Name}, nil
		}
		host, err := i.Claim(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(*host).To(And(
			HaveField("Name", BeElementOf(servers)), HaveField("State", inventory.Claimed), HaveField("Machine", machine),
			HaveField("ProviderID", "ironcore-metal://hosts/"+machine), HaveField("NodeName", host.Name),
			HaveField("Complete", true), HaveField("Fault", "")))

		claim := serverClaim(ctx, machine)
		Expect(claim.Labels).To(Equal(shoot.MachineLabels(machine)))
		Expect(claim.Spec).To(And(HaveField("Image", "registry.example/os:1"), HaveField("Power", metalv1alpha1.PowerOn),
			HaveField("IgnitionSecretRef.Name", machine), HaveField("ServerRef.Name", host.Name)))
		Expect(secretOf(ctx, machine)).To(And(HaveField("Labels", shoot.MachineLabels(machine)),
			HaveField("OwnerReferences", ConsistOf(HaveField("UID", claim.UID)))))

		Eventually(server(ctx, host.Name),
			soon).Should(And(HaveField("State", "Reserved"), HaveField("On", true), HaveField("Consumer", "hosts/"+machine)))
		Expect(metal.NewWatch(landscape, shoot.Shoot).Active(ctx)).To(HaveKeyWithValue(machine,
			And(HaveField("NodeName", host.Name), HaveField("ProviderID", host.ProviderID))))

		running := HaveValue(And(HaveField("Name", host.Name), HaveField("Running", true), HaveField("Complete", true)))
		Eventually(ctx, func() (*inventory.Host, error) { return i.Find(ctx, machine, "") }, soon).Should(running)
		Expect(i.Machines(ctx)).To(ConsistOf(HaveField("Machine", machine)))
		Expect(i.Find(ctx, shoot.Shoot+"-2", "")).To(BeNil())

		By("being the same for the same machine, also in another process")
		again, err := newIronCore(ctx, shoot).Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(again.Name).To(Equal(host.Name))
		Expect(serverClaim(ctx, machine).ResourceVersion).To(Equal(claim.ResourceVersion))

		By("being seen by others as what they are")
		for _, process := range []*ironcore.Inventory{i,
			ironcore.New(newSession(ctx, v1alpha1.MetalInventoryIronCore), inventory.Options{Owner: shoot})} {
			found, err := process.Hosts(ctx, claimOf("", rack).Selection, claimOf("", "nowhere").Selection)
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(HaveExactElements(ConsistOf(
				And(HaveField("Name", host.Name), HaveField("State", inventory.Claimed)), HaveField("State", inventory.Free)), BeEmpty()))
		}
		found, err := newIronCore(ctx, newOwner()).Hosts(ctx, claimOf("", rack).Selection)
		Expect(err).NotTo(HaveOccurred())
		Expect(found[0]).To(ConsistOf(And(HaveField("Name", host.Name), HaveField("State", inventory.Taken)), HaveField("State", inventory.Free)))
	}, SpecTimeout(2*time.Minute))

	It("cost four requests if nobody else wants them", func(ctx SpecContext) {
		sessions := metalclient.NewSessions()
		DeferCleanup(sessions.Close)
		const counted = "ic-counted"
		session, err := sessions.Get(ctx, counted, metalclient.ConnectionOf(profile(v1alpha1.MetalInventoryIronCore)), credentials)
		Expect(err).NotTo(HaveOccurred())
		o := newOwner()
		machine := o.Shoot + "-1"
		i := ironcore.New(session, inventory.Options{Owner: o, Watched: true})
		DeferCleanup(release, i, machine)
		Expect(i.Machines(ctx)).To(BeEmpty())

		before := requestsTo(counted)
		_, err = i.Claim(ctx, claimOf(machine, rack))
		Expect(err).NotTo(HaveOccurred())
		four := append(before, "get serverclaims", "create serverclaims", "create secrets", "patch serverclaims")
		// The watch of claims may be ahead of that of servers, so that both are looked at again.
		Expect(requestsTo(counted)).To(Or(ConsistOf(four), ConsistOf(append(four, "get serverclaims", "get servers"))))
		Eventually(ctx, func() (*inventory.Host, error) { return i.Find(ctx, machine, "") }, soon).Should(HaveValue(HaveField("Complete", true)))
		before = requestsTo(counted)
		Expect(i.Claim(ctx, claimOf(machine, rack))).NotTo(BeNil())
		Expect(requestsTo(counted)).To(HaveLen(len(before)))
	}, SpecTimeout(2*time.Minute))

	It("are free for another machine after their release", func(ctx SpecContext) {
		shoot := newOwner()
		first, second, third, fourth := shoot.Shoot+"-1", shoot.Shoot+"-2", shoot.Shoot+"-3", shoot.Shoot+"-4"
		i := newIronCore(ctx, shoot)
		DeferCleanup(release, i, second)
		DeferCleanup(release, i, third)
		host, err := i.Claim(ctx, claimOf(first, rack))
		Expect(err).NotTo(HaveOccurred())
		_, err = i.Claim(ctx, claimOf(second, rack))
		Expect(err).NotTo(HaveOccurred())
		Eventually(server(ctx, host.Name), soon).Should(HaveField("On", true))

		begun := time.Now()
		_, err = i.Claim(ctx, claimOf(fourth, rack))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		Expect(err).To(MatchError(MatchRegexp(`^2 of \d+ servers match, 0 are free \(2 taken\)$`)))
		Expect(time.Since(begun)).To(BeNumerically("<", 5*time.Second))
		Expect(landscape.Claims(ctx)).NotTo(HaveKey(fourth))

		release(ctx, i, first)
		Expect(server(ctx, host.Name)(Default)).To(And(HaveField("On", false), HaveField("Consumer", "")))
		Expect(landscape.Claims(ctx)).NotTo(HaveKey(first))
		Expect(landscape.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: first},
			&corev1.Secret{})).To(MatchError(ContainSubstring("not found")))
		Expect(releaseOnce(ctx, i, first)).To(Succeed())
		Expect(i.Find(ctx, first, "")).To(BeNil())

		reused, err := i.Claim(ctx, claimOf(third, rack))
		Expect(err).NotTo(HaveOccurred())
		Expect(reused.Name).To(Equal(host.Name))
	}, SpecTimeout(2*time.Minute))

	It("are not kept by machines that find no address", func(ctx SpecContext) {
		shoot := newOwner()
		machine := shoot.Shoot + "-1"
		i := newIronCore(ctx, shoot)
		DeferCleanup(release, i, machine)
		request := claimOf(machine, rack)
		request.Data = func(context.Context, *inventory.Host) (inventory.Data, error) {
			return inventory.Data{}, platform.NewError(platform.ClassExhausted, "the pool has no free address")
		}
		_, err := i.Claim(ctx, request)
		Expect(err).To(MatchError("the pool has no free address"))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		Eventually(ctx, func(g Gomega) {
			claims, err := landscape.Claims(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(claims).NotTo(HaveKey(machine))
		}, soon).Should(Succeed())
		for _, name := range servers {
			Eventually(server(ctx, name), soon).Should(And(HaveField("State", "Available"), HaveField("On", false), HaveField("Consumer", "")))
		}
	}, SpecTimeout(2*time.Minute))

	It("are kept away from machines that do not tolerate their taints", func(ctx SpecContext) {
		shoot := newOwner()
		machine := shoot.Shoot + "-1"
		i := newIronCore(ctx, shoot)
		DeferCleanup(release, i, machine)
		for _, name := range servers {
			patchServer(ctx, name, `{"spec":{"taints":[{"key":"gpu","value":"a100","effect":"NoBind"},{"key":"old","effect":"Evict"}]}}`)
			DeferCleanup(patchServer, name, `{"spec":{"taints":null}}`)
		}
		_, err := i.Claim(ctx, claimOf(machine, rack, corev1.Toleration{Key: "gpu", Value: "h100"}))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassExhausted))
		Expect(err).To(MatchError(ContainSubstring("2 tainted")))

		_, err = i.Claim(ctx, claimOf(machine, rack, corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpEqual, Value: "a100"}))
		Expect(err).NotTo(HaveOccurred())
		Expect(serverClaim(ctx, machine).Spec.Tolerations).To(ConsistOf(metalv1alpha1.Toleration{Key: "gpu", Operator: "Equal", Value: "a100"}))
	}, SpecTimeout(2*time.Minute))

	DescribeTable("are claimed completely by whoever comes next when a process ends",
		func(ctx SpecContext, write func(ctx context.Context, claim *metalv1alpha1.ServerClaim)) {
			shoot := newOwner()
			machine := shoot.Shoot + "-1"
			i := newIronCore(ctx, shoot)
			DeferCleanup(release, i, machine)
			claim := &metalv1alpha1.ServerClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: machine, Labels: shoot.MachineLabels(machine)},
				Spec: metalv1alpha1.ServerClaimSpec{Power: metalv1alpha1.PowerOff, Image: "registry.example/os:1",
					ServerRef: &corev1.LocalObjectReference{Name: servers[1]}},
			}
			Expect(administrator().Create(ctx, claim)).To(Succeed())
			write(ctx, claim)
			Expect(i.Find(ctx, machine, "")).To(HaveValue(And(HaveField("Name", servers[1]), HaveField("Complete", false))))

			host, err := i.Claim(ctx, claimOf(machine, rack))
			Expect(err).NotTo(HaveOccurred())
			Expect(*host).To(And(HaveField("Name", servers[1]), HaveField("Complete", true)))
			Expect(serverClaim(ctx, machine).UID).To(Equal(claim.UID))
			Expect(secretOf(ctx, machine).Data).To(HaveKeyWithValue("ignition", ContainSubstring("ignition")))
			Eventually(server(ctx, servers[1]), soon).Should(HaveField("On", true))
			Expect(landscape.Journal.HostsOf("hosts/" + machine)).To(ConsistOf(servers[1]))
		},
		Entry("after it has made the claim", func(context.Context, *metalv1alpha1.ServerClaim) {}),
		Entry("after the claim was bound", func(ctx context.Context, claim *metalv1alpha1.ServerClaim) {
			Eventually(func() metalv1alpha1.Phase { return serverClaim(ctx, claim.Name).Status.Phase }, soon).Should(Equal(metalv1alpha1.PhaseBound))
		}),
		Entry("after it has written the Secret", func(ctx context.Context, claim *metalv1alpha1.ServerClaim) {
			Expect(landscape.Client.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: claim.Name, Labels: claim.Labels},
				Data:       map[string][]byte{"ignition": []byte("of an earlier call")},
			})).To(Succeed())
		}),
	)

	DescribeTable("are not claimed with what is another's",
		func(ctx SpecContext, other func(name string) client.Object) {
			shoot := newOwner()
			machine := shoot.Shoot + "-1"
			i := newIronCore(ctx, shoot)
			DeferCleanup(func(ctx SpecContext) {
				Expect(administrator().Delete(ctx, other(machine))).To(Succeed())
				release(ctx, i, machine)
			})
			Expect(administrator().Create(ctx, other(machine))).To(Succeed())
			_, err := i.Claim(ctx, claimOf(machine, rack))
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
			Expect(err).To(MatchError(ContainSubstring(fmt.Sprintf("is not that of machine %q", machine))))
		},
		Entry("a claim", func(name string) client.Object {
			return &metalv1alpha1.ServerClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: name},
				Spec: metalv1alpha1.ServerClaimSpec{Power: metalv1alpha1.PowerOff, Image: "other",
					ServerRef: &corev1.LocalObjectReference{Name: "nowhere"}},
			}
		}),
		Entry("a Secret", func(name string) client.Object {
			return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: name}}
		}),
	)
})
