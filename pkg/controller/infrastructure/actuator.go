// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"net"
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
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

const (
	// siteTimeout limits the operation on one site. Sites that need longer are retried with the next reconciliation.
	siteTimeout = 4 * time.Minute
	// cutOffTimeout limits it on a site that is known not to respond.
	cutOffTimeout = 30 * time.Second
	// lookUpTimeout limits the preflight checks of a site and the search for orphans.
	lookUpTimeout = time.Minute
	// progressInterval is how often a forced deletion asks a site that is still deleting.
	progressInterval = 2 * time.Second
	// hostTimeout limits the resolution of the name of a site's API.
	hostTimeout = 5 * time.Second
)

// Reasons and actions of events.
const (
	reasonSiteFailed  = "SiteFailed"
	reasonSiteReady   = "SiteReady"
	reasonSiteWarning = "SiteWarning"
	reasonSiteStays   = "SiteStays"
	reasonSiteDeleted = "SiteDeleted"
	reasonSiteInUse   = "SiteInUse"
	reasonOrphansLeft = "OrphansLeft"
	actionReconcile   = "Reconcile"
	actionDelete      = "Delete"
	actionLookUp      = "LookUp"
)

type actuator struct {
	client client.Client
	// reader reads from the API server without a cache.
	reader           client.Reader
	events           eventnote.Writer
	clock            clock.Clock
	platforms        platform.Registry[platform.Infrastructure]
	siteTimeout      time.Duration
	cutOffTimeout    time.Duration
	lookUpTimeout    time.Duration
	progressInterval time.Duration
	// lookUpHost resolves names of sites' APIs. Names are not resolved if it is nil.
	lookUpHost lookUpHost
	// preflight are the options of the checks that concern no single platform. These are not made if it is nil.
	preflight *preflight.Options
}

// NewActuator returns the actuator for Infrastructures of type hybrid. The reader must not have a cache.
func NewActuator(c client.Client, reader client.Reader, recorder events.EventRecorder,
	platforms platform.Registry[platform.Infrastructure]) infrastructure.Actuator {
	return &actuator{
		client: c, reader: reader, events: eventnote.Writer{EventRecorder: recorder}, clock: clock.RealClock{}, platforms: platforms,
		siteTimeout: siteTimeout, cutOffTimeout: cutOffTimeout, lookUpTimeout: lookUpTimeout, progressInterval: progressInterval,
		lookUpHost: net.DefaultResolver.LookupNetIP, preflight: &preflight.Options{},
	}
}

// Reconcile reconciles the sites of the shoot and deletes removed ones, in parallel. The status has the results of healthy sites even if
// others fail.
func (a *actuator) Reconcile(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	return a.reconcile(ctx, log, infra, cluster, false)
}

// Restore is a reconciliation with the state from the other seed. It skips the preflight checks, because the infrastructure has passed them
// before and must be known before machines can be restored. It deletes no removed site, because their machines are not visible yet.
func (a *actuator) Restore(ctx context.Context, log logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	return a.reconcile(ctx, log, infra, cluster, true)
}

// Migrate changes nothing: every change of the state was persisted, and the sites keep their objects. Metrics about hosts are now those of
// the other seed.
func (a *actuator) Migrate(_ context.Context, _ logr.Logger, infra *extensionsv1alpha1.Infrastructure,
	cluster *extensionscontroller.Cluster) error {
	platform.ForgetHosts(prometheus.Labels{"shoot_namespace": shootsites.TechnicalID(infra.Namespace, cluster)})
	return nil
}
