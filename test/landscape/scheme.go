// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
)

// Scheme knows the kinds of Kubernetes, Gardener's extensions, machine-controller-manager and static hosts.
var Scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(Scheme))
	utilruntime.Must(extensionsv1alpha1.AddToScheme(Scheme))
	utilruntime.Must(resourcesv1alpha1.AddToScheme(Scheme))
	utilruntime.Must(machinev1alpha1.AddToScheme(Scheme))
	utilruntime.Must(staticv1alpha1.AddToScheme(Scheme))
}
