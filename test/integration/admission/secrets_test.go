// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"
	"fmt"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

// secretText is part of values that no message may have.
const secretText = "s3cr3t"

// leaving is a Shoot, with a Secret of its own, that does not list the site vc.
const leaving = "leaving"

var providerLabels = map[string]string{v1beta1constants.LabelShootProviderPrefix + v1alpha1.ProviderType: "true"}

var _ = beforeWebhooks(func(ctx context.Context) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: leaving, Labels: providerLabels},
		Data: credentials()}
	Expect(garden.Client.Create(ctx, secret)).To(Succeed())
	Expect(garden.Client.Create(ctx, newCredentialsBinding(leaving, "v1", "Secret", leaving))).To(Succeed())
	shoot := shootOf(allPlatforms)
	shoot.Name = leaving
	shoot.Spec.CredentialsBindingName = new(leaving)
	edit(&shoot.Spec.Provider.InfrastructureConfig, func(config *v1alpha1.InfrastructureConfig) {
		config.Sites = []v1alpha1.InfrastructureSite{config.Sites[0], config.Sites[2]}
	})
	shoot.Spec.Provider.Workers = shoot.Spec.Provider.Workers[:1]
	Eventually(func() error { return garden.Client.Create(ctx, shoot.DeepCopy()) }).WithTimeout(10 * time.Second).Should(Succeed())

	// It was bound before anybody checked it.
	odd := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "odd", Labels: providerLabels},
		Data: map[string][]byte{"kubeconfig": []byte(secretText)}}
	Expect(garden.Client.Create(ctx, odd)).To(Succeed())
})

// settle writes the status of the Shoot as gardenlet does when all is well, with the change.
func settle(ctx context.Context, name string, change func(status *gardencorev1beta1.ShootStatus)) {
	GinkgoHelper()
	shoot := current(ctx, &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: name}})
	now := metav1.Now()
	condition := func(conditionType gardencorev1beta1.ConditionType) gardencorev1beta1.Condition {
		return gardencorev1beta1.Condition{Type: conditionType, Status: gardencorev1beta1.ConditionTrue, Reason: "Test", Message: "test",
			LastTransitionTime: now, LastUpdateTime: now}
	}
	shoot.Status.ObservedGeneration, shoot.Status.IsHibernated = shoot.Generation, false
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{
		Type: gardencorev1beta1.LastOperationTypeReconcile, State: gardencorev1beta1.LastOperationStateSucceeded, Progress: 100,
		LastUpdateTime: now,
	}
	shoot.Status.Conditions = []gardencorev1beta1.Condition{condition(gardencorev1beta1.ShootControlPlaneHealthy),
		condition(gardencorev1beta1.ShootEveryNodeReady)}
	change(&shoot.Status)
	Expect(garden.Client.Status().Update(ctx, shoot)).To(Succeed())
}

func secretNamed(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: name}}
}

// set sets keys of a Secret.
func set(pairs ...string) change[corev1.Secret] {
	return func(secret *corev1.Secret) {
		for i := 0; i < len(pairs); i += 2 {
			secret.Data[pairs[i]] = []byte(pairs[i+1])
		}
	}
}

// unset takes keys away from a Secret.
func unset(keys ...string) change[corev1.Secret] {
	return func(secret *corev1.Secret) {
		for _, key := range keys {
			delete(secret.Data, key)
		}
	}
}

var _ = Describe("Secrets", func() {
	refuse := func(ctx SpecContext, object client.Object, write func(context.Context, client.Object) error, fieldPath, reason string) {
		GinkgoHelper()
		err := write(ctx, object)
		expectDenied(err, fieldPath, reason)
		Expect(err).NotTo(MatchError(ContainSubstring(secretText)))
	}
	create := func(ctx context.Context, object client.Object) error {
		return garden.Client.Create(ctx, object, client.DryRunAll)
	}
	update := func(ctx context.Context, object client.Object) error {
		return garden.Client.Update(ctx, object, client.DryRunAll)
	}

	DescribeTable("with wrong keys or values are refused, and so are InternalSecrets",
		func(ctx SpecContext, change change[corev1.Secret], fieldPath, reason string) {
			changed := current(ctx, secretNamed(gardenapi.Credentials))
			change(changed)
			refuse(ctx, changed, update, fieldPath, reason)

			created := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "new", Labels: providerLabels},
				Data: changed.Data}
			refuse(ctx, created, create, fieldPath, reason)
			internal := &gardencorev1beta1.InternalSecret{ObjectMeta: created.ObjectMeta, Data: changed.Data}
			refuse(ctx, internal, create, fieldPath, reason)
		},
		refused("no prefix", set("username", secretText), "data[username]", "must be <site>.<key>, for example cloud.username"),
		refused("a kubeconfig", set("kubeconfig", secretText), "data[kubeconfig]", "must be <site>.<key>"),
		refused("a kubeconfig of a site", set("racks.kubeconfig", secretText), "data[racks.kubeconfig]", "are configured in the CloudProfile"),
		refused("the address of a site", set("cloud.authURL", "https://"+secretText+".example.com"), "data[cloud.authURL]",
			"are configured in the CloudProfile"),
		refused("the server of a site", set("vc.server", secretText), "data[vc.server]", "are configured in the CloudProfile"),
		refused("whom to trust", set("vc.caCert", secretText), "data[vc.caCert]", "are configured in the CloudProfile"),
		refused("an unknown key", set("cloud.user", secretText), "data[cloud.user]", "supported values"),
		refused("a reserved name", set("token.username", secretText), "data[token.username]", "must not begin with one of the reserved names"),
		refused("a line break at the end", set("vc.password", secretText+"\n"), "data[vc.password]",
			"must not begin or end with white space or line breaks"),
		refused("a line of a configuration file", set("vc.password", secretText+"\nserver = x"), "data[vc.password]",
			"must not contain line breaks"),
		refused("no value", set("vc.password", ""), "data[vc.password]", "must not be empty"),
		refused("no certificate", set("hall2.clientCertificate", secretText, "hall2.clientKey", secretText), "data[hall2.clientCertificate]",
			"must be a PEM certificate whose private key is hall2.clientKey"),
		refused("a URL as DNS server", set("dns.server", "https://"+secretText, "dns.tsigKeyName", "key", "dns.tsigSecret", "c2VjcmV0"),
			"data[dns.server]", "must be <host> or <host>:<port>"),
		refused("an address beside a site's Designate", set("dns.site", "cloud", "dns.authURL", "https://"+secretText), "data[dns.authURL]",
			"must not be set: it is that of the site in dns.site"),
		refused("the Designate of a site without credentials", set("dns.site", "none"), "data[none.domainName]", `site "none" needs the keys`),
	)

	DescribeTable("keep what Shoots need",
		func(ctx SpecContext, change change[corev1.Secret], fieldPath, reason string) {
			secret := current(ctx, secretNamed(gardenapi.Credentials))
			change(secret)
			refuse(ctx, secret, update, fieldPath, reason)
		},
		refused("a key", unset("cloud2.password"), "data[cloud2.password]", "uses the site"),
		refused("a site", unset("racks.token"), "data[racks.token]",
			`site "racks" needs the keys racks.token or racks.clientCertificate, racks.clientKey; Shoot garden-local/`),
		refused("all", func(secret *corev1.Secret) { secret.Data = nil }, "data[vc.username]",
			`site "vc" needs the keys vc.username, vc.password; Shoot garden-local/`),
		refused("one of two sets", set("cloud.applicationCredentialID", "a"), "data[cloud.applicationCredentialID]",
			`site "cloud" must have only one of the sets of keys`),
	)

	DescribeTable("can be changed",
		func(ctx SpecContext, change change[corev1.Secret]) {
			secret := current(ctx, secretNamed(gardenapi.Credentials))
			change(secret)
			Expect(update(ctx, secret)).To(Succeed())
		},
		accepted("nothing", set()),
		accepted("rotation", set("cloud.password", secretText, "racks.token", secretText)),
		accepted("another set of keys", func(secret *corev1.Secret) {
			unset("cloud.domainName", "cloud.tenantName", "cloud.username", "cloud.password")(secret)
			set("cloud.applicationCredentialID", "a", "cloud.applicationCredentialSecret", secretText)(secret)
		}),
		accepted("a site more", set("new.username", "a", "new.password", secretText)),
		accepted("a site less that nobody uses", unset("hall.token")),
		accepted("DNS of a site", set("dns.site", "cloud")),
		accepted("dynamic updates of DNS",
			set("dns.server", "192.0.2.53:5353", "dns.tsigKeyName", "key.example.com", "dns.tsigSecret", "c2VjcmV0", "dns.tsigAlgorithm",
				"hmac-sha512")),
	)

	It("can be created before any Shoot", func(ctx SpecContext) {
		Expect(create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: gardenapi.Namespace, Name: "new", Labels: providerLabels},
			Data:       map[string][]byte{"cloud.username": []byte("half")},
		})).To(Succeed())
	})

	It("can be labelled and deleted whatever they hold, and changed where nothing is wrong", func(ctx SpecContext) {
		secret := current(ctx, secretNamed("odd"))
		secret.Annotations = map[string]string{"a": "b"}
		Expect(update(ctx, secret)).To(Succeed())
		Expect(garden.Client.Delete(ctx, secret, client.DryRunAll)).To(Succeed())
		set("cloud.password", secretText)(secret)
		Expect(update(ctx, secret)).To(Succeed())
		set("kubeconfig", secretText+"2")(secret)
		refuse(ctx, secret, update, "data[kubeconfig]", "must be <site>.<key>")
	})

	Describe("of a Shoot that does not list a site any more", Ordered, func() {
		DescribeTable("keep its credentials while objects may be left",
			func(ctx SpecContext, change func(status *gardencorev1beta1.ShootStatus), why string) {
				settle(ctx, leaving, change)
				secret := current(ctx, secretNamed(leaving))
				unset("vc.username", "vc.password")(secret)
				Eventually(func(g Gomega) {
					err := update(ctx, secret)
					g.Expect(err).To(MatchError(ContainSubstring(why)))
				}).WithTimeout(10 * time.Second).Should(Succeed())
				refuse(ctx, secret, update, "data[vc.username]", fmt.Sprintf("Shoot garden-local/%s may have objects on the site: %s", leaving, why))
				set("vc.username", "a", "vc.password", secretText)(secret)
				Expect(update(ctx, secret)).To(Succeed())
			},
			Entry("it is being reconciled", func(status *gardencorev1beta1.ShootStatus) {
				status.LastOperation.State, status.LastOperation.Progress = gardencorev1beta1.LastOperationStateProcessing, 50
			}, "its last operation Reconcile has not succeeded"),
			Entry("its machines are drained", func(status *gardencorev1beta1.ShootStatus) {
				status.Conditions[1].Status = gardencorev1beta1.ConditionProgressing
			}, "its condition EveryNodeReady is not True"),
			Entry("the change is not seen yet", func(status *gardencorev1beta1.ShootStatus) { status.ObservedGeneration = 0 },
				"its last change is not reconciled yet"),
			Entry("it is hibernated", func(status *gardencorev1beta1.ShootStatus) { status.IsHibernated = true },
				"it is hibernated, so its conditions are not checked"),
		)

		It("let its credentials go afterwards", func(ctx SpecContext) {
			settle(ctx, leaving, func(*gardencorev1beta1.ShootStatus) {})
			secret := current(ctx, secretNamed(leaving))
			unset("vc.username", "vc.password")(secret)
			Eventually(func() error { return update(ctx, secret) }).WithTimeout(10 * time.Second).Should(Succeed())
		})
	})
})
