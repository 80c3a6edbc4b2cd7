// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

var _ = Describe("Whoever has the credentials of an inventory", Ordered, func() {
	var (
		thief        client.Client
		t            *tenants
		own, foreign string
		free, bmc    string
	)

	BeforeAll(func(ctx SpecContext) {
		token, err := landscape.Token(ctx)
		Expect(err).NotTo(HaveOccurred())
		thief, err = landscape.ClientOf(token)
		Expect(err).NotTo(HaveOccurred())

		var hosts []string
		t, hosts = newTenants(ctx, 3)
		driver := newDriver()
		Expect(driver.Create(ctx, t.request("a"))).Error().NotTo(HaveOccurred())
		own = t.hostOf(ctx, "a")
		for _, name := range hosts {
			switch {
			case name == own:
			case foreign == "":
				foreign = name
			default:
				free = name
			}
		}
		patchHost(ctx, foreign,
			`{"spec":{"consumerRef":{"apiVersion":"cluster.x-k8s.io/v1beta1","kind":"Metal3Machine","namespace":"other","name":"m"}}}`)
		bmc = fmt.Sprint(readHost(ctx, own)["spec"].(map[string]any)["bmc"].(map[string]any)["credentialsName"])
		Expect(secretOf(ctx, bmc).Data).To(HaveKey("password"))
		Expect(landscape.Client.Create(ctx, secretNamed("shoot--other--x-m", owner.Owner{Shoot: "other", Site: "racks"}))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(landscape.Client.Delete(ctx, secretNamed("shoot--other--x-m", owner.Owner{}))).To(Succeed())
			t.remove(ctx, driver, "a")
		})
	})

	It("reads no Secret, in none of the ways in which the API answers with one", func(ctx SpecContext) {
		read := func(secret *corev1.Secret, patch string, options ...client.PatchOption) {
			GinkgoHelper()
			Expect(thief.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(patch)),
				options...)).To(Satisfy(apierrors.IsInvalid), patch)
			Expect(secret.Data).To(BeEmpty())
		}
		for _, name := range []string{bmc, "shoot--other--x-m", t.machine("a")} {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: name}}
			Expect(thief.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Satisfy(apierrors.IsForbidden))
			for _, patch := range []string{`{}`, `{"metadata":{"annotations":{"a":"b"}}}`, `{"data":{"more":""}}`} {
				read(secret, patch)
				read(secret, patch, client.DryRunAll)
			}
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: bmc}}
		read(secret, `{"metadata":{"labels":{"`+owner.LabelShoot+`":"`+t.shoot+`"}},"data":null}`)
		Expect(thief.Delete(ctx, secret, client.DryRunAll)).To(Satisfy(apierrors.IsInvalid))
		Expect(thief.Delete(ctx, secret)).To(Satisfy(apierrors.IsInvalid))
		Expect(thief.List(ctx, &corev1.SecretList{}, client.InNamespace(metal.Namespace))).To(Satisfy(apierrors.IsForbidden))
	})

	DescribeTable("makes no Secret that is not a machine's",
		func(ctx SpecContext, change func(*corev1.Secret)) {
			secret := secretNamed(t.machine("x"), owner.Owner{Shoot: t.shoot, Site: "racks"})
			Expect(thief.Create(ctx, secret.DeepCopy(), client.DryRunAll)).To(Succeed())
			change(secret)
			Expect(thief.Create(ctx, secret)).To(Satisfy(apierrors.IsInvalid))
		},
		Entry("of another name", func(s *corev1.Secret) { s.Name = "bmc-of-a-new-host" }),
		Entry("of another shoot's name", func(s *corev1.Secret) { s.Labels[owner.LabelShoot] = "shoot--other--x" }),
		Entry("without a shoot", func(s *corev1.Secret) { s.Labels = nil }),
		Entry("with a token of another account", func(s *corev1.Secret) {
			s.Type, s.Annotations = corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "default"}
		}),
		Entry("that is shown when it is deleted", func(s *corev1.Secret) { s.Finalizers = []string{"example.com/keep"} }),
	)

	DescribeTable("changes nothing of a host but what makes it a machine",
		func(ctx SpecContext, host func() string, patch func() string) {
			before := readHost(ctx, host())
			Expect(thief.Patch(ctx, rawHost(host()), client.RawPatch(types.MergePatchType, []byte(patch())))).To(Satisfy(apierrors.IsInvalid))
			Expect(readHost(ctx, host())["spec"]).To(Equal(before["spec"]))
		},
		Entry("the BMC", func() string { return own }, func() string { return `{"spec":{"bmc":{"address":"redfish://thief/1"}}}` }),
		Entry("the BMC of a free one", func() string { return free },
			func() string { return `{"spec":{"bmc":{"address":"redfish://thief/1"}}}` }),
		Entry("its boot interface", func() string { return own }, func() string { return `{"spec":{"bootMACAddress":"02:00:00:00:00:99"}}` }),
		Entry("its firmware", func() string { return own }, func() string { return `{"spec":{"firmware":{"virtualizationEnabled":true}}}` }),
		Entry("a field that is gone then", func() string { return own }, func() string { return `{"spec":{"bmc":null}}` }),
		Entry("labels of its operator", func() string { return own },
			func() string { return `{"metadata":{"labels":{"` + rackLabel + `":null}}}` }),
		Entry("labels of others", func() string { return own }, func() string { return `{"metadata":{"labels":{"size":"xl"}}}` }),
		Entry("maintenance", func() string { return own },
			func() string { return `{"metadata":{"annotations":{"baremetalhost.metal3.io/paused":""}}}` }),
		Entry("finalizers", func() string { return own }, func() string { return `{"metadata":{"finalizers":["example.com/keep"]}}` }),
		Entry("a foreign one", func() string { return foreign }, func() string { return `{"spec":{"consumerRef":null}}` }),
		Entry("a foreign one's power", func() string { return foreign }, func() string { return `{"spec":{"online":true}}` }),
		Entry("the user data to that of another shoot", func() string { return own }, func() string {
			return `{"spec":{"userData":{"name":"shoot--other--x-m","namespace":"hosts"}}}`
		}),
		Entry("the network data to a BMC's password", func() string { return own }, func() string {
			return `{"spec":{"networkData":{"name":"` + bmc + `","namespace":"hosts"}}}`
		}),
		Entry("what the network data was, to have that next", func() string { return own }, func() string {
			return `{"metadata":{"annotations":{"` + owner.AnnotationNetworkData + `":"hosts/` + bmc + `"}}}`
		}),
		Entry("the user data to one in another namespace", func() string { return own }, func() string {
			return `{"spec":{"userData":{"name":"` + t.machine("a") + `","namespace":"kube-system"}}}`
		}),
		Entry("a free one into another kind's", func() string { return free }, func() string {
			return `{"spec":{"consumerRef":{"kind":"Metal3Machine","namespace":"` + t.shoot + `","name":"` + t.machine("z") + `"}}}`
		}),
		Entry("a free one into a machine of another name", func() string { return free }, func() string {
			return `{"spec":{"consumerRef":{"kind":"Machine","namespace":"` + t.shoot + `","name":"shoot--other--x-m"}}}`
		}),
		Entry("whose it is said to be", func() string { return free }, func() string {
			return `{"metadata":{"labels":{"` + owner.LabelShoot + `":"shoot--other--x"}}}`
		}),
	)

	It("has no part in shoots that it may not use", func(ctx SpecContext) {
		DeferCleanup(func(ctx SpecContext) { grant(ctx) })
		for _, name := range []string{"provider-hybrid-metal3", "provider-hybrid-ironcore", "provider-hybrid-static"} {
			role := &rbacv1.Role{}
			Expect(landscape.Client.Get(ctx, client.ObjectKey{Namespace: metal.Namespace, Name: name}, role)).To(Succeed())
			for i := range role.Rules {
				if role.Rules[i].Resources[0] == "shoots" {
					role.Rules[i].ResourceNames = []string{"shoot--mine--a"}
				}
			}
			Expect(landscape.Client.Update(ctx, role)).To(Succeed())
		}
		off := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"online":false}}`))
		Eventually(ctx, func() error { return thief.Patch(ctx, rawHost(own), off, client.DryRunAll) }, soon).Should(Satisfy(apierrors.IsInvalid))
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: t.machine("a")}}
		Expect(thief.Patch(ctx, secret, client.RawPatch(types.MergePatchType, []byte(`{}`)))).To(Satisfy(apierrors.IsInvalid))
		Expect(secret.Data).To(BeEmpty())

		claim := func(shoot string) error {
			reference, err := json.Marshal(owner.Owner{Shoot: shoot, Site: "racks"}.Reference(shoot + "-m"))
			Expect(err).NotTo(HaveOccurred())
			return thief.Patch(ctx, rawHost(free), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"consumerRef":`+string(reference)+`}}`)),
				client.DryRunAll)
		}
		Expect(claim("shoot--mine--a")).To(Succeed())
		Expect(claim(t.shoot)).To(Satisfy(apierrors.IsInvalid))
	})
})

// secretNamed is a Secret of a machine of the name.
func secretNamed(name string, o owner.Owner) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: name, Labels: o.MachineLabels(name)},
		Data:       map[string][]byte{"userData": []byte("token")},
	}
}
