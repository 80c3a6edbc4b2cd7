// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
)

// Object is an object in the inventory.
type Object struct {
	// Kind is Secret, ServerClaim, ...
	Kind string `json:"kind"`
	// ID is the UID of the object.
	ID string `json:"id"`
	// Name is the name of the object.
	Name string `json:"name"`
}

// String describes the object in one line.
func (o Object) String() string {
	return fmt.Sprintf("inventory: %s %s (%s)", o.Kind, o.Name, o.ID)
}

// Objects returns everything in the inventory that belongs to the shoot: Secrets, server claims and address claims with its label
// or with a name that begins with that of the shoot, and BareMetalHosts with its label or that it is the consumer of.
func (i *Inventory) Objects(ctx context.Context, shoot string) ([]Object, error) {
	var objects []Object
	for _, kind := range []schema.GroupVersionKind{
		metal3.WithKind(kindHost), ironCore.WithKind(kindServerClaim), ipam.WithKind(kindAddressClaim),
		corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		found, err := i.list(ctx, kind.GroupVersion(), kind.Kind, client.InNamespace(Namespace))
		if meta.IsNoMatchError(err) {
			continue // the inventory does not have them
		}
		if err != nil {
			return nil, fmt.Errorf("list objects of the inventory: %w", err)
		}
		for n := range found {
			if belongs(&found[n], shoot) {
				objects = append(objects, Object{Kind: kind.Kind, ID: string(found[n].GetUID()), Name: found[n].GetName()})
			}
		}
	}
	return objects, nil
}

func belongs(o *unstructured.Unstructured, shoot string) bool {
	if o.GetLabels()[owner.LabelShoot] == shoot {
		return true
	}
	if o.GetKind() == kindHost {
		return strings.HasPrefix(consumerOf(o), shoot+"/")
	}
	return strings.HasPrefix(o.GetName(), shoot)
}
