// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var (
	ipamScheme = newIPAMScheme()
	ipamKinds  = map[schema.GroupVersionKind]meta.RESTScope{
		authorizationv1.SchemeGroupVersion.WithKind("SelfSubjectAccessReview"): meta.RESTScopeRoot,
	}
	// ipamGroups are the API groups with metrics of their own.
	ipamGroups = []string{authorizationv1.GroupName, ipam.Group}
)

func newIPAMScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(authorizationv1.AddToScheme(s))
	return s
}

// IPAM returns the session at the API of the address pools, which lasts as long as that of the vCenter. It sends no request.
func (s *Session) IPAM() (*kubernetes.Session, error) {
	return s.ipam()
}

func newIPAM(siteName string, connection v1alpha1.VSphereConnection, credentials site.Credentials, wrap transport.Wrap) (
	*kubernetes.Session, error) {
	pools := connection.IPAM
	if pools == nil {
		return nil, platform.NewError(platform.ClassConfiguration, "vsphere.ipam: the CloudProfile does not say where the address pools are")
	}
	return kubernetes.NewSession(kubernetes.Options{
		Site:  siteName,
		Field: "vsphere.ipam",
		Connection: kubernetes.Connection{
			Server:         pools.Server,
			Namespace:      pools.Namespace,
			TLS:            pools.TLS,
			Proxy:          connection.Proxy,
			RequestTimeout: connection.RequestTimeout,
		},
		Credentials: credentials,
		Scheme:      ipamScheme,
		Kinds:       ipamKinds,
		Groups:      ipamGroups,
		Wrap:        wrap,
	})
}
