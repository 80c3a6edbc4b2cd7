// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// releasePeriod is the time between two attempts to release a Service.
const releasePeriod = 30 * time.Second

// runServices runs the controller of Services. It begins anew, with the Services in its cache as the new rules say, when the rules
// change.
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
		klog.ErrorS(err, "Controller of Services cannot run", "site", s.Site.Name)
		return
	}
	if _, err := services.Core().V1().Services().Informer().AddEventHandlerWithResyncPeriod(s.releaser(ctx, cloud, rules),
		releasePeriod); err != nil {
		klog.ErrorS(err, "Controller of Services cannot run", "site", s.Site.Name)
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

// memberTransform drops what load balancers do not need of nodes, which the controller only reads.
func memberTransform(object any) (any, error) {
	if node, ok := object.(*corev1.Node); ok {
		node.ManagedFields = nil
		node.Status.Images = nil
	}
	return object, nil
}

// mark says at the Service that the site has, or is about to have, its load balancer: the class, which said so, goes when the type
// of the Service changes. What the load balancer at a site that is gone left in the platform's annotations goes with the mark of that
// site; what the user says there about the first one stays.
func mark(ctx context.Context, client kubernetes.Interface, service *corev1.Service, site string, platformAnnotations []string) error {
	before := service.Annotations[v1alpha1.AnnotationLoadBalancerSite]
	if before == site {
		return nil
	}
	changes := map[string]*string{v1alpha1.AnnotationLoadBalancerSite: &site}
	if before != "" {
		for _, key := range platformAnnotations {
			changes[key] = nil
		}
	}
	if err := annotate(ctx, client, service, changes); err != nil {
		return err
	}
	annotations := map[string]string{v1alpha1.AnnotationLoadBalancerSite: site}
	for key, value := range service.Annotations {
		if _, ok := changes[key]; !ok {
			annotations[key] = value
		}
	}
	service.Annotations = annotations
	return nil
}

// releaser takes the mark away from Services for which the site has nothing any more, so that another site may serve them. It does so
// after the controller has removed the finalizer, because that is the same for all sites. It removes the finalizer of those that wait in
// vain for the controller of another site.
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
			klog.ErrorS(err, "Service cannot be released, it is tried again", "site", s.Site.Name, "service", klog.KObj(service))
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: release, UpdateFunc: func(_, object any) { release(object) }}
}

// released reports whether the controller has nothing to do for the Service any more.
func released(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && !servicehelper.HasLBFinalizer(service) &&
		len(service.Status.LoadBalancer.Ingress) == 0
}

// release keeps the platform's annotations if they name a load balancer that still exists: it is shared with other Services.
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

// removeFinalizer lets a deleted Service go. Another site may have done so, or the Service may have been made anew: both is fine.
func removeFinalizer(ctx context.Context, client kubernetes.Interface, service *corev1.Service) error {
	var content finalizersPatch
	content.Metadata.UID, content.Metadata.Remove = service.UID, []string{servicehelper.LoadBalancerCleanupFinalizer}
	patch, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// finalizersPatch is a strategic merge patch that removes finalizers. It fails for another object of the same name.
type finalizersPatch struct {
	Metadata struct {
		UID    types.UID `json:"uid"`
		Remove []string  `json:"$deleteFromPrimitiveList/finalizers"`
	} `json:"metadata"`
}

// annotationsPatch is a merge patch of annotations. It fails for another object of the same name.
type annotationsPatch struct {
	Metadata struct {
		UID types.UID `json:"uid"`
		// Annotations are set, and those that are nil are removed.
		Annotations map[string]*string `json:"annotations"`
	} `json:"metadata"`
}

// annotate sets annotations of the Service, and removes those that are nil.
func annotate(ctx context.Context, client kubernetes.Interface, service *corev1.Service, annotations map[string]*string) error {
	var content annotationsPatch
	content.Metadata.UID, content.Metadata.Annotations = service.UID, annotations
	patch, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
