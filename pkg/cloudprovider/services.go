// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// runServices runs the service controller. It restarts it when the rules change, so that its cache shows the Services according to the new
// rules.
func (s *set) runServices(ctx context.Context, cloud *cloud) {
	for ctx.Err() == nil {
		rules, changed := s.rules.get()
		runCtx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if rules != nil {
				s.runServiceController(runCtx, cloud, *rules)
			}
		}()
		select {
		case <-ctx.Done():
		case <-changed:
		}
		cancel()
		<-done
	}
}

func (s *set) runServiceController(ctx context.Context, cloud *cloud, rules serviceRules) {
	services := informers.NewSharedInformerFactoryWithOptions(s.client, s.options.ResyncPeriod,
		informers.WithTransform(rules.transform(s.Site.Name)))
	nodes := informers.NewSharedInformerFactoryWithOptions(s.client, s.options.ResyncPeriod,
		informers.WithTweakListOptions(withLabels(memberSelector(s.Site))), informers.WithTransform(memberTransform))
	controller, err := servicecontroller.New(cloud, s.client, services.Core().V1().Services(), nodes.Core().V1().Nodes(), s.Shoot,
		s.options.FeatureGate)
	if err != nil {
		klog.ErrorS(err, "Service controller cannot run", "site", s.Site.Name)
		return
	}
	if _, err := services.Core().V1().Services().Informer().AddEventHandlerWithResyncPeriod(s.releaser(ctx, cloud, rules),
		releasePeriod); err != nil {
		klog.ErrorS(err, "Service controller cannot run", "site", s.Site.Name)
		return
	}
	for _, factory := range []informers.SharedInformerFactory{services, nodes} {
		factory.StartWithContext(ctx)
		defer factory.Shutdown()
	}
	controller.Run(ctx, s.options.ServiceSyncs, s.options.Metrics)
}

func memberSelector(site *v1alpha1.CloudControllerSite) string {
	if site.LoadBalancerMembers() == v1alpha1.LoadBalancerMembersAll {
		return v1alpha1.LabelSite
	}
	return siteSelector(site.Name)
}

// memberTransform drops the parts of nodes that load balancers do not need. The controller does not write nodes.
func memberTransform(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields = nil
		node.Status.Images = nil
	}
	return object, nil
}

// releaser removes the mark of Services whose load balancer is deleted, so that another site may serve them. It does so after the
// controller has removed the finalizer, which all sites share. It also removes finalizers that the controller of another site should have
// removed but did not.
func (s *set) releaser(ctx context.Context, cloud *cloud, rules serviceRules) cache.ResourceEventHandler {
	release := func(object any) {
		service, ok := object.(*corev1.Service)
		var err error
		switch {
		case !ok:
		case rules.overdue(service):
			err = removeFinalizer(ctx, s.client, service)
		case rules.releases(s.Site.Name, service) && released(service):
			err = s.release(ctx, cloud, service)
		}
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Service cannot be released, retrying", "site", s.Site.Name, "service", klog.KObj(service))
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: release, UpdateFunc: func(_, object any) { release(object) }}
}

// released reports whether the controller is done with the Service.
func released(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && !servicehelper.HasLBFinalizer(service) &&
		len(service.Status.LoadBalancer.Ingress) == 0
}

// release removes the mark. It keeps the platform's annotations if their load balancer still exists, because other Services share it.
func (s *set) release(ctx context.Context, cloud *cloud, service *corev1.Service) error {
	_, exists, err := cloud.balancers.GetLoadBalancer(ctx, s.Shoot, service)
	if err != nil {
		return err
	}
	annotations := map[string]*string{v1alpha1.AnnotationLoadBalancerSite: nil}
	if !exists {
		for _, key := range cloud.balancers.next.Annotations() {
			annotations[key] = nil
		}
	}
	if err := annotate(ctx, s.client, service, annotations); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
