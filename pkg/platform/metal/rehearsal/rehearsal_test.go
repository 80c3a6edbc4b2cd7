// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

func TestRehearsal(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Bare Metal Rehearsal Suite")
}

var _ = Describe("Rehearsal", func() {
	var (
		log  *rehearsal.Log
		api  client.Client
		sent []string
		// answers are by method and path.
		answers map[string]any
	)

	BeforeEach(func(ctx SpecContext) {
		log, sent, answers = &rehearsal.Log{}, nil, map[string]any{}
		server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			sent = append(sent, r.Method+" "+r.URL.RequestURI())
			body, ok := answers[r.Method+" "+r.URL.Path]
			w.Header().Set("Content-Type", "application/json")
			if !ok {
				body = metav1.Status{TypeMeta: statusType, Status: metav1.StatusFailure, Code: http.StatusForbidden,
					Reason: metav1.StatusReasonForbidden}
				w.WriteHeader(http.StatusForbidden)
			}
			Expect(json.NewEncoder(w).Encode(body)).To(Succeed())
		}))
		DeferCleanup(server.Close)
		sessions := metalclient.WrappedSessions(Wrap(log))
		DeferCleanup(sessions.Close)
		session, err := sessions.Get(ctx, "racks", v1alpha1.MetalConnection{Server: server.URL, Namespace: "hosts",
			TLS: &v1alpha1.TLS{InsecureSkipVerify: true}}, site.Credentials{"token": "t"})
		Expect(err).NotTo(HaveOccurred())
		api = session.Client()
	})

	hosts := "/apis/metal3.io/v1alpha1/namespaces/hosts/baremetalhosts"
	newHost := func(image *metal3v1alpha1.Image) *metal3v1alpha1.BareMetalHost {
		host := &metal3v1alpha1.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "h", UID: "1", ResourceVersion: "7"}}
		host.APIVersion, host.Kind = metal3v1alpha1.GroupVersion.String(), "BareMetalHost"
		host.Spec.Image, host.Status.PoweredOn = image, true
		host.Status.Provisioning.State = metal3v1alpha1.StateProvisioned
		return host
	}

	It("should ask the API for the effect of a patch, and show what the operator makes of it", func(ctx SpecContext) {
		answers["PATCH "+hosts+"/h"] = newHost(nil)
		list := &metal3v1alpha1.BareMetalHostList{ListMeta: metav1.ListMeta{ResourceVersion: "9"},
			Items: []metal3v1alpha1.BareMetalHost{*newHost(&metal3v1alpha1.Image{URL: "u"})}}
		list.APIVersion, list.Kind = metal3v1alpha1.GroupVersion.String(), "BareMetalHostList"
		answers["GET "+hosts] = list
		host := newHost(nil)
		Expect(api.Patch(ctx, host, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"image": null, "online": false}}`)))).To(Succeed())
		Expect(sent).To(HaveExactElements(And(HavePrefix("PATCH "+hosts+"/h?"), ContainSubstring("dryRun=All"))))
		Expect(log.Writes("racks")).To(ConsistOf(And(
			HaveField("Method", "PATCH"), HaveField("Path", hosts+"/h"), HaveField("Kind", "host"), HaveField("Name", "h"),
			HaveField("Fields", ConsistOf(v1alpha1.PlannedField{Name: "spec.image"}, v1alpha1.PlannedField{Name: "spec.online", To: "false"})))))

		found := &metal3v1alpha1.BareMetalHostList{}
		Expect(api.List(ctx, found, client.InNamespace("hosts"))).To(Succeed())
		for _, h := range append(slices.Clone(found.Items), *host) {
			Expect(h.Status.Provisioning.State).To(Equal(metal3v1alpha1.StateAvailable))
			Expect(h.Status.PoweredOn).To(BeFalse())
		}
		Expect(api.Get(ctx, client.ObjectKeyFromObject(host), host)).To(Succeed())
		Expect(sent).To(HaveLen(2), "the host is known")
	})

	It("should free a static host although its API knows of no release", func(ctx SpecContext) {
		place := "/apis/static.hybrid.provider.extensions.gardener.cloud/v1alpha1/namespaces/hosts/statichosts/h"
		host := &staticv1alpha1.StaticHost{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "h", UID: "1", ResourceVersion: "7",
			Labels: map[string]string{"a": "b", "c": "d"}}}
		host.APIVersion, host.Kind = staticv1alpha1.SchemeGroupVersion.String(), "StaticHost"
		host.Spec.ConsumerRef = &corev1.ObjectReference{Name: "m"}
		host.Status.Phase, host.Status.Provisioned = staticv1alpha1.PhaseProvisioned, &staticv1alpha1.Provisioned{Machine: "m"}
		answers["PATCH "+place] = host
		patch := func(text string) {
			Expect(api.Patch(ctx, host, client.RawPatch(types.MergePatchType, []byte(text)))).To(Succeed())
		}
		patch(`{"spec": {"userDataSecretRef": null, "nodeName": null}}`)
		Expect(host.Status.Phase).To(Equal(staticv1alpha1.PhaseAvailable))
		Expect(host.Status.Provisioned).To(BeNil())
		patch(`{"metadata": {"labels": {"a": null}}, "spec": {"consumerRef": null}}`)
		Expect(host.Spec.ConsumerRef).To(BeNil())
		Expect(host.Labels).To(Equal(map[string]string{"c": "d"}))
		Expect(sent).To(HaveLen(1))
		Expect(log.Writes("racks")).To(HaveLen(2))
	})

	It("should hide what is deleted, and free its server", func(ctx SpecContext) {
		claims := "/apis/metal.ironcore.dev/v1alpha1/namespaces/hosts/serverclaims"
		server := &metalv1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "1"}}
		server.APIVersion, server.Kind = metalv1alpha1.GroupVersion.String(), "Server"
		server.Spec.ServerClaimRef = &metalv1alpha1.ImmutableObjectReference{Namespace: "hosts", Name: "c"}
		server.Status.State = metalv1alpha1.ServerStateReserved
		answers["GET /apis/metal.ironcore.dev/v1alpha1/servers/s"] = server
		claim := &metalv1alpha1.ServerClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "c"}}
		Expect(api.Delete(ctx, claim, client.Preconditions{UID: new(types.UID("1"))})).To(Succeed())
		Expect(sent).To(BeEmpty())
		Expect(log.Writes("racks")).To(ConsistOf(And(HaveField("Path", claims+"/c"), HaveField("Action", v1alpha1.PlannedActionDelete))))
		Expect(kubernetes.IsNotFound(kubernetes.Classify(api.Get(ctx, client.ObjectKeyFromObject(claim), claim)))).To(BeTrue())
		found := &metalv1alpha1.Server{}
		Expect(api.Get(ctx, client.ObjectKey{Name: "s"}, found)).To(Succeed())
		Expect(found.Spec.ServerClaimRef).To(BeNil())
		Expect(found.Status.State).To(Equal(metalv1alpha1.ServerStateAvailable))
	})

	It("should return that the credentials do not permit it", func(ctx SpecContext) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "m"}}
		patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "add", "path": "/data", "value": {}}]`))
		Expect(platform.ClassOf(kubernetes.Classify(api.Patch(ctx, secret, patch)))).To(Equal(platform.ClassForbidden))
		Expect(log.Writes("racks")).To(ConsistOf(HaveField("Kind", "Secret")))
	})

	It("should pass reviews and dry runs, and refuse what it does not know", func(ctx SpecContext) {
		answers["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews"] = &authorizationv1.SelfSubjectAccessReview{
			TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}}
		Expect(api.Create(ctx, &authorizationv1.SelfSubjectAccessReview{})).To(Succeed())
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "m"}}
		Expect(platform.ClassOf(kubernetes.Classify(api.Create(ctx, secret, client.DryRunAll)))).To(Equal(platform.ClassForbidden))
		before := len(sent)
		Expect(api.Create(ctx, secret)).To(MatchError(ContainSubstring("the plan does not know the effect of POST")))
		Expect(api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hosts"}})).
			To(MatchError(ContainSubstring("the plan does not know the effect of DELETE")))
		Expect(sent).To(HaveLen(before))
		Expect(log.Writes("racks")).To(BeEmpty())
	})
})
