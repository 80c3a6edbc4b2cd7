// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/credentials"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

var _ = Describe("What a Shoot needs", func() {
	var (
		config = &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackProfile{}},
			{Name: "vc", VSphere: &v1alpha1.VSphereProfile{}},
			{Name: "racks", Metal: &v1alpha1.MetalProfile{}},
		}}
		data = func(changes ...string) map[string][]byte {
			result := map[string][]byte{
				"cloud.applicationCredentialID": []byte("i"), "cloud.applicationCredentialSecret": []byte("hush"),
				"vc.username": []byte("u"), "vc.password": []byte("hush"), "gone.token": []byte("hush"),
			}
			for _, change := range changes {
				if key, value, set := strings.Cut(change, "="); set {
					result[key] = []byte(value)
				} else {
					delete(result, key)
				}
			}
			return result
		}
	)

	// logins are those of two sites at one vCenter.
	logins := func(changes ...string) map[string][]byte {
		return data(append([]string{"vc.username=u@d", "vc2.username=u@d", "vc2.password=hush"}, changes...)...)
	}

	// newShoot uses the site cloud, and nothing is left of others.
	newShoot := func(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
		shoot := newShoot("s", func(spec *gardencorev1beta1.ShootSpec) {
			spec.Provider.InfrastructureConfig = &runtime.RawExtension{Raw: []byte(`{"kind":"InfrastructureConfig","unknown":1,` +
				`"sites":[{"name":"cloud"}]}`)}
		})
		shoot.Generation = 3
		shoot.Status = gardencorev1beta1.ShootStatus{
			ObservedGeneration: 3,
			LastOperation: &gardencorev1beta1.LastOperation{Type: gardencorev1beta1.LastOperationTypeReconcile,
				State: gardencorev1beta1.LastOperationStateSucceeded},
			Conditions: []gardencorev1beta1.Condition{
				{Type: gardencorev1beta1.ShootControlPlaneHealthy, Status: gardencorev1beta1.ConditionTrue},
				{Type: gardencorev1beta1.ShootEveryNodeReady, Status: gardencorev1beta1.ConditionTrue},
			},
		}
		if change != nil {
			change(shoot)
		}
		return shoot
	}
	uses := "Shoot garden-local/s uses the site"
	mayHave := func(why string) string { return "Shoot garden-local/s may have objects on the site: " + why }

	DescribeTable("sites",
		func(change func(*gardencorev1beta1.Shoot), why string) {
			needs := credentials.Needed(newShoot(change), data(), config)
			Expect(credentials.Unsettled(newShoot(change))).To(Equal(why))
			Expect(needs).NotTo(BeEmpty())
			Expect(needs[0]).To(And(HaveField("Site", "cloud"), HaveField("Platform", v1alpha1.PlatformOpenStack),
				HaveField("Why", "uses the site")))
			if why == "" {
				Expect(needs).To(HaveLen(1))
				return
			}
			Expect(needs[1:]).To(HaveExactElements(
				And(HaveField("Site", "vc"), HaveField("Platform", v1alpha1.PlatformVSphere), HaveField("Why", "may have objects on the site: "+why)),
				And(HaveField("Site", "gone"), HaveField("Platform", v1alpha1.PlatformMetal), HaveField("Why", "may have objects on the site: "+why))))
		},
		Entry("only those that it uses when all is well", nil, ""),
		Entry("a Shoot of which nothing was made", func(shoot *gardencorev1beta1.Shoot) { shoot.Status = gardencorev1beta1.ShootStatus{} }, ""),
		Entry("a change that is not seen yet", func(shoot *gardencorev1beta1.Shoot) { shoot.Generation = 4 },
			"its last change is not reconciled yet"),
		Entry("a Shoot whose changes wait for its maintenance", func(shoot *gardencorev1beta1.Shoot) {
			shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{ConfineSpecUpdateRollout: new(true)}
		}, "its changes may be waiting for its maintenance time window"),
		Entry("an operation that runs", func(shoot *gardencorev1beta1.Shoot) {
			shoot.Status.LastOperation.State = gardencorev1beta1.LastOperationStateProcessing
		}, "its last operation Reconcile has not succeeded"),
		Entry("an operation that failed", func(shoot *gardencorev1beta1.Shoot) {
			shoot.Status.LastOperation.State = gardencorev1beta1.LastOperationStateFailed
		}, "its last operation Reconcile has not succeeded"),
		Entry("a removed site that waits", func(shoot *gardencorev1beta1.Shoot) {
			shoot.Status.Conditions[1].Status = gardencorev1beta1.ConditionProgressing
		}, "its condition EveryNodeReady is not True"),
		Entry("a control plane that is not well", func(shoot *gardencorev1beta1.Shoot) {
			shoot.Status.Conditions[0].Status = gardencorev1beta1.ConditionFalse
		}, "its condition ControlPlaneHealthy is not True"),
		Entry("conditions that are not there", func(shoot *gardencorev1beta1.Shoot) { shoot.Status.Conditions = nil },
			"its condition ControlPlaneHealthy is not True"),
		Entry("a hibernated Shoot", func(shoot *gardencorev1beta1.Shoot) { shoot.Status.IsHibernated = true },
			"it is hibernated, so its conditions are not checked"),
		Entry("a Shoot that is deleted", func(shoot *gardencorev1beta1.Shoot) { shoot.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			"it is being deleted"),
	)

	unsettled := func(shoot *gardencorev1beta1.Shoot) { shoot.Generation = 4 }

	DescribeTable("of the old data must be in the new",
		func(change func(*gardencorev1beta1.Shoot), oldData, newData map[string][]byte, expected ...string) {
			errs := credentials.ValidateChange(newShoot(change), oldData, newData, config, field.NewPath("data"))
			var found []string
			for _, err := range errs {
				found = append(found, err.Field+": "+err.Detail)
				Expect(err.Error()).NotTo(ContainSubstring("hush"))
			}
			Expect(found).To(ConsistOf(expected))
		},
		Entry("nothing changes", nil, data(), data()),
		Entry("new values", nil, data(), data("cloud.applicationCredentialSecret=hush2", "vc.password=hush2")),
		Entry("another set of keys", nil, data(),
			data("cloud.applicationCredentialID", "cloud.applicationCredentialSecret", "cloud.domainName=d", "cloud.tenantName=t",
				"cloud.username=u", "cloud.password=hush")),
		Entry("a site that is not used is taken away", nil, data(), data("vc.username", "vc.password")),
		Entry("a site that the CloudProfile does not have is taken away", nil, data(), data("gone.token")),
		Entry("a removed site that left the CloudProfile is taken away while it waits", unsettled, data(), data("gone.token"),
			`data[gone.token]: site "gone" needs the keys gone.token or gone.clientCertificate, gone.clientKey; `+mayHave("its last change is not "+
				"reconciled yet")),
		Entry("a removed site that left the CloudProfile changes while it waits", unsettled, data(), data("gone.token=hush2")),
		Entry("a removed site that left the CloudProfile was not complete", unsettled, data("gone.token", "gone.username=u"), data("gone.token")),
		Entry("what belongs to no site is taken away", unsettled,
			data("dns.username=u", "dns.password=hush", "dns.domainName=d", "dns.tenantName=t"), data()),
		Entry("a key of a site that is used is taken away", nil, data(), data("cloud.applicationCredentialID"),
			`data[cloud.applicationCredentialID]: site "cloud" needs the keys cloud.domainName, cloud.tenantName, cloud.username, cloud.password `+
				`or cloud.applicationCredentialID, cloud.applicationCredentialSecret; `+uses),
		Entry("it was not complete", nil, data("cloud.applicationCredentialID"),
			data("cloud.applicationCredentialSecret", "cloud.applicationCredentialID")),
		Entry("a removed site is taken away while it waits", unsettled, data(), data("vc.username", "vc.password"),
			`data[vc.username]: site "vc" needs the keys vc.username, vc.password; `+mayHave("its last change is not reconciled yet")),
		Entry("a removed site changes while it waits", unsettled, data(), data("vc.password=hush2")),
	)

	DescribeTable("of the CSI driver for vSphere is a login that it takes",
		func(oldData, newData map[string][]byte, expected ...string) {
			driven := config.DeepCopy()
			driven.Sites[1].VSphere.Topology, driven.Sites[1].VSphere.Server = &v1alpha1.VSphereTopology{}, "https://vc"
			driven.Sites = append(driven.Sites, *driven.Sites[1].DeepCopy())
			driven.Sites[3].Name = "vc2"
			shoot := newShoot(func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.Provider.InfrastructureConfig.Raw = []byte(`{"sites":[{"name":"vc"},{"name":"vc2"}]}`)
			})
			var found []string
			for _, err := range credentials.ValidateChange(shoot, oldData, newData, driven, field.NewPath("data")) {
				found = append(found, err.Field+": "+err.Detail)
				Expect(err.Error()).NotTo(ContainSubstring("hush"))
			}
			Expect(found).To(ConsistOf(expected))
		},
		Entry("nothing changes", logins(), logins()),
		Entry("both rotate", logins(), logins("vc.password=hush2", "vc2.password=hush2")),
		Entry("one of two at the vCenter rotates", logins(), logins("vc.password=hush2"),
			`data[vc2.password]: must be that of site "vc": both use one vCenter, where the CSI driver has one login; `+uses),
		Entry("a user without a domain", logins(), logins("vc.username=u", "vc2.username=u"),
			`data[vc.username]: must be <user>@<domain> or <domain>\<user> of letters, digits, ".", "_" and "-", because the CSI `+
				`driver supports no other; `+uses,
			`data[vc2.username]: must be <user>@<domain> or <domain>\<user> of letters, digits, ".", "_" and "-", because the CSI `+
				`driver supports no other; `+uses),
		Entry("an old mistake stays", logins("vc.password=hush2"), logins("vc.password=hush2", "cloud.applicationCredentialSecret=hush2")),
		Entry("an old mistake goes", logins("vc.password=hush2"), logins()),
	)

	It("is nothing without a CloudProfile", func() {
		Expect(credentials.Needed(newShoot(unsettled), data(), nil)).To(BeEmpty())
	})

	DescribeTable("sites are read from any configuration",
		func(raw *runtime.RawExtension, names ...string) {
			shoot := newShoot(func(shoot *gardencorev1beta1.Shoot) { shoot.Spec.Provider.InfrastructureConfig = raw })
			Expect(credentials.SitesOf(shoot)).To(HaveExactElements(names))
		},
		Entry("none", nil),
		Entry("empty", &runtime.RawExtension{}),
		Entry("no JSON", &runtime.RawExtension{Raw: []byte(`{`)}),
		Entry("no list", &runtime.RawExtension{Raw: []byte(`{"sites": {}}`)}),
		Entry("two sites", &runtime.RawExtension{Raw: []byte(`{"sites": [{"name": "a", "odd": []}, {"name": "b"}]}`)}, "a", "b"),
	)
})
