// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"net/http"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
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

// newMapper returns a mapper that discovers only kinds that it does not know, and each group once.
func newMapper(config *rest.Config, httpClient *http.Client) (meta.RESTMapper, error) { //nolint:forbidigo // the type alone
	known := meta.NewDefaultRESTMapper(nil)
	for kind, scope := range kinds {
		known.Add(kind, scope)
		// A cache asks for the scope of the list.
		known.Add(kind.GroupVersion().WithKind(kind.Kind+"List"), scope)
	}
	discovered, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "resources cannot be discovered: %w", err)
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, discovered}}, nil
}

// Resources returns the names of the resources that the API serves in the version of the group. It returns none if the API does not
// serve the version. Errors are classified.
func (s *Session) Resources(ctx context.Context, version schema.GroupVersion) ([]string, error) {
	path := []string{"apis", version.Group, version.Version}
	if version.Group == "" {
		path = []string{"api", version.Version}
	}
	list := &metav1.APIResourceList{}
	err := Classify(s.rest.Get().AbsPath(path...).Do(ctx).Into(list))
	if isNotServed(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lists.Map(list.APIResources, func(resource metav1.APIResource) string { return resource.Name }), nil
}

// IsKubernetes reports whether the server tells a version of Kubernetes, or refuses to tell it. Errors are classified.
func (s *Session) IsKubernetes(ctx context.Context) (bool, error) {
	content, err := s.rest.Get().AbsPath("version").DoRaw(ctx)
	switch err := Classify(err); {
	case isNotServed(err):
		return false, nil
	case platform.ClassOf(err) == platform.ClassForbidden:
		return true, nil
	case err != nil:
		return false, err
	}
	info := &apiversion.Info{}
	return json.Unmarshal(content, info) == nil && info.GitVersion != "", nil
}

func discoveryConfig(config *rest.Config) *rest.Config {
	result := rest.CopyConfig(config)
	result.NegotiatedSerializer = serializer.NewCodecFactory(apiScheme).WithoutConversion()
	return result
}
