// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bootdata_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
)

// byTest marks the reads of the test. The product may not read Secrets.
type byTest struct{}

var _ = Describe("Secrets", func() {
	var (
		us  = owner.Owner{Shoot: "shoot", Site: "racks"}
		key = client.ObjectKey{Namespace: "hosts", Name: "m"}
		c   client.Client
	)
	of := func(data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Labels: map[string]string{"kind": "boot"}}, Data: data}
	}
	read := func(ctx SpecContext) *corev1.Secret {
		GinkgoHelper()
		found := &corev1.Secret{}
		Expect(c.Get(context.WithValue(ctx, byTest{}, true), key, found)).To(Succeed())
		return found
	}

	BeforeEach(func() {
		c = fakeclient.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if _, reads := ctx.Value(byTest{}).(bool); !reads {
					return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, nil)
				}
				return c.Get(ctx, key, object, options...)
			},
			// An API server calls a patch invalid whose tests fail.
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				err := c.Patch(ctx, object, patch, options...)
				if err != nil && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
					return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), object.GetName(), nil)
				}
				return err
			},
		}).Build()
	})

	It("have nothing of what was written before", func(ctx SpecContext) {
		Expect(bootdata.WriteSecret(ctx, c, us, "m", of(map[string][]byte{"a": []byte("1"), "b": []byte("2")}))).To(Succeed())
		Expect(read(ctx).Labels).To(Equal(map[string]string{"kind": "boot", owner.LabelShoot: "shoot", owner.LabelSite: "racks",
			owner.LabelMachine: "m"}))

		Expect(bootdata.WriteSecret(ctx, c, us, "m", of(map[string][]byte{"a": []byte("3")}))).To(Succeed())
		Expect(read(ctx).Data).To(Equal(map[string][]byte{"a": []byte("3")}))

		Expect(bootdata.DeleteSecret(ctx, c, "hosts", us, "m")).To(Succeed())
		Expect(apierrors.IsNotFound(c.Get(context.WithValue(ctx, byTest{}, true), key, &corev1.Secret{}))).To(BeTrue())
		Expect(bootdata.DeleteSecret(ctx, c, "hosts", us, "m")).To(Succeed())
	})

	It("are left alone if they are another's", func(ctx SpecContext) {
		Expect(c.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "m", Labels: owner.Owner{Shoot: "other", Site: "racks"}.MachineLabels("m")},
			Data:       map[string][]byte{"theirs": []byte("1")},
		})).To(Succeed())
		err := bootdata.WriteSecret(ctx, c, us, "m", of(nil))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))
		Expect(bootdata.DeleteSecret(ctx, c, "hosts", us, "m")).To(Succeed())
		Expect(read(ctx).Data).To(HaveKey("theirs"))
	})
})
