// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package selfhostedshootexposure

import (
	"context"
	"net/netip"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/gardener/gardener/extensions/pkg/controller/selfhostedshootexposure"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	reconcilerutils "github.com/gardener/gardener/pkg/controllerutils/reconciler"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/errorcodes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	// siteTimeout limits the operation on the site. What needs longer is continued with the next reconciliation.
	siteTimeout = 4 * time.Minute
	// progressInterval is the time between two looks at a load balancer that needs longer.
	progressInterval = 5 * time.Second
)

// Reasons and actions of events.
const (
	reasonProgress  = "ExposureInProgress"
	reasonLeft      = "ExposureLeft"
	actionReconcile = "Reconcile"
	actionDelete    = "Delete"
)

type actuator struct {
	client client.Client
	// reader reads from the API server without a cache.
	reader    client.Reader
	events    eventnote.Writer
	platforms platform.Registry[platform.Exposures]
}

// NewActuator returns the actuator for SelfHostedShootExposures of type hybrid. The reader must not have a cache.
func NewActuator(c client.Client, reader client.Reader, recorder events.EventRecorder,
	platforms platform.Registry[platform.Exposures]) selfhostedshootexposure.Actuator {
	return &actuator{client: c, reader: reader, events: eventnote.Writer{EventRecorder: recorder}, platforms: platforms}
}

// Reconcile creates the load balancer of the API servers, or lets it follow the endpoints.
func (a *actuator) Reconcile(ctx context.Context, _ logr.Logger, exposure *extensionsv1alpha1.SelfHostedShootExposure,
	cluster *extensionscontroller.Cluster) ([]corev1.LoadBalancerIngress, error) {
	address, err := a.reconcile(ctx, exposure, cluster)
	if err != nil {
		return nil, a.result(exposure, actionReconcile, err)
	}
	return []corev1.LoadBalancerIngress{{IP: address.String()}}, nil
}

// Delete deletes the load balancer.
func (a *actuator) Delete(ctx context.Context, _ logr.Logger, exposure *extensionsv1alpha1.SelfHostedShootExposure,
	cluster *extensionscontroller.Cluster) error {
	return a.result(exposure, actionDelete, a.delete(ctx, exposure, cluster))
}

// ForceDelete is like Delete, but leaves what cannot be deleted and records an event.
func (a *actuator) ForceDelete(ctx context.Context, log logr.Logger, exposure *extensionsv1alpha1.SelfHostedShootExposure,
	cluster *extensionscontroller.Cluster) error {
	if err := a.delete(ctx, exposure, cluster); err != nil {
		log.Error(err, "Leaving what cannot be deleted of the exposure")
		a.events.Warning(exposure, reasonLeft, actionDelete,
			"Objects of the exposure may be left, the deletion of the Infrastructure takes them: %v", err)
	}
	return nil
}

// result adds codes to the error, and requeues soon if the load balancer is in progress.
func (a *actuator) result(exposure *extensionsv1alpha1.SelfHostedShootExposure, action string, err error) error {
	if platform.IsProgress(err) {
		a.events.Normal(exposure, reasonProgress, action, "%v", err)
		return &reconcilerutils.RequeueAfterError{Cause: err, RequeueAfter: progressInterval}
	}
	return errorcodes.WithCodes(err)
}

func (a *actuator) reconcile(ctx context.Context, exposure *extensionsv1alpha1.SelfHostedShootExposure,
	cluster *extensionscontroller.Cluster) (netip.Addr, error) {
	f, err := a.read(ctx, exposure, cluster)
	if err != nil {
		return netip.Addr{}, err
	}
	if err := f.checkInUse(); err != nil {
		return netip.Addr{}, err
	}
	s, err := f.site()
	if err != nil {
		return netip.Addr{}, err
	}
	part := a.platforms[s.Platform]
	if part == nil {
		return netip.Addr{}, platform.InSite(s.Name, platform.NewError(platform.ClassConfiguration, "it is of platform %q, and load balancers "+
			"of control planes are supported by %q: set controlPlane.exposure.dns of pool %q instead of extension", s.Platform,
			a.platforms.Platforms(), f.pool.Name))
	}
	endpoints, err := endpointsOf(exposure, s)
	if err != nil {
		return netip.Addr{}, err
	}
	if f.recorded != s.Name {
		// The nodes are on another site now.
		if err := a.deleteFrom(ctx, f, f.recorded); err != nil {
			return netip.Addr{}, err
		}
		if err := a.record(ctx, exposure, s.Name); err != nil {
			return netip.Addr{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	address, err := part.Ensure(ctx, platform.ExposureRequest{Site: s, Status: f.SiteStatus(s.Name), Settings: f.Config.Site(s.Name),
		Port: exposure.Spec.Port, Endpoints: endpoints})
	return address, platform.InSite(s.Name, err)
}

func (a *actuator) delete(ctx context.Context, exposure *extensionsv1alpha1.SelfHostedShootExposure,
	cluster *extensionscontroller.Cluster) error {
	f, err := a.read(ctx, exposure, cluster)
	if err != nil || f.Infra == nil {
		return err // without an Infrastructure there is nothing: its deletion took it
	}
	return a.deleteFrom(ctx, f, f.recorded)
}

// deleteFrom deletes the load balancer from a site. A site that is not known any longer has nothing of the shoot.
func (a *actuator) deleteFrom(ctx context.Context, f *facts, name string) error {
	s := site.Find(f.Sites, name)
	if s == nil {
		return nil
	}
	part, err := a.platforms.For(s.Platform)
	if err != nil {
		return platform.InSite(s.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	return platform.InSite(s.Name, part.Delete(ctx, s))
}

// record writes the site to the status before anything is created there.
func (a *actuator) record(ctx context.Context, exposure *extensionsv1alpha1.SelfHostedShootExposure, name string) (err error) {
	patch := client.MergeFrom(exposure.DeepCopy())
	if exposure.Status.ProviderStatus, err = codec.Encode(&v1alpha1.SelfHostedShootExposureStatus{Site: name}); err != nil {
		return err
	}
	return a.client.Status().Patch(ctx, exposure, patch)
}
