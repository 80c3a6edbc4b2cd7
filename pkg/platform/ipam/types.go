// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// Group is the API group of the Cluster API IPAM contract.
const Group = "ipam.cluster.x-k8s.io"

var (
	claimKind   = schema.GroupKind{Group: Group, Kind: "IPAddressClaim"}
	addressKind = schema.GroupKind{Group: Group, Kind: "IPAddress"}

	// versions are the versions of the contract, the preferred one first. The fields that are used here are the same in all of them.
	versions = []string{"v1beta2", "v1beta1"}
)

// claim is what is read and written of an IPAddressClaim.
type claim struct {
	Metadata metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec     claimSpec         `json:"spec"`
	Status   claimStatus       `json:"status,omitzero"`
}

type claimSpec struct {
	PoolRef corev1.TypedLocalObjectReference `json:"poolRef"`
}

type claimStatus struct {
	AddressRef corev1.LocalObjectReference `json:"addressRef,omitzero"`
	Conditions []condition                 `json:"conditions,omitempty"`
}

// condition has the fields that conditions of Cluster API and of Kubernetes have in common.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

const (
	conditionReady      = "Ready"
	conditionFalse      = "False"
	reasonPoolExhausted = "PoolExhausted"
)

// address is what is read of an IPAddress.
type address struct {
	Spec addressSpec `json:"spec"`
}

type addressSpec struct {
	ClaimRef corev1.LocalObjectReference `json:"claimRef"`
	Address  string                      `json:"address"`
	Prefix   int                         `json:"prefix"`
	Gateway  string                      `json:"gateway,omitempty"`
}

// pool has the status of pools of cluster-api-ipam-provider-in-cluster. Other pools may not have it.
type pool struct {
	Status struct {
		Addresses *struct {
			Total int64 `json:"total"`
			Free  int64 `json:"free"`
		} `json:"ipAddresses,omitempty"`
	} `json:"status"`
}

// decode reads the part of an object that T knows. The error is of platform.ClassConfiguration.
func decode[T any](object *unstructured.Unstructured) (*T, error) {
	result := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, result); err != nil {
		return nil, platform.NewError(platform.ClassConfiguration, "%s %q does not comply with the IPAM contract: %w", object.GetKind(),
			object.GetName(), err)
	}
	return result, nil
}
