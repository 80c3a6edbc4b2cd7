// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// repeatInterval is the time after which a reconciliation that succeeded in part is repeated. Gardener does not do it: it reconciles a
// Bastion only if its specification changes.
const repeatInterval = time.Minute

type repeatKey struct{}

// repeating lets the actuator ask for another reconciliation without an error.
type repeating struct{ reconcile.Reconciler }

// Reconcile implements reconcile.Reconciler.
func (r repeating) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	asked := false
	result, err := r.Reconciler.Reconcile(context.WithValue(ctx, repeatKey{}, &asked), request)
	if err == nil && asked && result.IsZero() {
		result.RequeueAfter = repeatInterval
	}
	return result, err
}

// repeat asks for another reconciliation.
func repeat(ctx context.Context) {
	if asked, ok := ctx.Value(repeatKey{}).(*bool); ok {
		*asked = true
	}
}
