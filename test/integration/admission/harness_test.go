// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"context"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

// change changes a valid object.
type change[T any] func(object *T)

type shootChange = change[gardencorev1beta1.Shoot]

// refused is an entry of a table: the change is refused by our webhook with the field path and the reason.
func refused[T any](name string, change change[T], fieldPath, reason string) TableEntry {
	return Entry(name, change, fieldPath, reason)
}

// accepted is an entry of a table: the change is accepted.
func accepted[T any](name string, change change[T]) TableEntry {
	return Entry(name, change)
}

// refuseNewShoot is the body of a table: the Shoot of a file cannot be created with the change.
func refuseNewShoot(file string) func(ctx SpecContext, change shootChange, fieldPath, reason string) {
	return func(ctx SpecContext, change shootChange, fieldPath, reason string) {
		shoot := newShoot(file)
		change(shoot)
		refuseCreation(ctx, shoot, fieldPath, reason)
	}
}

// refuseChangedShoot is the body of a table: the Shoot of a file, which exists, cannot be changed so.
func refuseChangedShoot(file string) func(ctx SpecContext, change shootChange, fieldPath, reason string) {
	return func(ctx SpecContext, change shootChange, fieldPath, reason string) {
		shoot := current(ctx, shootOf(file))
		change(shoot)
		refuseUpdate(ctx, shoot, fieldPath, reason)
	}
}

// acceptNewShoot is the body of a table: the Shoot of a file can be created with the change.
func acceptNewShoot(file string) func(ctx SpecContext, change shootChange) {
	return func(ctx SpecContext, change shootChange) {
		shoot := newShoot(file)
		change(shoot)
		Expect(garden.Client.Create(ctx, shoot, client.DryRunAll)).To(Succeed())
	}
}

// acceptChangedShoot is the body of a table: the Shoot of a file, which exists, can be changed so.
func acceptChangedShoot(file string) func(ctx SpecContext, change shootChange) {
	return func(ctx SpecContext, change shootChange) {
		shoot := current(ctx, shootOf(file))
		change(shoot)
		Expect(garden.Client.Update(ctx, shoot, client.DryRunAll)).To(Succeed())
	}
}

// refuseCreation tries to create the object.
func refuseCreation(ctx context.Context, object client.Object, fieldPath, reason string) {
	GinkgoHelper()
	expectDenied(garden.Client.Create(ctx, object, client.DryRunAll), fieldPath, reason)
}

// refuseUpdate tries to write the object, which exists.
func refuseUpdate(ctx context.Context, object client.Object, fieldPath, reason string) {
	GinkgoHelper()
	expectDenied(garden.Client.Update(ctx, object, client.DryRunAll), fieldPath, reason)
}

// expectDenied expects that our webhook, and nothing before it, refused the field for the reason.
func expectDenied(err error, fieldPath, reason string) {
	GinkgoHelper()
	Expect(err).To(MatchError(And(ContainSubstring(fieldPath+": "), ContainSubstring(reason))))
	Expect(gardenapi.DeniedByWebhook(err)).To(BeTrue(), "%v should come from our webhook", err)
}

// current returns the object as it is in the garden.
func current[T client.Object](ctx context.Context, object T) T {
	GinkgoHelper()
	Expect(garden.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object
}

// edit changes a document of the provider API, such as an infrastructureConfig.
func edit[T any, P codec.Object[T]](raw **runtime.RawExtension, change func(document P)) {
	GinkgoHelper()
	document, err := codec.Decode[T, P](*raw)
	Expect(err).NotTo(HaveOccurred())
	change(document)
	*raw, err = codec.Encode(document)
	Expect(err).NotTo(HaveOccurred())
}
