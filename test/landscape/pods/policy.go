// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const policyTimeout = 30 * time.Second

// bindAll lets kube-apiserver bind all pods of the namespace to the node when they are created: the seed and the shoot are one cluster,
// whose scheduler knows only the nodes of the shoot. It returns when that is in force.
func (n *Node) bindAll(ctx context.Context) error {
	name := "seed-node-" + n.Namespace
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: n.Namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{
					Expression: fmt.Sprintf(`[JSONPatch{op: "add", path: "/spec/nodeName", value: %q}]`, Name),
				},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	}
	for _, object := range []client.Object{policy, binding} {
		if err := n.Client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}

	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, policyTimeout, true, func(ctx context.Context) (bool, error) {
		probe := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: n.Namespace},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "probe"}}},
		}
		err := n.Client.Create(ctx, probe, client.DryRunAll)
		return probe.Spec.NodeName == Name, err
	})
	if err != nil {
		return fmt.Errorf("bind the pods of %s to the seed's node: %w", n.Namespace, err)
	}
	return nil
}
