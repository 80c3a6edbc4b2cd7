// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validator_test

import (
	"maps"
	"strings"

	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/gardener/gardener/pkg/client/kubernetes"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	. "github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// playedManager is as much of a manager as validators need.
type playedManager struct {
	manager.Manager

	client client.Client
}

func (m *playedManager) GetClient() client.Client    { return m.client }
func (m *playedManager) GetAPIReader() client.Reader { return m.client }

// newManager returns a manager whose cache and API have the objects.
func newManager(objects ...client.Object) manager.Manager {
	builder := fakeclient.NewClientBuilder().WithScheme(kubernetes.GardenScheme).WithObjects(objects...)
	for _, index := range Indexes() {
		builder = builder.WithIndex(index.Object, index.Field, index.Extract)
	}
	return &playedManager{client: builder.Build()}
}

// editData returns the data with changes: key=value sets a key, key alone takes it away.
func editData(data map[string][]byte, changes ...string) map[string][]byte {
	data = maps.Clone(data)
	for _, change := range changes {
		if key, value, set := strings.Cut(change, "="); set {
			data[key] = []byte(value)
		} else {
			delete(data, key)
		}
	}
	return data
}

var _ = Describe("Secrets", func() {
	var (
		g         *garden
		validator extensionswebhook.Validator
	)

	settled := gardencorev1beta1.ShootStatus{
		LastOperation: &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile,
			State: gardencorev1beta1.LastOperationStateSucceeded},
		Conditions: []gardencorev1beta1.Condition{
			{Type: gardencorev1beta1.ShootControlPlaneHealthy, Status: gardencorev1beta1.ConditionTrue},
			{Type: gardencorev1beta1.ShootEveryNodeReady, Status: gardencorev1beta1.ConditionTrue},
		},
	}

	BeforeEach(func() {
		g = newGarden()
		g.shoot.Status = settled
		validator = nil
	})
	start := func() { validator = NewSecretValidator(newManager(g.profile, g.shoot, g.binding)) }

	DescribeTable("refuse",
		func(ctx SpecContext, parts ...string) {
			changes, expected := parts[:len(parts)-1], parts[len(parts)-1]
			start()
			secret := g.secret.DeepCopy()
			secret.Data = editData(secret.Data, changes...)
			err := validator.Validate(ctx, secret, g.secret)
			Expect(err).To(MatchError(ContainSubstring(expected)))
			Expect(err).NotTo(MatchError(ContainSubstring("hush")))

			internal := &gardencorev1beta1.InternalSecret{ObjectMeta: secret.ObjectMeta, Data: secret.Data}
			if strings.Contains(expected, "Shoot ") {
				Expect(validator.Validate(ctx, internal, &gardencorev1beta1.InternalSecret{Data: g.secret.Data})).To(Succeed(),
					"no binding refers to it")
				return
			}
			Expect(validator.Validate(ctx, internal, nil)).To(MatchError(ContainSubstring(expected)))
		},
		Entry("a key without site", "kubeconfig=hush", "data[kubeconfig]: Invalid value"),
		Entry("an address", "vc.server=hush",
			"data[vc.server]: Forbidden: must not be set: addresses and trusted certificates are configured in the CloudProfile"),
		Entry("a line break", "vc.password=hush\n", "data[vc.password]: Invalid value"),
		Entry("a key that a Shoot needs is taken away", "racks.token",
			`data[racks.token]: Required value: site "racks" needs the keys racks.token or racks.clientCertificate, racks.clientKey; Shoot `+
				`garden-local/all-platforms uses the site`),
		Entry("a second set of keys", "cloud.applicationCredentialID=hush",
			`data[cloud.applicationCredentialID]: Forbidden: site "cloud" must have only one of the sets of keys cloud.domainName, `+
				`cloud.tenantName, cloud.username, cloud.password or cloud.applicationCredentialID, cloud.applicationCredentialSecret; Shoot `+
				`garden-local/all-platforms uses the site`),
	)

	DescribeTable("accept",
		func(ctx SpecContext, change func(), changes ...string) {
			change()
			start()
			secret := g.secret.DeepCopy()
			secret.Data = editData(secret.Data, changes...)
			Expect(validator.Validate(ctx, secret, g.secret)).To(Succeed())
		},
		Entry("rotation", func() {}, "cloud.password=hush2"),
		Entry("credentials of another site", func() {}, "hall2.token=hush"),
		Entry("that those of a site without Shoots go", func() {}, "hall.token"),
		Entry("rotation while the CloudProfile cannot be read", func() { g.profile.Spec.ProviderConfig = broken() }, "cloud.password=hush2"),
	)

	It("may keep old mistakes of a site when the credentials of another one are rotated", func(ctx SpecContext) {
		start()
		g.secret.Data = editData(g.secret.Data, "vc.password=hush\n")
		secret := g.secret.DeepCopy()
		secret.Data = editData(secret.Data, "cloud.password=hush2")
		Expect(validator.Validate(ctx, secret, g.secret)).To(Succeed())

		secret.Data = editData(secret.Data, "vc.password=hush2\n")
		Expect(validator.Validate(ctx, secret, g.secret)).To(MatchError(ContainSubstring("data[vc.password]: Invalid value")))
		Expect(validator.Validate(ctx, g.secret, nil)).To(MatchError(ContainSubstring("data[vc.password]: Invalid value")))
	})

	It("keep what a removed site may still need", func(ctx SpecContext) {
		editInfrastructure(g.shoot, func(config *v1alpha1.InfrastructureConfig) { config.Sites = config.Sites[:2] })
		secret := g.secret.DeepCopy()
		delete(secret.Data, "racks.token")

		start()
		Expect(validator.Validate(ctx, secret, g.secret)).To(Succeed())

		g.shoot.Status.Conditions[1].Status = gardencorev1beta1.ConditionProgressing
		start()
		Expect(validator.Validate(ctx, secret, g.secret)).To(MatchError(ContainSubstring(
			"Shoot garden-local/all-platforms may have objects on the site: its condition EveryNodeReady is not True")))

		editProfile(g, func(config *v1alpha1.CloudProfileConfig) { config.Sites = config.Sites[:2] })
		start()
		Expect(validator.Validate(ctx, secret, g.secret)).To(MatchError(ContainSubstring(
			`data[racks.token]: Required value: site "racks" needs the keys racks.token or racks.clientCertificate, racks.clientKey; Shoot ` +
				`garden-local/all-platforms may have objects on the site`)))
	})

	It("may be written as they were, and when they are deleted, whatever they hold", func(ctx SpecContext) {
		start()
		g.secret.Data["kubeconfig"] = []byte("hush")
		changed := g.secret.DeepCopy()
		changed.Labels = map[string]string{"a": "b"}
		Expect(validator.Validate(ctx, changed, g.secret)).To(Succeed())

		changed.Data = nil
		changed.DeletionTimestamp = &metav1.Time{}
		Expect(validator.Validate(ctx, changed, g.secret)).To(Succeed())
	})

	It("are nothing else", func(ctx SpecContext) {
		start()
		Expect(validator.Validate(ctx, &corev1.ConfigMap{}, nil)).To(MatchError(ContainSubstring("*v1.ConfigMap")))
		Expect(validator.Validate(ctx, g.secret, &corev1.ConfigMap{})).To(MatchError(ContainSubstring("*v1.ConfigMap")))
	})
})
