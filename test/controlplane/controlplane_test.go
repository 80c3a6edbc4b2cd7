// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gardener/gardener/extensions/pkg/controller/controlplane/genericactuator"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/gardener/gardener/pkg/apis/resources/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const (
	namespace = "shoot--local--hybrid"
	folder    = "openstack-vsphere-metal/"
	uuid      = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
	prefix    = "extensions.gardener.cloud:provider-hybrid:"

	// maxMemory is what the pods of the charts may ask for on a shoot with one node on each site.
	maxMemory = "536Mi"
)

// objects are what a ManagedResource is to apply.
type objects []*unstructured.Unstructured

// of returns the objects of a kind.
func of[T any](list objects, kind string) []*T {
	GinkgoHelper()
	var found []*T
	for _, o := range list {
		if o.GetKind() == kind {
			object := new(T)
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, object)).To(Succeed())
			found = append(found, object)
		}
	}
	return found
}

func managedResource(ctx context.Context, name string) objects {
	GinkgoHelper()
	mr := &resourcesv1alpha1.ManagedResource{}
	Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, mr)).To(Succeed())
	var found objects
	for _, ref := range mr.Spec.SecretRefs {
		secret := &corev1.Secret{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, secret)).To(Succeed())
		for _, data := range secret.Data {
			decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(string(data)), 4096)
			for {
				o := &unstructured.Unstructured{}
				err := decoder.Decode(&o.Object)
				if errors.Is(err, io.EOF) {
					break
				}
				Expect(err).NotTo(HaveOccurred())
				if len(o.Object) > 0 {
					found = append(found, o)
				}
			}
		}
	}
	return found
}

func requests(containers []corev1.Container) resource.Quantity {
	var sum resource.Quantity
	for _, container := range containers {
		sum.Add(container.Resources.Requests[corev1.ResourceMemory])
	}
	return sum
}

// expectLimited looks for requests, and for a limit of the memory that is at least three times what is requested.
func expectLimited(pod string, container corev1.Container) {
	GinkgoHelper()
	what := pod + "/" + container.Name
	Expect(container.Resources.Requests).To(And(HaveKey(corev1.ResourceCPU), HaveKey(corev1.ResourceMemory)), what)
	Expect(container.Resources.Limits).To(And(HaveLen(1), HaveKey(corev1.ResourceMemory)), what)
	request, limit := container.Resources.Requests.Memory().Value(), container.Resources.Limits.Memory().Value()
	Expect(limit).To(BeNumerically(">=", 3*request), what)
}

// expectTaken applies the definitions of kinds, and lets the apiserver say what it would make of the objects.
func expectTaken(ctx context.Context, crds objects, lists ...objects) {
	GinkgoHelper()
	strict := client.FieldValidation(metav1.FieldValidationStrict)
	for _, crd := range crds {
		Expect(client.IgnoreAlreadyExists(apiServer.Create(ctx, crd.DeepCopy(), strict))).To(Succeed(), crd.GetName())
	}
	Eventually(func(g Gomega) {
		for _, o := range slices.Concat(lists...) {
			if o.GroupVersionKind().Group == "monitoring.coreos.com" {
				continue
			}
			options := []client.CreateOption{strict}
			if o.GetKind() != "Namespace" { // others are in it
				options = append(options, client.DryRunAll)
			}
			err := apiServer.Create(ctx, o.DeepCopy(), options...)
			g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed(), "%s %s", o.GetKind(), o.GetName())
		}
	}).WithTimeout(20 * time.Second).Should(Succeed())
}

var _ = Describe("The ControlPlane of a shoot on all platforms", Ordered, ContinueOnFailure, func() {
	var (
		controlPlane               *extensionsv1alpha1.ControlPlane
		config, seed, shoot, crds  objects
		storageClasses, everything objects
		sites                      = []string{"cloud", "vc", "racks", "hall"}
		deployments                = []string{"cloud-controller-manager", "csi-cinder-controller", "csi-snapshot-controller",
			"csi-vsphere-controller", "local-volumes-controller"}
		status = v1alpha1.InfrastructureStatus{Sites: []v1alpha1.SiteStatus{
			{Name: "cloud", OpenStack: &v1alpha1.OpenStackStatus{NetworkID: uuid, SubnetID: uuid, FloatingNetworkID: uuid, SecurityGroupID: uuid}},
			{Name: "vc", VSphere: &v1alpha1.VSphereStatus{Zones: []v1alpha1.VSphereZoneStatus{
				{Name: "vc-1", Datacenter: "datacenter-2", ComputeCluster: "domain-c1", ResourcePool: "resgroup-1"},
				{Name: "vc-2", Datacenter: "datacenter-2", ComputeCluster: "domain-c2", ResourcePool: "resgroup-2"},
			}}},
			{Name: "racks", Metal: &v1alpha1.MetalStatus{}},
			{Name: "hall", Metal: &v1alpha1.MetalStatus{}},
		}}
	)

	// reconcile lets the ControlPlane be reconciled with what changed since before.
	reconcile := func(ctx context.Context, before *extensionsv1alpha1.ControlPlane) {
		GinkgoHelper()
		const operation = "gardener.cloud/operation"
		controlPlane.Annotations = map[string]string{operation: "reconcile"}
		Expect(apiServer.Patch(ctx, controlPlane, client.MergeFrom(before))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(controlPlane), controlPlane)).To(Succeed())
			g.Expect(controlPlane.Annotations).NotTo(HaveKey(operation))
			g.Expect(controlPlane.Status.ObservedGeneration).To(Equal(controlPlane.Generation))
			g.Expect(controlPlane.Status.LastOperation).To(HaveField("State", gardencorev1beta1.LastOperationStateSucceeded))
		}).WithTimeout(time.Minute).Should(Succeed())
	}

	BeforeAll(func(ctx SpecContext) {
		Expect(apiServer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		Expect(apiServer.Create(ctx, example[extensionsv1alpha1.Cluster](folder+"30-cluster.yaml"))).To(Succeed())
		Expect(apiServer.Create(ctx, example[corev1.Secret](folder+"30-secret-cloudprovider.yaml"))).To(Succeed())
		controlPlane = example[extensionsv1alpha1.ControlPlane](folder + "30-controlplane.yaml")
		raw, err := codec.Encode(&status)
		Expect(err).NotTo(HaveOccurred())
		controlPlane.Spec.InfrastructureProviderStatus = raw
		Expect(apiServer.Create(ctx, controlPlane)).To(Succeed())

		Eventually(func(g Gomega) {
			g.Expect(apiServer.Get(ctx, client.ObjectKeyFromObject(controlPlane), controlPlane)).To(Succeed())
			if lastError := controlPlane.Status.LastError; lastError != nil {
				StopTrying(lastError.Description).Now()
			}
			g.Expect(controlPlane.Status.LastOperation).To(HaveField("State", gardencorev1beta1.LastOperationStateSucceeded))
		}).WithTimeout(time.Minute).Should(Succeed())

		config = managedResource(ctx, genericactuator.ControlPlaneSeedConfigurationChartResourceName)
		seed = managedResource(ctx, genericactuator.ControlPlaneSeedChartResourceName)
		shoot = managedResource(ctx, genericactuator.ControlPlaneShootChartResourceName)
		crds = managedResource(ctx, genericactuator.ControlPlaneShootCRDsChartResourceName)
		storageClasses = managedResource(ctx, genericactuator.StorageClassesChartResourceName)
		everything = slices.Concat(config, seed, shoot, crds, storageClasses)
	})

	It("should configure all sites", func(ctx SpecContext) {
		configMaps := of[corev1.ConfigMap](config, "ConfigMap")
		Expect(configMaps).To(HaveLen(1))
		controllers, err := codec.DecodeBytes[v1alpha1.CloudControllerManagerConfiguration]([]byte(configMaps[0].Data["config.yaml"]))
		Expect(err).NotTo(HaveOccurred())
		Expect(controllers.DefaultSite).To(Equal("cloud"))
		Expect(controllers.Sites).To(HaveLen(len(sites)))
		Expect(configMaps[0].Data["config.yaml"]).NotTo(ContainSubstring("password"))

		state, err := codec.Decode[v1alpha1.ControlPlaneState](controlPlane.Status.State)
		Expect(err).NotTo(HaveOccurred())
		Expect(state.Sites).To(HaveLen(len(sites)))
	})

	It("should deploy what the sites need, and nothing beside", func(ctx SpecContext) {
		var names []string
		for _, d := range of[appsv1.Deployment](seed, "Deployment") {
			names = append(names, d.Name)
			Expect(d.Labels).To(HaveKeyWithValue("gardener.cloud/role", "controlplane"), d.Name)
			if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType { // two of its pods must not work at the same time
				Expect(d.Labels).To(HaveKeyWithValue("high-availability-config.resources.gardener.cloud/type", "controller"), d.Name)
			}
			pod := d.Spec.Template.Spec
			Expect(*d.Spec.Replicas).To(BeEquivalentTo(1), d.Name)
			Expect(pod.PriorityClassName).To(Equal("gardener-system-300"), d.Name)
			Expect(*pod.AutomountServiceAccountToken).To(BeFalse(), d.Name)
			Expect(*pod.SecurityContext.RunAsNonRoot).To(BeTrue(), d.Name)
			for _, container := range pod.Containers {
				what := d.Name + "/" + container.Name
				Expect(*container.SecurityContext.ReadOnlyRootFilesystem).To(BeTrue(), what)
				Expect(container.SecurityContext.Capabilities.Drop).To(ConsistOf(corev1.Capability("ALL")), what)
				Expect(container.Image).To(MatchRegexp(`^[a-z0-9./-]+:v[0-9].*$`), what)
			}
			for _, volume := range pod.Volumes {
				if volume.Projected != nil {
					account := volume.Projected.Sources[1].Secret.Name
					Expect(apiServer.Get(ctx, client.ObjectKey{Namespace: namespace, Name: account}, &corev1.Secret{})).To(Succeed(), d.Name)
				}
			}
		}
		Expect(names).To(ConsistOf(deployments))
		for _, kind := range []string{"PodDisruptionBudget", "VerticalPodAutoscaler"} {
			var of []string
			for _, o := range seed {
				if o.GetKind() == kind {
					of = append(of, o.GetName())
				}
			}
			Expect(of).To(ConsistOf(deployments), kind)
		}
	})

	It("should limit the memory of each container, and nothing else", func() {
		pods := map[string]corev1.PodSpec{}
		for _, d := range slices.Concat(of[appsv1.Deployment](seed, "Deployment"), of[appsv1.Deployment](shoot, "Deployment")) {
			pods[d.Name] = d.Spec.Template.Spec
		}
		for _, d := range of[appsv1.DaemonSet](shoot, "DaemonSet") {
			pods[d.Name] = d.Spec.Template.Spec
		}
		for _, config := range of[corev1.ConfigMap](seed, "ConfigMap") {
			if template, ok := config.Data["helperPod.yaml"]; ok {
				helper := corev1.Pod{}
				Expect(yaml.UnmarshalStrict([]byte(template), &helper)).To(Succeed())
				pods[helper.Name] = helper.Spec
			}
		}
		Expect(pods).To(HaveLen(len(deployments)+3), "with two DaemonSets and the pod that makes folders")
		for name, pod := range pods {
			Expect(pod.InitContainers).To(BeEmpty(), name)
			Expect(pod.Containers).NotTo(BeEmpty(), name)
			for _, container := range pod.Containers {
				expectLimited(name, container)
			}
		}
		for _, o := range seed {
			if o.GetKind() != "VerticalPodAutoscaler" {
				continue
			}
			policies, _, err := unstructured.NestedSlice(o.Object, "spec", "resourcePolicy", "containerPolicies")
			Expect(err).NotTo(HaveOccurred())
			// With requests alone it asks for no more than the limit, which it does not move.
			Expect(policies).To(HaveEach(Or(HaveKeyWithValue("controlledValues", "RequestsOnly"), HaveKeyWithValue("mode", "Off"))), o.GetName())
		}
	})

	It("should let each DaemonSet run on the nodes of one site alone", func() {
		for _, d := range of[appsv1.DaemonSet](shoot, "DaemonSet") {
			site := d.Spec.Template.Spec.NodeSelector[v1alpha1.LabelSite]
			Expect(sites).To(ContainElement(site), d.Name)
			Expect(d.Name).To(HaveSuffix("-" + site))
			Expect(d.Labels).To(HaveKeyWithValue("node.gardener.cloud/critical-component", "true"), d.Name)
			Expect(d.Spec.Template.Labels).To(HaveKeyWithValue("node.gardener.cloud/critical-component", "true"), d.Name)
		}
	})

	It("should have one default storage class, and let volumes be at the site of their class alone", func() {
		var defaults []string
		classes := of[storagev1.StorageClass](storageClasses, "StorageClass")
		Expect(classes).NotTo(BeEmpty())
		for _, class := range classes {
			if class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
				defaults = append(defaults, class.Name)
			}
			Expect(class.VolumeBindingMode).To(HaveValue(Equal(storagev1.VolumeBindingWaitForFirstConsumer)), class.Name)
			Expect(class.AllowedTopologies).NotTo(BeEmpty(), class.Name)
		}
		Expect(defaults).To(Equal([]string{"cloud-standard"}))
	})

	It("should allow no more than is needed", func() {
		for _, role := range slices.Concat(of[rbacv1.ClusterRole](shoot, "ClusterRole"), of[rbacv1.ClusterRole](shoot, "Role")) {
			Expect(role.Name).To(HavePrefix(prefix))
			for _, rule := range role.Rules {
				Expect(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs)).NotTo(ContainElement(ContainSubstring("*")), role.Name)
			}
		}
		for _, o := range everything {
			Expect(o.GetLabels()).NotTo(HaveKey("origin"), o.GetKind()+" "+o.GetName())
		}
	})

	It("should ask for little memory", func() {
		var sum resource.Quantity
		for _, d := range slices.Concat(of[appsv1.Deployment](seed, "Deployment"), of[appsv1.Deployment](shoot, "Deployment")) {
			memory := requests(d.Spec.Template.Spec.Containers)
			GinkgoWriter.Println(d.Name, memory.String())
			sum.Add(memory)
		}
		for _, d := range of[appsv1.DaemonSet](shoot, "DaemonSet") {
			memory := requests(d.Spec.Template.Spec.Containers)
			GinkgoWriter.Println(d.Name, memory.String())
			sum.Add(memory)
		}
		GinkgoWriter.Println("sum", sum.String())
		Expect(sum.Cmp(resource.MustParse(maxMemory))).To(BeNumerically("<=", 0), sum.String())
	})

	It("should be what the apiserver takes", func(ctx SpecContext) {
		expectTaken(ctx, crds, config, seed, shoot, storageClasses)
	})

	It("should be what the apiserver takes for shoots of all versions of Kubernetes", func(ctx SpecContext) {
		const current = "1.36.3"
		cluster := &extensionsv1alpha1.Cluster{}
		Expect(apiServer.Get(ctx, client.ObjectKey{Name: namespace}, cluster)).To(Succeed())
		ofCurrent := cluster.Spec.Shoot.Raw
		for _, version := range []string{"1.32.9", "1.33.5", "1.34.2", "1.35.1", current} {
			By(version)
			cluster.Spec.Shoot.Raw = bytes.ReplaceAll(ofCurrent, []byte(current), []byte(version))
			Expect(string(cluster.Spec.Shoot.Raw)).To(ContainSubstring(version))
			Expect(apiServer.Update(ctx, cluster)).To(Succeed())
			reconcile(ctx, controlPlane.DeepCopy())
			seed := managedResource(ctx, genericactuator.ControlPlaneSeedChartResourceName)
			Expect(of[appsv1.Deployment](seed, "Deployment")).To(HaveLen(len(deployments)))
			expectTaken(ctx, managedResource(ctx, genericactuator.ControlPlaneShootCRDsChartResourceName), seed,
				managedResource(ctx, genericactuator.ControlPlaneSeedConfigurationChartResourceName),
				managedResource(ctx, genericactuator.ControlPlaneShootChartResourceName),
				managedResource(ctx, genericactuator.StorageClassesChartResourceName))
		}
	})

	It("should be what the apiserver takes with load balancers on nodes", func(ctx SpecContext) {
		before := controlPlane.DeepCopy()
		settings, err := codec.Decode[v1alpha1.ControlPlaneConfig](controlPlane.Spec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		settings.Sites = []v1alpha1.ControlPlaneSite{
			{Name: "vc", LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
				AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"10.250.7.0/28"},
					Advertisement: v1alpha1.MetalLBAdvertisementL2}},
			}}},
			{Name: "racks", LoadBalancer: &v1alpha1.SiteLoadBalancer{MetalLB: &v1alpha1.MetalLB{
				AddressPools: []v1alpha1.MetalLBAddressPool{{Name: "a", CIDRs: []string{"192.0.2.0/28"},
					Advertisement: v1alpha1.MetalLBAdvertisementBGP}},
				BGP: &v1alpha1.MetalLBBGP{LocalASN: 64512, Peers: []v1alpha1.MetalLBPeer{{Address: "10.250.8.1", ASN: 64513}}},
			}}},
		}
		controlPlane.Spec.ProviderConfig, err = codec.Encode(settings)
		Expect(err).NotTo(HaveOccurred())
		reconcile(ctx, before)
		shoot := managedResource(ctx, genericactuator.ControlPlaneShootChartResourceName)
		Expect(of[appsv1.Deployment](shoot, "Deployment")).To(HaveLen(2))
		for _, d := range of[appsv1.Deployment](shoot, "Deployment") {
			for _, container := range d.Spec.Template.Spec.Containers {
				expectLimited(d.Name, container)
			}
		}
		for _, speaker := range of[appsv1.DaemonSet](shoot, "DaemonSet") {
			for _, container := range speaker.Spec.Template.Spec.Containers {
				expectLimited(speaker.Name, container)
			}
			Expect(speaker.Spec.Template.Spec.NodeSelector).To(HaveKey(v1alpha1.LabelSite), speaker.Name)
		}
		expectTaken(ctx, managedResource(ctx, genericactuator.ControlPlaneShootCRDsChartResourceName), shoot)
	})

	It("should keep what is deployed when a site loses its status, and tell nothing of it", func(ctx SpecContext) {
		less := v1alpha1.InfrastructureStatus{Sites: status.Sites[1:]}
		raw, err := codec.Encode(&less)
		Expect(err).NotTo(HaveOccurred())
		before := controlPlane.DeepCopy()
		controlPlane.Spec.InfrastructureProviderStatus = raw
		reconcile(ctx, before)
		Expect(managedResource(ctx, genericactuator.ControlPlaneSeedConfigurationChartResourceName)).To(Equal(config))
		Expect(managedResource(ctx, genericactuator.StorageClassesChartResourceName)).To(Equal(storageClasses))
	})

	It("should go", func(ctx SpecContext) {
		Expect(apiServer.Delete(ctx, controlPlane)).To(Succeed())
		Eventually(func() error {
			return apiServer.Get(ctx, client.ObjectKeyFromObject(controlPlane), &extensionsv1alpha1.ControlPlane{})
		}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
		list := &resourcesv1alpha1.ManagedResourceList{}
		Expect(apiServer.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).To(BeEmpty())
		secrets := &corev1.SecretList{}
		Expect(apiServer.List(ctx, secrets, client.InNamespace(namespace))).To(Succeed())
		for _, secret := range secrets.Items {
			Expect(secret.Name).NotTo(HavePrefix("shoot-access-"))
		}
	})
})
