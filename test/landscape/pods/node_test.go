// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	gardenerutils "github.com/gardener/gardener/pkg/utils/gardener"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pods"
)

var _ = Describe("Node", Ordered, func() {
	const (
		namespace = "shoot--test--pods"
		name      = "server"
		port      = 8080
	)
	var (
		c          client.Client
		node       *pods.Node
		dir        string
		config     *corev1.ConfigMap
		deployment *appsv1.Deployment
	)

	BeforeAll(func(ctx SpecContext) {
		cluster, err := landscape.NewCluster(GinkgoT().TempDir(), landscape.DefaultBinaries())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { cluster.Stop(ctx) })
		Expect(cluster.Start(ctx)).To(Succeed())
		Expect(landscape.InstallCRDs(ctx, cluster.Config)).To(Succeed())
		workloads, err := landscape.NewWorkloads(GinkgoT().TempDir(), cluster, landscape.DefaultBinaries())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { workloads.Stop(ctx) })
		Expect(workloads.Start(ctx)).To(Succeed())

		c, err = client.New(cluster.Config, client.Options{Scheme: landscape.Scheme})
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		Expect(cluster.CreateGenericKubeconfig(ctx, c, namespace)).To(Succeed())
		Expect(gardenerutils.NewShootAccessSecret(name, namespace).Reconcile(ctx, c)).To(Succeed())

		dir = GinkgoT().TempDir()
		node = &pods.Node{Client: c, Namespace: namespace, Dir: dir, Log: GinkgoLogr, Programs: []pods.Program{
			{Deployment: name, Container: "main", Path: os.Args[0], Args: []string{"-test.v"}},
		}}
		Expect(node.Start(ctx)).To(Succeed())
		DeferCleanup(node.Stop)
	}, NodeTimeout(3*time.Minute))

	BeforeAll(func(ctx SpecContext) {
		config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
			Data: map[string]string{"greeting": "hello from /etc/server", "other": "not mounted"}}
		Expect(c.Create(ctx, config)).To(Succeed())
		labels := map[string]string{"app": name}
		deployment = &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{
					{
						Name: "main", Image: "main", Command: []string{"/server", "-test.run=^TestProgram$"},
						Env: []corev1.EnvVar{
							{Name: "PORT", Value: "8080"}, {Name: listenVariable, Value: ":$(PORT)"}, {Name: folderVariable, Value: "/etc/server"},
						},
						Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}},
						ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/greeting",
							Port: intstr.FromString("http")}}},
						VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/server"}, {Name: "socket", MountPath: "/csi"}},
					},
					{Name: "played", Image: "played"},
				},
				Volumes: []corev1.Volume{
					{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: []corev1.KeyToPath{{Key: "greeting", Path: "greeting"}}}}},
					{Name: "socket", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				},
			}},
		}}
		Expect(gardenerutils.InjectGenericKubeconfig(deployment, "generic-token-kubeconfig", "shoot-access-"+name, "main")).To(Succeed())
		Expect(c.Create(ctx, deployment)).To(Succeed())
	})

	get := func(ctx context.Context, path string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", node.Port(name, port), path), nil)
		if err != nil {
			return "", err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		return string(content), err
	}
	available := func(ctx context.Context, replicas int) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(c.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
			g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
			g.Expect(deployment.Status.UpdatedReplicas).To(BeEquivalentTo(replicas))
			g.Expect(deployment.Status.AvailableReplicas).To(BeEquivalentTo(replicas))
			g.Expect(deployment.Status.Replicas).To(BeEquivalentTo(replicas))
		}).Should(Succeed())
	}
	change := func(ctx context.Context, mutate func()) {
		GinkgoHelper()
		before := deployment.DeepCopy()
		mutate()
		Expect(c.Patch(ctx, deployment, client.MergeFrom(before))).To(Succeed())
	}
	list := func(ctx context.Context) []corev1.Pod {
		GinkgoHelper()
		pods := &corev1.PodList{}
		Expect(c.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
		return pods.Items
	}

	It("should run a container with its files, environment and ports, and report on it", func(ctx SpecContext) {
		available(ctx, 1)
		Expect(get(ctx, "/greeting")).To(And(HavePrefix("hello from "+dir), HaveSuffix("/config")))
		Expect(get(ctx, "/other")).To(ContainSubstring("404"))
		Expect(node.Process(name, "main").Args).To(ContainElements("-test.run=^TestProgram$", "-test.v"))
		Expect(node.Process(name, "played")).To(BeNil())
		pods := list(ctx)
		Expect(pods).To(HaveLen(1))
		Expect(pods[0].Status.ContainerStatuses).To(HaveEach(HaveField("Ready", true)))
		Consistently(func() []corev1.Pod { return list(ctx) }, "2s").Should(Equal(pods), "the status is written once")
	}, SpecTimeout(time.Minute))

	It("should let it access the shoot", func(ctx SpecContext) {
		paths, err := filepath.Glob(filepath.Join(dir, "pod*", "kubeconfig", "kubeconfig"))
		Expect(err).NotTo(HaveOccurred())
		Expect(paths).To(HaveLen(1))
		access, err := clientcmd.BuildConfigFromFlags("", paths[0])
		Expect(err).NotTo(HaveOccurred())
		shoot, err := kubernetes.NewForConfig(access)
		Expect(err).NotTo(HaveOccurred())
		review, err := shoot.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(review.Status.UserInfo.Username).To(Equal("system:serviceaccount:kube-system:" + name))
	}, SpecTimeout(time.Minute))

	It("should bring its files up to date without starting it again", func(ctx SpecContext) {
		pid := node.Process(name, "main").PID()
		config.Data["greeting"] = "good morning"
		Expect(c.Update(ctx, config)).To(Succeed())
		Eventually(get).WithArguments(ctx, "/greeting").Should(Equal("good morning"))
		Expect(node.Process(name, "main").PID()).To(Equal(pid))
	}, SpecTimeout(time.Minute))

	It("should start it again when it ends", func(ctx SpecContext) {
		_, err := get(ctx, "/crash")
		Expect(err).To(HaveOccurred())
		Eventually(get).WithArguments(ctx, "/greeting").Should(Equal("good morning"))
		Eventually(func() []corev1.Pod { return list(ctx) }).Should(ConsistOf(HaveField("Status.ContainerStatuses",
			ContainElement(And(HaveField("Name", "main"), HaveField("RestartCount", BeEquivalentTo(1)), HaveField("Ready", true))))))
	}, SpecTimeout(time.Minute))

	It("should replace it when the template changes, one at a time", func(ctx SpecContext) {
		old := node.Process(name, "main")
		change(ctx, func() {
			deployment.Spec.Template.Annotations = map[string]string{"checksum/config": "2"}
			deployment.Spec.Replicas = new(int32(2))
		})
		available(ctx, 2)
		Expect(old.Running()).To(BeFalse())
		Expect(old.Check()).To(Succeed(), "it was asked to end")
		Expect(node.Process(name, "main")).NotTo(BeIdenticalTo(old))
		Expect(get(ctx, "/greeting")).To(Equal("good morning"))
		Eventually(func() ([]string, error) { return filepath.Glob(filepath.Join(dir, "pod*", "kubeconfig")) }).Should(HaveLen(1),
			"one of two pods has processes")
	}, SpecTimeout(time.Minute))

	It("should end it with its Deployment", func(ctx SpecContext) {
		process := node.Process(name, "main")
		change(ctx, func() { deployment.Spec.Replicas = new(int32(0)) })
		available(ctx, 0)
		Eventually(process.Running).Should(BeFalse())
		Eventually(func() ([]string, error) { return filepath.Glob(filepath.Join(dir, "pod*")) }).Should(BeEmpty())
	}, SpecTimeout(time.Minute))
})
