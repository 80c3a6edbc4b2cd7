// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var (
	metal3   = schema.GroupVersion{Group: "metal3.io", Version: "v1alpha1"}
	ironCore = schema.GroupVersion{Group: "metal.ironcore.dev", Version: "v1alpha1"}
	ipam     = schema.GroupVersion{Group: "ipam.cluster.x-k8s.io", Version: "v1beta1"}
	pools    = schema.GroupVersion{Group: "ipam.cluster.x-k8s.io", Version: "v1alpha2"}
)

const (
	kindHost         = "BareMetalHost"
	kindServer       = "Server"
	kindServerClaim  = "ServerClaim"
	kindBMC          = "BMC"
	kindBMCSecret    = "BMCSecret" // #nosec G101 -- a kind
	kindBoot         = "ServerBootConfiguration"
	kindAddressClaim = "IPAddressClaim"
	kindAddress      = "IPAddress"
	kindPool         = "GlobalInClusterIPPool"
)

const (
	binariesModule = "hack/landscape/binaries"
	ipamModule     = "hack/landscape/binaries/ipam"
	metalOperator  = "github.com/ironcore-dev/metal-operator"
)

// installCRDs installs the custom resource definitions of what the inventory has.
func (i *Inventory) installCRDs(ctx context.Context, o Options) error {
	var all []landscape.CRDs
	if o.Metal3 {
		all = append(all,
			landscape.CRDs{Main: binariesModule, Module: "github.com/metal3-io/baremetal-operator", Folder: "config/base/crds/bases"})
	}
	if o.IronCore {
		all = append(all, landscape.CRDs{Main: binariesModule, Module: metalOperator, Folder: "config/crd/bases"})
	}
	if o.Static {
		all = append(all, landscape.CRDs{Folder: "charts/static-host-operator/crds"})
	}
	if o.IPAM {
		all = append(all,
			landscape.CRDs{Main: ipamModule, Module: "sigs.k8s.io/cluster-api", Folder: "config/crd/bases", Files: []string{
				"cluster.x-k8s.io_clusters.yaml", "ipam.cluster.x-k8s.io_ipaddressclaims.yaml", "ipam.cluster.x-k8s.io_ipaddresses.yaml",
			}},
			landscape.CRDs{Main: ipamModule, Module: "sigs.k8s.io/cluster-api-ipam-provider-in-cluster", Folder: "config/crd/bases"})
	}
	for _, crds := range all {
		if err := crds.Install(ctx, i.Cluster.Config); err != nil {
			return err
		}
	}
	return nil
}

// object makes an object of a kind.
func object(version schema.GroupVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(version.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// list reads all objects of a kind.
func (i *Inventory) list(ctx context.Context, version schema.GroupVersion, kind string,
	options ...client.ListOption) ([]unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(version.WithKind(kind + "List"))
	err := i.Client.List(ctx, l, options...)
	return l.Items, err
}

// text reads a field that is a string.
func text(o *unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(o.Object, fields...)
	return value
}

// is reads a field that is a boolean.
func is(o *unstructured.Unstructured, fields ...string) bool {
	value, _, _ := unstructured.NestedBool(o.Object, fields...)
	return value
}
