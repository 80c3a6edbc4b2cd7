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
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/shootsites"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// siteTimeout is how long one site may take. A site that needs longer is tried again with the next reconciliation.
	siteTimeout = 4 * time.Minute
	// lookUpTimeout is how much of it looking for mistakes and orphans may take.
	lookUpTimeout = time.Minute
)

type actuator struct {
	client client.Client
	// reader asks the API server.
	reader        client.Reader
	events        eventnote.Writer
	clock         clock.Clock
	platforms     platform.Registry[platform.Infrastructure]
	siteTimeout   time.Duration
	lookUpTimeout time.Duration
}

// NewActuator returns the actuator for Infrastructures of type hybrid. The reader has no cache.
func NewActuator(c client.Client, reader client.Reader, recorder events.EventRecorder,
	platforms platform.Registry[platform.Infrastructure]) infrastructure.Actuator {
	return &actuator{
		client: c, reader: reader, events: eventnote.Writer{EventRecorder: recorder}, clock: clock.RealClock{}, platforms: platforms,
		siteTimeout: siteTimeout, lookUpTimeout: lookUpTimeout,
	}
}

// Reconcile reconciles the sites of the shoot and deletes those that it does not use any more, all at the same time. The
// status says what the healthy ones came to, whatever happens to the others.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	return a.reconcile(ctx, log, infra, cluster, false)
}

// Restore is a reconciliation: the state came along in the status. It does not look for mistakes, because what there is
// worked before, and must be known again before machines can be restored. It deletes no site, because it cannot see the
// machines yet.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	return a.reconcile(ctx, log, infra, cluster, true)
}

// Migrate changes nothing: the state is persisted with every change, and the sites stay as they are. What they have is told by the
// other seed from now on.
func (a *actuator) Migrate(_ context.Context, _ logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	platform.Hosts.DeletePartialMatch(prometheus.Labels{"shoot_namespace": shootsites.TechnicalID(infra.Namespace, cluster)})
	return nil
}
