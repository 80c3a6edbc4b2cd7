// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

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
	names := make([]string, len(list.APIResources))
	for i := range list.APIResources {
		names[i] = list.APIResources[i].Name
	}
	return names, nil
}

func discoveryConfig(config *rest.Config) *rest.Config {
	result := rest.CopyConfig(config)
	result.NegotiatedSerializer = serializer.NewCodecFactory(apiScheme).WithoutConversion()
	return result
}
