// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// hosts is the chart of the operator of static hosts, which runs in a cluster that need not have anything of Gardener.
const hosts = "static-host-operator"

var _ = Describe("The operator of static hosts", func() {
	const own = "operator"

	render := func(values map[string]any) []*unstructured.Unstructured {
		GinkgoHelper()
		rendered, err := rendering.Packed(folder(hosts), hosts, own, values)
		Expect(err).NotTo(HaveOccurred())
		objects, err := rendering.Objects(rendered)
		Expect(err).NotTo(HaveOccurred())
		return objects
	}

	DescribeTable("should be what the apiserver takes, and run hardened pods",
		func(ctx SpecContext, values map[string]any, args ...string) {
			objects := render(values)
			for _, name := range []string{own, "hosts", "rack-a", "rack-b"} {
				namespace(ctx, name)
			}
			for _, o := range objects {
				Expect(o.GroupVersionKind().Group).To(BeElementOf("", "apps", "policy", "rbac.authorization.k8s.io",
					"apiextensions.k8s.io"), o.GetKind())
				err := apiServer.Create(ctx, o, client.FieldValidation(metav1.FieldValidationStrict))
				Expect(err).NotTo(HaveOccurred(), "%s %s", o.GetKind(), o.GetName())
				DeferCleanup(func(ctx SpecContext) { Expect(apiServer.Delete(ctx, o)).To(Succeed()) })
			}
			deployment := deploymentOf(objects)
			pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
			pod.GenerateName, pod.Namespace = "check-", own
			Expect(apiServer.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			container := pod.Spec.Containers[0]
			Expect(container.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
			Expect(container.Args).To(ContainElements(args))
			Expect(deployment.Spec.Template.Spec.Volumes).To(BeEmpty())
			Expect(named(objects, "ServiceAccount")).To(ConsistOf(deployment.Spec.Template.Spec.ServiceAccountName))
			Expect(named(objects, "PodDisruptionBudget")).To(ConsistOf(deployment.Name))
		},
		Entry("by default", nil, "--namespaces=hosts", "--max-concurrent-hosts=10", "--refresh-interval=5m", "--release-timeout=45m"),
		Entry("with everything", map[string]any{"namespaces": []any{"rack-a", "rack-b"}, "replicaCount": 2, "maxConcurrentHosts": 30,
			"podLabels": map[string]any{"team": "a"}, "priorityClassName": "system-cluster-critical", "refreshInterval": "1m30s",
			"timeouts": map[string]any{"provision": "2h"}, "metricsPort": 9090},
			"--namespaces=rack-a,rack-b", "--provision-timeout=2h", "--baseline-timeout=15m", "--metrics-bind-address=:9090"),
	)

	It("should be allowed no more than it needs, and nothing in all namespaces", func() {
		objects := render(map[string]any{"namespaces": []any{"rack-a", "rack-b"}})
		Expect(named(objects, "ClusterRole")).To(BeEmpty())
		allowed := map[string][]string{}
		for _, o := range objects {
			if o.GetKind() != "Role" {
				continue
			}
			permissions, err := rbacaudit.Permissions([]*unstructured.Unstructured{o})
			Expect(err).NotTo(HaveOccurred())
			for _, p := range permissions {
				allowed[o.GetNamespace()] = append(allowed[o.GetNamespace()], p.String())
			}
		}
		inventory := func(name string) OmegaMatcher {
			const group = "static.hybrid.provider.extensions.gardener.cloud of "
			return ConsistOf("get statichosts."+group+name, "list statichosts."+group+name, "watch statichosts."+group+name,
				"patch statichosts."+group+name, "update statichosts/status."+group+name, "get secrets of "+name,
				"create events.events.k8s.io of "+name, "patch events.events.k8s.io of "+name)
		}
		Expect(allowed).To(HaveLen(3))
		for _, name := range []string{"rack-a", "rack-b"} {
			Expect(allowed[name]).To(inventory(hosts))
		}
		Expect(allowed[own]).To(ConsistOf("get secrets of "+hosts, "create leases.coordination.k8s.io of "+hosts,
			"get leases.coordination.k8s.io "+hosts+" of "+hosts, "update leases.coordination.k8s.io "+hosts+" of "+hosts,
			"create events.events.k8s.io of "+hosts, "patch events.events.k8s.io of "+hosts))
	})

	It("should bring the custom resource definition", func() {
		files, err := filepath.Glob(filepath.Join(folder(hosts), "crds", "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).To(HaveLen(1))
		content, err := os.ReadFile(files[0])
		Expect(err).NotTo(HaveOccurred())
		crd := &metav1.PartialObjectMetadata{}
		Expect(yaml.Unmarshal(content, crd)).To(Succeed())
		Expect(crd.Name).To(Equal("statichosts.static.hybrid.provider.extensions.gardener.cloud"))
	})

	DescribeTable("should refuse values",
		func(values, message string) {
			decoded := map[string]any{}
			Expect(yaml.UnmarshalStrict([]byte(values), &decoded)).To(Succeed())
			_, err := rendering.Packed(folder(hosts), hosts, own, decoded)
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("that are unknown", `{replicas: 2}`, "'replicas' not allowed"),
		Entry("without a namespace", `{namespaces: []}`, "/namespaces"),
		Entry("with the namespace of the Secrets for SSH", `{namespaces: [operator]}`, "shoots must not reach them"),
		Entry("without hosts at the same time", `{maxConcurrentHosts: 0}`, "/maxConcurrentHosts"),
		Entry("with an interval in words", `{refreshInterval: often}`, "/refreshInterval"),
		Entry("with a limit that is unknown", `{timeouts: {hook: 1m}}`, "'hook' not allowed"),
		Entry("with one port for metrics and health", `{metricsPort: 8081}`, "metricsPort and healthPort are both 8081"),
	)
})
