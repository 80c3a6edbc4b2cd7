// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package static

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/hosts"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

// A patch has only the fields that it changes. A nil field is removed.

// claimSpec makes a host a machine.
type claimSpec struct {
	ConsumerRef       corev1.ObjectReference        `json:"consumerRef"`
	UserDataSecretRef staticv1alpha1.LocalReference `json:"userDataSecretRef"`
	NodeName          string                        `json:"nodeName"`
}

// cleanSpec makes the operator remove the machine from a host.
type cleanSpec struct {
	UserDataSecretRef *staticv1alpha1.LocalReference `json:"userDataSecretRef"`
	NodeName          *string                        `json:"nodeName"`
}

// freeSpec removes the consumer from a host.
type freeSpec struct {
	ConsumerRef *corev1.ObjectReference `json:"consumerRef"`
}

// interpreter begins what the operator can run.
const interpreter = "#!"

// secretOf returns the Secret with the script that makes the host the machine. It is deleted with the host.
func secretOf(host *staticv1alpha1.StaticHost, _ string, data inventory.Data) (*corev1.Secret, error) {
	if !bytes.HasPrefix(data.UserData, []byte(interpreter)) {
		return nil, platform.NewError(platform.ClassConfiguration,
			"the user data must be a script that begins with %q, because nothing on host %q reads other formats", interpreter, host.Name)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: staticv1alpha1.SchemeGroupVersion.String(), Kind: kindHost, Name: host.Name, UID: host.UID,
			}},
		},
		Data: map[string][]byte{staticv1alpha1.KeyUserData: data.UserData},
	}, nil
}

// claimPatch makes the host the machine.
func claimPatch(host *staticv1alpha1.StaticHost, o owner.Owner, request *inventory.Claim, data inventory.Data) any {
	return hosts.Patch[claimSpec]{
		Metadata: hosts.Metadata{
			ResourceVersion: host.ResourceVersion,
			Labels:          hosts.Pointers(o.MachineLabels(request.Machine)),
			Annotations:     hosts.Pointers(map[string]string{owner.AnnotationNode: data.NodeName}),
		},
		Spec: claimSpec{
			ConsumerRef:       o.Reference(request.Machine),
			UserDataSecretRef: staticv1alpha1.LocalReference{Name: request.Machine},
			NodeName:          data.NodeName,
		},
	}
}

// held returns why the host is not released now.
func held(host *staticv1alpha1.StaticHost) error {
	if host.Spec.Maintenance {
		return platform.NewError(platform.ClassTransient, "host %q is in maintenance, and is released after that", host.Name)
	}
	return nil
}

// cleanPatch makes the operator remove the machine from the host, which keeps its consumer, so that nothing else claims it before it is
// clean.
func cleanPatch(host *staticv1alpha1.StaticHost, _, _ string) any {
	if host.Spec.UserDataSecretRef == nil && host.Spec.NodeName == "" {
		return nil
	}
	return hosts.Patch[cleanSpec]{Metadata: hosts.Metadata{ResourceVersion: host.ResourceVersion}}
}

// isReleasable reports whether nothing of the machine is on the host. The operator says that a host is being provisioned before it touches
// the host, and only if the host has not changed.
func isReleasable(host *staticv1alpha1.StaticHost) bool {
	switch host.Status.Phase {
	case "", staticv1alpha1.PhasePending, staticv1alpha1.PhaseAvailable:
		return host.Spec.UserDataSecretRef == nil && host.Status.Provisioned == nil
	default:
		return false
	}
}

// unreleased returns why something of the machine is still on the host.
func unreleased(host *staticv1alpha1.StaticHost) error {
	conditions := host.Status.Conditions
	clean := meta.FindStatusCondition(conditions, staticv1alpha1.ConditionClean)
	reachable := meta.FindStatusCondition(conditions, staticv1alpha1.ConditionReachable)
	switch {
	case host.Status.Phase == staticv1alpha1.PhaseDirty && clean != nil:
		return platform.NewError(platform.ClassTransient, "host %q is dirty, and is not released before its administrator has cleaned it and "+
			"annotated the StaticHost with %s: %s", host.Name, staticv1alpha1.AnnotationRetry, describe(clean))
	case reachable != nil && reachable.Status == metav1.ConditionFalse:
		return platform.NewError(platform.ClassTransient, "host %q is unreachable, and is not released before its administrator has repaired "+
			"it: %s", host.Name, describe(reachable))
	case host.Status.Phase == staticv1alpha1.PhaseReleasing, host.Status.Phase == staticv1alpha1.PhaseDirty:
		return platform.NewProgress("host %q is %s", host.Name, host.Status.Phase)
	default:
		return platform.NewProgress("host %q is waiting to be released", host.Name)
	}
}

// freePatch removes the consumer from the host.
func freePatch(host *staticv1alpha1.StaticHost, o owner.Owner, machine string) any {
	return hosts.Patch[freeSpec]{Metadata: hosts.Metadata{
		ResourceVersion: host.ResourceVersion,
		Labels:          hosts.Removed(o.MachineLabels(machine)),
		Annotations:     map[string]*string{owner.AnnotationNode: nil},
	}}
}
