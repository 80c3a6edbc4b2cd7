// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
)

// remember writes which sites something is deployed for. It comes before that is done, so that no site can be forgotten.
func (a *actuator) remember(ctx context.Context, cp *extensionsv1alpha1.ControlPlane, state *v1alpha1.ControlPlaneState) error {
	raw, err := codec.Encode(state)
	if err != nil {
		return err
	}
	before := cp.DeepCopy()
	if earlier, err := shootsites.DecodeOptional[v1alpha1.ControlPlaneState]("status.state", cp.Status.State); err == nil &&
		equality.Semantic.DeepEqual(earlier.Sites, state.Sites) {
		return nil
	}
	cp.Status.State = raw
	if err := a.client.Status().Patch(ctx, cp, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("writing the state of the ControlPlane: %w", err)
	}
	return nil
}
