// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// classOfOthers stands in the cache for the class of Services that are not the site's: the controller serves those without a class.
const classOfOthers = v1alpha1.LoadBalancerClassPrefix + "-"

// finalizerOfOthers stands in the cache for the finalizer of Services that the controller is not to clean up after.
const finalizerOfOthers = servicehelper.LoadBalancerCleanupFinalizer + "-"

// changedInCache stands in the managed fields of Services in the cache. No API server answers with it: it accepts Apply and Update only.
const changedInCache metav1.ManagedFieldsOperationType = "Changed"

// serviceRules decide which site serves a Service.
type serviceRules struct {
	// defaultSite serves Services without a class.
	defaultSite string
	// sites are those that have load balancers.
	sites []string
}

func (r serviceRules) equal(other serviceRules) bool {
	return r.defaultSite == other.defaultSite && slices.Equal(r.sites, other.sites)
}

// holder is the site that has, or may have, the load balancer of the Service; empty if that is none that there is.
func (r serviceRules) holder(service *corev1.Service) string {
	if site := service.Annotations[v1alpha1.AnnotationLoadBalancerSite]; slices.Contains(r.sites, site) {
		return site
	}
	return ""
}

// wanted is the site that shall have the load balancer of the Service; empty if that is none. A Service without a class stays where
// it is when another site becomes the default.
func (r serviceRules) wanted(service *corev1.Service) string {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return ""
	}
	if class := service.Spec.LoadBalancerClass; class != nil {
		site, _ := strings.CutPrefix(*class, v1alpha1.LoadBalancerClassPrefix)
		if !slices.Contains(r.sites, site) || v1alpha1.LoadBalancerClassPrefix+site != *class {
			return ""
		}
		return site
	}
	if holder := r.holder(service); holder != "" {
		return holder
	}
	return r.defaultSite
}

// abandoned reports whether a site that is gone had the load balancer of the Service, and no site shall have one for it any more.
func (r serviceRules) abandoned(service *corev1.Service) bool {
	return service.Annotations[v1alpha1.AnnotationLoadBalancerSite] != "" && r.holder(service) == "" &&
		!slices.Contains(r.sites, r.wanted(service)) &&
		(service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer)
}

// releases reports whether it is for the site to say that nothing is left of the load balancer of the Service. The first site does so
// for those that are gone.
func (r serviceRules) releases(site string, service *corev1.Service) bool {
	return r.holder(service) == site || slices.Index(r.sites, site) == 0 && r.abandoned(service)
}

// overdue reports whether a Service in the cache still has the finalizer for a site that is gone, long after it was deleted: the site
// that is to clean up may not have answered since the process began. Nothing is asked of a site for that, so that any of them may do it.
func (r serviceRules) overdue(service *corev1.Service) bool {
	return service.Annotations[v1alpha1.AnnotationLoadBalancerSite] != "" && r.holder(service) == "" &&
		slices.Contains(service.Finalizers, finalizerOfOthers) &&
		service.DeletionTimestamp != nil && time.Since(service.DeletionTimestamp.Time) > releasePeriod
}

// transform returns the function that changes Services as they enter the cache of a site's controller. That serves all Services of
// type LoadBalancer without a class, and cleans up after those with its finalizer that are deleted or of another type. There is one
// finalizer for all.
//
// A changed Service does not say any more whose it is, and client-go calls the function twice for those of a list that it streams: it
// leaves alone what it has changed.
func (r serviceRules) transform(site string) cache.TransformFunc {
	return func(object any) (any, error) {
		service, ok := object.(*corev1.Service)
		if !ok {
			return object, nil
		}
		if len(service.ManagedFields) > 0 && service.ManagedFields[0].Operation == changedInCache {
			return service, nil
		}
		service.ManagedFields = []metav1.ManagedFieldsEntry{{Operation: changedInCache}}
		wanted, holder := r.wanted(service), r.holder(service)
		switch {
		case wanted == site && (holder == "" || holder == site):
			service.Spec.LoadBalancerClass = nil
		case r.releases(site, service):
			// It goes to another site, or has no load balancer any more.
			service.Spec.Type = corev1.ServiceTypeClusterIP
			service.Spec.LoadBalancerClass = nil
		case service.Annotations[v1alpha1.AnnotationLoadBalancerSite] == "" && site == r.defaultSite &&
			service.Spec.Type != corev1.ServiceTypeLoadBalancer:
			// It had no class when it got the finalizer, but was not marked yet.
		default:
			service.Spec.LoadBalancerClass = new(classOfOthers)
			if i := slices.Index(service.Finalizers, servicehelper.LoadBalancerCleanupFinalizer); i >= 0 {
				service.Finalizers[i] = finalizerOfOthers
			}
		}
		return service, nil
	}
}

// ruleSource has the rules and tells when they change.
type ruleSource struct {
	mutex   sync.Mutex
	rules   *serviceRules
	changed chan struct{}
}

func newRuleSource() *ruleSource {
	return &ruleSource{changed: make(chan struct{})}
}

func (s *ruleSource) set(rules serviceRules) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.rules != nil && s.rules.equal(rules) {
		return
	}
	s.rules = &rules
	close(s.changed)
	s.changed = make(chan struct{})
}

// get returns the rules, nil if there are none yet, and a channel that is closed when there are others.
func (s *ruleSource) get() (*serviceRules, <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.rules, s.changed
}
