// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// newMapper returns a mapper that discovers only kinds that it does not know, and each group once.
func newMapper(config *rest.Config, httpClient *http.Client, //nolint:forbidigo // the type alone
	kinds map[schema.GroupVersionKind]meta.RESTScope) (meta.RESTMapper, error) {
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

func discoveryConfig(config *rest.Config, scheme *runtime.Scheme) *rest.Config {
	result := rest.CopyConfig(config)
	result.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return result
}
