// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"context"
	"maps"
	"slices"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

// release is the name that Gardener installs the charts with.
const release = "provider-hybrid"

func objectsOf(m mode) []*unstructured.Unstructured {
	GinkgoHelper()
	rendered, err := rendering.Installed(folder(m.chart), release, m.namespace, m.all())
	Expect(err).NotTo(HaveOccurred())
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	Expect(objects).NotTo(BeEmpty())
	return objects
}

func deploymentOf(objects []*unstructured.Unstructured) *appsv1.Deployment {
	GinkgoHelper()
	var found []*appsv1.Deployment
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			deployment := &appsv1.Deployment{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, deployment)).To(Succeed())
			found = append(found, deployment)
		}
	}
	Expect(found).To(HaveLen(1))
	return found[0]
}

// isDashboard reports whether the object is a dashboard for the Plutono of a seed.
func isDashboard(o *unstructured.Unstructured) bool {
	return o.GetKind() == "ConfigMap" && o.GetLabels()["dashboard.monitoring.gardener.cloud/seed"] == "true"
}

// named are the names of the objects of a kind.
func named(objects []*unstructured.Unstructured, kind string) []string {
	names := []string{}
	for _, o := range objects {
		if o.GetKind() == kind {
			names = append(names, o.GetName())
		}
	}
	return names
}

// namespace creates one that takes hardened pods alone.
func namespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(client.IgnoreAlreadyExists(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}))).To(Succeed())
}

var _ = Describe("Charts", func() {
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		m := modes[name]
		Context(name, func() {
			var objects []*unstructured.Unstructured

			BeforeEach(func() { objects = objectsOf(m) })

			It("should be what the apiserver takes", func(ctx SpecContext) {
				namespace(ctx, m.namespace)
				for _, o := range objects {
					err := apiServer.Create(ctx, o, client.FieldValidation(metav1.FieldValidationStrict))
					Expect(err).NotTo(HaveOccurred(), "%s %s", o.GetKind(), o.GetName())
					DeferCleanup(func(ctx SpecContext) { Expect(apiServer.Delete(ctx, o)).To(Succeed()) })
				}
			})

			It("should be in its namespace, labelled and named as the conventions say", func() {
				for _, o := range objects {
					what := o.GetKind() + " " + o.GetName()
					Expect(o.GetLabels()).To(HaveKey("app.kubernetes.io/name"), what)
					if isDashboard(o) {
						Expect(o.GetNamespace()).To(Equal(v1beta1constants.GardenNamespace), "Plutono reads dashboards there")
						continue
					}
					if strings.HasPrefix(o.GetKind(), "Role") && o.GetName() == provider+"-runtime" &&
						o.GetNamespace() == v1beta1constants.GardenNamespace {
						continue // the Secrets of a garden's backups are there
					}
					switch o.GetKind() {
					case "ClusterRole", "ClusterRoleBinding":
						Expect(o.GetName()).To(HavePrefix("extensions.gardener.cloud:"), what)
					case "ClusterFilter":
						Expect(o.GetName()).To(HavePrefix("provider-hybrid-"), what)
					default:
						Expect(o.GetNamespace()).To(Equal(m.namespace), what)
						Expect(o.GetName()).To(ContainSubstring("gardener-extension-"), what)
					}
				}
			})

			It("should allow no more than is named", func() {
				permissions, err := rbacaudit.Permissions(objects)
				Expect(err).NotTo(HaveOccurred())
				Expect(permissions).NotTo(BeEmpty())
				for _, p := range permissions {
					Expect(p.Verb).NotTo(BeElementOf("bind", "escalate", "impersonate"), p.String())
				}
			})

			if m.chart == application {
				return
			}

			It("should run hardened pods", func(ctx SpecContext) {
				deployment := deploymentOf(objects)
				pod := &corev1.Pod{ObjectMeta: deployment.Spec.Template.ObjectMeta, Spec: deployment.Spec.Template.Spec}
				pod.GenerateName, pod.Namespace = "check-", m.namespace
				namespace(ctx, m.namespace)
				Expect(apiServer.Create(ctx, pod, client.DryRunAll)).To(Succeed())

				if name != withoutOperator {
					Expect(pod.Spec.PriorityClassName).To(HavePrefix("gardener-"))
				}
				Expect(pod.Spec.TopologySpreadConstraints).NotTo(BeEmpty())
				Expect(pod.Labels).To(And(HaveKeyWithValue("networking.gardener.cloud/to-dns", "allowed"),
					HaveKeyWithValue("networking.gardener.cloud/to-runtime-apiserver", "allowed")))
				Expect(pod.Spec.Containers).To(HaveLen(1))
				container := pod.Spec.Containers[0]
				Expect(container.SecurityContext.ReadOnlyRootFilesystem).To(HaveValue(BeTrue()))
				Expect(container.LivenessProbe).NotTo(BeNil())
				Expect(container.ReadinessProbe).NotTo(BeNil())
				limit := HaveKey(corev1.ResourceMemory)
				collect := ContainElement(And(HaveField("Name", "GOMEMLIMIT"), HaveField("ValueFrom.ResourceFieldRef.Resource", "limits.memory")))
				if resources, ok := m.values["resources"]; ok && resources == nil {
					limit, collect = Not(limit), Not(ContainElement(HaveField("Name", "GOMEMLIMIT")))
				}
				Expect(container.Resources.Limits).To(limit)
				Expect(container.Env).To(collect)
			})

			It("should select its pods, and name its ports and accounts", func() {
				deployment := deploymentOf(objects)
				Expect(deployment.Labels).To(HaveKeyWithValue("high-availability-config.resources.gardener.cloud/type", "server"))
				Expect(named(objects, "ServiceAccount")).To(ConsistOf(deployment.Spec.Template.Spec.ServiceAccountName))
				Expect(named(objects, "PodDisruptionBudget")).To(ConsistOf(deployment.Name))
				ports := []int32{}
				for _, port := range deployment.Spec.Template.Spec.Containers[0].Ports {
					ports = append(ports, port.ContainerPort)
				}
				for _, o := range objects {
					switch o.GetKind() {
					case "Service":
						service := &corev1.Service{}
						Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, service)).To(Succeed())
						Expect(deployment.Spec.Template.Labels).To(matchAll(service.Spec.Selector))
						for _, port := range service.Spec.Ports {
							Expect(ports).To(ContainElement(port.TargetPort.IntVal), port.Name)
						}
						Expect(service.Spec.Ports).To(HaveLen(len(ports)))
					case "RoleBinding", "ClusterRoleBinding":
						subjects, _, err := unstructured.NestedSlice(o.Object, "subjects")
						Expect(err).NotTo(HaveOccurred())
						Expect(subjects).To(ConsistOf(map[string]any{"kind": "ServiceAccount", "name": deployment.Spec.Template.Spec.ServiceAccountName,
							"namespace": m.namespace}))
					}
				}
			})
		})
	}

	It("should not share names without a namespace between a seed and its garden", func() {
		var all []string
		for _, name := range []string{"the extension in a seed", "the extension in a garden", "the webhooks in a garden",
			"the permissions of the webhooks"} {
			for _, o := range objectsOf(modes[name]) {
				if o.GetNamespace() == "" {
					all = append(all, o.GetKind()+" "+o.GetName())
				}
			}
		}
		slices.Sort(all)
		Expect(slices.Compact(slices.Clone(all))).To(Equal(all))
	})

	It("should serve backups and DNS records alone in a garden", func() {
		objects := objectsOf(modes["the extension in a garden"])
		args := strings.Join(deploymentOf(objects).Spec.Template.Spec.Containers[0].Args, "\n")
		Expect(args).To(And(ContainSubstring("--extension-classes=garden\n"),
			ContainSubstring("--controllers=backupbucket,backupentry,backupusage,dnsrecord,heartbeat\n"),
			ContainSubstring("--disable-webhooks=backup,backup-copy,controlplane,network,seedprovider\n")))
		Expect(deploymentOf(objects).Spec.Template.Spec.PriorityClassName).To(Equal("gardener-garden-system-200"))
		Expect(named(objects, "ClusterFilter")).To(BeEmpty())
		Expect(named(objects, "ServiceMonitor")).To(ConsistOf(HavePrefix("garden-")))
		Expect(named(objects, "PrometheusRule")).To(ConsistOf(HavePrefix("garden-")))
		Expect(named(objects, "ScrapeConfig")).To(BeEmpty())
		Expect(slices.ContainsFunc(objects, isDashboard)).To(BeFalse())
	})

	It("should register the webhook for volumes of etcds only in a Seed that configures them", func() {
		const disabled = "--disable-webhooks=seedprovider"
		configured := mode{chart: provider, namespace: "extension", gardener: map[string]any{"gardener": map[string]any{"seed": map[string]any{
			"spec": map[string]any{"provider": map[string]any{"providerConfig": map[string]any{"etcdVolumes": []any{
				map[string]any{"storageClassName": "fast"}}}}}}}}}
		Expect(deploymentOf(objectsOf(modes["the extension in a seed"])).Spec.Template.Spec.Containers[0].Args).To(ContainElement(disabled))
		Expect(deploymentOf(objectsOf(configured)).Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement(HavePrefix("--disable-webhooks")))
	})

	It("should reconcile without Gardener's annotation in a seed alone", func() {
		args := func(name string) []string {
			return deploymentOf(objectsOf(modes[name])).Spec.Template.Spec.Containers[0].Args
		}
		Expect(args("the extension in a seed")).To(ContainElement("--ignore-operation-annotation=false"))
		Expect(args("the extension in a seed with everything")).To(ContainElement("--ignore-operation-annotation=true"))
		Expect(args("the extension in a garden with everything")).NotTo(ContainElement(HavePrefix("--ignore-operation-annotation")),
			"the role does not allow what the controller would watch")
	})

	It("should listen where Gardener says in a self-hosted shoot", func() {
		args := deploymentOf(objectsOf(modes["the extension in a self-hosted shoot"])).Spec.Template.Spec.Containers[0].Args
		Expect(args).To(ContainElements("--metrics-bind-address=:30001", "--health-bind-address=:30002", "--webhook-config-server-port=30003",
			"--self-hosted-shoot-cluster=true", "--gardener-version=v1.149.3", "--extension-classes=seed,shoot"))
	})

	It("should leave out what is switched off", func() {
		objects := objectsOf(modes["the extension in a seed with as little as possible"])
		Expect(named(objects, "ServiceMonitor")).To(BeEmpty())
		Expect(named(objects, "PrometheusRule")).To(BeEmpty())
		Expect(named(objects, "ScrapeConfig")).To(BeEmpty())
		Expect(slices.ContainsFunc(objects, isDashboard)).To(BeFalse())
		Expect(named(objects, "VerticalPodAutoscaler")).To(BeEmpty())
	})

	DescribeTable("should bring alerts, what they need and a dashboard to seeds alone",
		func(name string, isSeed bool) {
			objects := objectsOf(modes[name])
			expected := BeEmpty()
			if isSeed {
				expected = ConsistOf(HavePrefix("aggregate-"))
			}
			Expect(named(objects, "PrometheusRule")).To(expected)
			Expect(named(objects, "ScrapeConfig")).To(expected, "without it the alert that the extension is down has nothing to look at")
			Expect(slices.ContainsFunc(objects, isDashboard)).To(Equal(isSeed))
		},
		Entry("a seed", "the extension in a seed", true),
		Entry("by default", "the extension by default", true),
		Entry("a self-hosted shoot", "the extension in a self-hosted shoot", false),
		Entry("a self-hosted shoot that is a seed", "the extension in a self-hosted shoot that is a seed", true),
	)

	It("should let the webhooks run in a cluster that has nothing of Gardener", func() {
		objects := objectsOf(modes[withoutOperator])
		for _, o := range objects {
			Expect(o.GroupVersionKind().Group).To(BeElementOf("", "apps", "policy", "rbac.authorization.k8s.io"), o.GetKind())
		}
		pod := deploymentOf(objects).Spec.Template.Spec
		Expect(pod.PriorityClassName).To(BeEmpty())
		Expect(pod.AutomountServiceAccountToken).To(HaveValue(BeTrue()))
	})

	It("should let the webhooks be found from another cluster", func() {
		args := deploymentOf(objectsOf(modes["the webhooks in a garden"])).Spec.Template.Spec.Containers[0].Args
		Expect(args).To(ContainElements("--webhook-config-mode=url", "--webhook-config-url=gardener-extension-admission-hybrid.garden",
			"--webhook-config-owner-namespace=extension-provider-hybrid"))
		args = deploymentOf(objectsOf(modes[withoutOperator])).Spec.Template.Spec.Containers[0].Args
		Expect(args).To(ContainElement("--webhook-config-url=gardener-extension-admission-hybrid.garden-plain:8443"))
		args = deploymentOf(objectsOf(modes["the webhooks of a garden that runs elsewhere"])).Spec.Template.Spec.Containers[0].Args
		Expect(args).To(ContainElements("--webhook-config-mode=url", "--webhook-config-url=hybrid.example.com:8443"))
		args = deploymentOf(objectsOf(modes["the webhooks in a garden that is one cluster"])).Spec.Template.Spec.Containers[0].Args
		Expect(args).To(And(ContainElement("--webhook-config-mode=service"), Not(ContainElement(HavePrefix("--webhook-config-url")))))
	})
})

// matchAll matches labels that a selector selects.
func matchAll(selector map[string]string) OmegaMatcher {
	matchers := []OmegaMatcher{Not(BeEmpty())}
	for key, value := range selector {
		matchers = append(matchers, HaveKeyWithValue(key, value))
	}
	return And(matchers...)
}
