// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package mutator_test

import (
	"context"
	"testing"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
)

// FuzzShoot mutates Shoots twice: there is no panic, and the second time nothing changes.
func FuzzShoot(f *testing.F) {
	pools := raw("ControlPlaneConfig",
		`"sites":[{"name":"a","loadBalancer":{"metalLB":{"addressPools":[{"name":"x","cidrs":["10.250.0.100-10.250.0.120"],`+
			`"advertisement":"L2"}]}}}]`)
	for _, infrastructure := range []*runtime.RawExtension{
		stretched("10.250.0.0/16", "a", "b", "c=10.250.0.0/18"),
		stretched("10.250.0.0/16,fd00:10::/64", "a=10.250.0.0/20,fd00:10::/66", "b"),
		stretched("255.255.255.0/24", "a", "b"),
		stretched("0.0.0.0/0", "a"),
		stretched("", "a"),
	} {
		f.Add(infrastructure.Raw, pools.Raw, raw("WorkerConfig", `"sites":[{"name":"a","priority":1,"minimum":3},{"name":"b"}]`).Raw,
			[]byte(`{"overlay":null}`))
	}
	f.Fuzz(func(t *testing.T, infrastructure, controlPlane, worker, network []byte) {
		shoot := newShoot(&runtime.RawExtension{Raw: infrastructure})
		shoot.Spec.Provider.ControlPlaneConfig = &runtime.RawExtension{Raw: controlPlane}
		shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Minimum: 3, Maximum: 10, ProviderConfig: &runtime.RawExtension{Raw: worker}}}
		shoot.Spec.Networking = &gardencorev1beta1.Networking{Type: new("calico"), ProviderConfig: &runtime.RawExtension{Raw: network}}
		if mutator.NewShootMutator().Mutate(context.Background(), shoot, nil) != nil {
			return
		}
		once := shoot.DeepCopy()
		if err := mutator.NewShootMutator().Mutate(context.Background(), shoot, nil); err != nil {
			t.Fatalf("the second mutation fails: %v", err)
		}
		if !equality.Semantic.DeepEqual(once, shoot) {
			t.Fatalf("the second mutation changes %s to %s", once.Spec.Provider.InfrastructureConfig.Raw,
				shoot.Spec.Provider.InfrastructureConfig.Raw)
		}
	})
}
