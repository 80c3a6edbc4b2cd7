// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
)

// apiScheme has the types of all APIs that an inventory is read through.
var apiScheme = newAPIScheme()

func newAPIScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(authorizationv1.AddToScheme(s))
	utilruntime.Must(metal3v1alpha1.AddToScheme(s))
	utilruntime.Must(metalv1alpha1.AddToScheme(s))
	utilruntime.Must(staticv1alpha1.AddToScheme(s))
	return s
}

// kinds are those that need no discovery.
var kinds = map[schema.GroupVersionKind]meta.RESTScope{
	corev1.SchemeGroupVersion.WithKind("Namespace"):                        meta.RESTScopeRoot,
	corev1.SchemeGroupVersion.WithKind("Secret"):                           meta.RESTScopeNamespace,
	authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"): meta.RESTScopeRoot,
	metal3v1alpha1.GroupVersion.WithKind("BareMetalHost"):                  meta.RESTScopeNamespace,
	metalv1alpha1.GroupVersion.WithKind("Server"):                          meta.RESTScopeRoot,
	metalv1alpha1.GroupVersion.WithKind("ServerClaim"):                     meta.RESTScopeNamespace,
	staticv1alpha1.SchemeGroupVersion.WithKind("StaticHost"):               meta.RESTScopeNamespace,
}

// groups are the API groups with metrics of their own.
var groups = []string{authorizationv1.GroupName, metal3v1alpha1.GroupVersion.Group, metalv1alpha1.GroupVersion.Group, ipam.Group}
