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

// releasePeriod is the time between two attempts to release a Service.
const releasePeriod = 30 * time.Second

// classOfOthers is the class, in the cache of a site, of Services of other sites: the controller only serves Services without a class.
const classOfOthers = v1alpha1.LoadBalancerClassPrefix + "-"

// finalizerOfOthers is the finalizer, in the cache of a site, of Services that the controller must not clean up.
const finalizerOfOthers = servicehelper.LoadBalancerCleanupFinalizer + "-"

// changedInCache marks Services, in their managed fields, that transform has changed. The API server only uses Apply and Update.
const changedInCache metav1.ManagedFieldsOperationType = "Changed"

// serviceRules determine which site serves a Service.
type serviceRules struct {
	// defaultSite serves Services without a class.
	defaultSite string
	// sites are the sites with load balancers.
	sites []string
}

// newServiceRules returns the rules of the configuration.
func newServiceRules(config *v1alpha1.CloudControllerManagerConfiguration) serviceRules {
	rules := serviceRules{defaultSite: config.DefaultSite}
	for i := range config.Sites {
		if config.Sites[i].LoadBalancerMembers() != "" {
			rules.sites = append(rules.sites, config.Sites[i].Name)
		}
	}
	return rules
}

func (r serviceRules) equal(other serviceRules) bool {
	return r.defaultSite == other.defaultSite && slices.Equal(r.sites, other.sites)
}

// holder returns the site that has, or may have, the load balancer of the Service, empty if there is no such site.
func (r serviceRules) holder(service *corev1.Service) string {
	if site := service.Annotations[v1alpha1.AnnotationLoadBalancerSite]; slices.Contains(r.sites, site) {
		return site
	}
	return ""
}

// wanted returns the site that should have the load balancer of the Service, empty if there is none. A Service without a class keeps its
// site when another site becomes the default.
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

// abandoned reports whether a removed site had the load balancer of the Service, and no site should still have one for it.
func (r serviceRules) abandoned(service *corev1.Service) bool {
	return service.Annotations[v1alpha1.AnnotationLoadBalancerSite] != "" && r.holder(service) == "" &&
		!slices.Contains(r.sites, r.wanted(service)) &&
		(service.DeletionTimestamp != nil || service.Spec.Type != corev1.ServiceTypeLoadBalancer)
}

// releases reports whether the site is responsible for releasing the Service. The first site does so for removed sites.
func (r serviceRules) releases(site string, service *corev1.Service) bool {
	return r.holder(service) == site || slices.Index(r.sites, site) == 0 && r.abandoned(service)
}

// overdue reports whether a Service in the cache still has the finalizer of a removed site long after it was deleted: the site that is
// responsible may have been unavailable since the process started. Any site may remove it, because that takes no request to a site.
func (r serviceRules) overdue(service *corev1.Service) bool {
	return service.Annotations[v1alpha1.AnnotationLoadBalancerSite] != "" && r.holder(service) == "" &&
		slices.Contains(service.Finalizers, finalizerOfOthers) &&
		service.DeletionTimestamp != nil && time.Since(service.DeletionTimestamp.Time) > releasePeriod
}

// transform returns the function that changes Services as they enter the cache of a site's controller. The controller serves all Services
// of type LoadBalancer without a class, and cleans up those with its finalizer that are deleted or of another type. All sites share the
// finalizer.
//
// The site of a changed Service is no longer known, and client-go calls the function twice for the Services of a streamed list. Changed
// Services are therefore left alone.
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
			// It moves to another site, or no longer has a load balancer.
			service.Spec.Type = corev1.ServiceTypeClusterIP
			service.Spec.LoadBalancerClass = nil
		case service.Annotations[v1alpha1.AnnotationLoadBalancerSite] == "" && site == r.defaultSite &&
			service.Spec.Type != corev1.ServiceTypeLoadBalancer:
			// It got the finalizer without a class, but was not marked yet.
		default:
			service.Spec.LoadBalancerClass = new(classOfOthers)
			if i := slices.Index(service.Finalizers, servicehelper.LoadBalancerCleanupFinalizer); i >= 0 {
				service.Finalizers[i] = finalizerOfOthers
			}
		}
		return service, nil
	}
}

// ruleSource holds the rules and signals changes.
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

// get returns the rules, nil if there are none yet, and a channel that is closed when they change.
func (s *ruleSource) get() (*serviceRules, <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.rules, s.changed
}
