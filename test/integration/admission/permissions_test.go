// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	secretsmanager "github.com/gardener/gardener/pkg/utils/secrets/manager"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
)

// oldCertificate is one of the webhooks' that another has replaced.
var oldCertificate = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "old-certificate", Labels: map[string]string{
	secretsmanager.LabelKeyManagedBy: secretsmanager.LabelValueSecretsManager, secretsmanager.LabelKeyManagerIdentity: binary + "-webhook",
	secretsmanager.LabelKeyName: "old-certificate",
}}}

var _ = beforeWebhooks(func(ctx context.Context) { Expect(garden.Client.Create(ctx, oldCertificate.DeepCopy())).To(Succeed()) })

// review sends a Shoot to the webhook that validates Shoots without asking Gardener's own plugins before.
func review(ctx context.Context, shoot *gardencorev1beta1.Shoot) *admissionv1.AdmissionResponse {
	GinkgoHelper()
	list, url := &admissionregistrationv1.ValidatingWebhookConfigurationList{}, ""
	Expect(garden.Client.List(ctx, list)).To(Succeed())
	for _, configuration := range list.Items {
		for _, webhook := range configuration.Webhooks {
			if slices.ContainsFunc(webhook.Rules,
				func(r admissionregistrationv1.RuleWithOperations) bool { return slices.Contains(r.Resources, "shoots") }) {
				url = *webhook.ClientConfig.URL
			}
		}
	}
	kind := gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot")
	shoot.SetGroupVersionKind(kind)
	content, err := json.Marshal(shoot)
	Expect(err).NotTo(HaveOccurred())
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "1", Kind: metav1.GroupVersionKind(kind),
			Resource:  metav1.GroupVersionResource(gardencorev1beta1.SchemeGroupVersion.WithResource("shoots")),
			Namespace: shoot.Namespace, Name: shoot.Name, Operation: admissionv1.Create, Object: runtime.RawExtension{Raw: content},
		},
	})
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- the process of this test
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	answer := &admissionv1.AdmissionReview{}
	Expect(json.NewDecoder(response.Body).Decode(answer)).To(Succeed())
	Expect(answer.Response).NotTo(BeNil())
	return answer.Response
}

var _ = Describe("Permissions", Ordered, func() {
	DescribeTable("allow to read what the cache does not have yet",
		func(ctx SpecContext, change func(*gardencorev1beta1.ShootSpec)) {
			shoot := newShoot(shootFile)
			change(&shoot.Spec)
			review(ctx, shoot)
		},
		Entry("a CredentialsBinding", func(s *gardencorev1beta1.ShootSpec) { s.CredentialsBindingName = new("missing") }),
		Entry("a SecretBinding", func(s *gardencorev1beta1.ShootSpec) {
			s.CredentialsBindingName, s.SecretBindingName = nil, new("missing")
		}),
	)

	It("allow to read InternalSecrets", func(ctx SpecContext) {
		binding := newCredentialsBinding("internal", "core.gardener.cloud/v1beta1", "InternalSecret", "good")
		Expect(garden.Client.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(garden.Client.Delete(ctx, binding)).To(Succeed()) })
	})

	It("allow to delete old certificates", func(ctx SpecContext) {
		Eventually(func() error {
			return garden.Client.Get(ctx, client.ObjectKeyFromObject(oldCertificate), &corev1.Secret{})
		}).
			WithTimeout(30 * time.Second).Should(MatchError(apierrors.IsNotFound, "not found"))
	})

	It("are no others than are needed", func(ctx SpecContext) {
		unused, err := garden.Unused(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(rbacaudit.Reviews.Missing(unused)).To(BeEmpty())
	})
})
