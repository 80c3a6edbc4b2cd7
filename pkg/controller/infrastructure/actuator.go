// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/infrastructure"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// siteTimeout is how long one site may take. A site that needs longer is tried again with the next reconciliation.
const siteTimeout = 4 * time.Minute

type actuator struct {
	client      client.Client
	recorder    events.EventRecorder
	platforms   platform.Registry[platform.Infrastructure]
	siteTimeout time.Duration
}

// NewActuator returns the actuator for Infrastructures of type hybrid.
func NewActuator(c client.Client, recorder events.EventRecorder, platforms platform.Registry[platform.Infrastructure]) infrastructure.Actuator {
	return &actuator{client: c, recorder: recorder, platforms: platforms, siteTimeout: siteTimeout}
}

// Restore is a reconciliation: the state came along in the status.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) error {
	return a.Reconcile(ctx, log, infra, cluster)
}

// Migrate has nothing to do: the state is persisted with every change, and the sites stay as they are.
func (a *actuator) Migrate(context.Context, logr.Logger, *extensionsv1alpha1.Infrastructure, *extensionscontroller.Cluster) error {
	return nil
}

// ForceDelete deletes what can be deleted and succeeds anyway, as the deletion of the shoot must not wait for a site that is
// gone.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure, cluster *extensionscontroller.Cluster) error {
	if err := a.Delete(ctx, log, infra, cluster); err != nil {
		log.Error(err, "Force deletion leaves objects behind")
	}
	return nil
}
