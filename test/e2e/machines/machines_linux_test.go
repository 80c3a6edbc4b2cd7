// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"fmt"
	"time"

	nodeagentconfigv1alpha1 "github.com/gardener/gardener/pkg/apis/config/nodeagent/v1alpha1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/lab"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	startTime  = 15 * time.Minute
	createTime = 25 * time.Minute
	deleteTime = 10 * time.Minute
	volumeTime = 4 * time.Minute
)

var _ = Describe("Machines of a real Gardener", Ordered, func() {
	var (
		l     *lab.Lab
		shoot *lab.Shoot
	)
	tell := func(message string) { fmt.Fprintf(GinkgoWriter, "%s %s\n", time.Now().Format(time.TimeOnly), message) }

	BeforeAll(func(ctx SpecContext) {
		log.SetLogger(logr.Discard())
		dir := GinkgoT().TempDir()
		own, err := landscape.BuildOwn(ctx, dir, GinkgoWriter, "./cmd/...")
		Expect(err).NotTo(HaveOccurred())
		l, err = lab.Start(ctx, lab.Options{Dir: dir, Own: own, Machines: true, Progress: GinkgoWriter, Log: GinkgoLogr})
		DeferCleanup(func(ctx SpecContext) {
			if CurrentSpecReport().Failed() && l.Machinery != nil {
				for name, console := range l.Machinery.Consoles(60) {
					AddReportEntry(name, console, ReportEntryVisibilityFailureOrVerbose)
				}
			}
			Expect(l.Stop(ctx)).To(Succeed())
		})
		Expect(err).NotTo(HaveOccurred())
		shoot = l.Shoot(lab.Hybrid)
		Expect(l.StartVirtual(ctx)).To(Succeed())
		Expect(l.Register(ctx)).To(Succeed())
		Expect(l.CreateProfile(ctx)).To(Succeed())
		Expect(l.Seed.Start(ctx)).To(Succeed())
		Expect(l.WaitSeed(ctx, l.Seed.Name, tell)).To(Succeed())
		Expect(l.Seed.StartSystem()).To(Succeed())
	}, NodeTimeout(startTime))

	It("should become nodes by gardener-node-init and gardener-node-agent on all sites", func(ctx SpecContext) {
		object, err := shoot.Booting()
		Expect(err).NotTo(HaveOccurred())
		Expect(l.Client.Create(ctx, object)).To(Succeed())
		Eventually(shoot.ConnectPods).WithContext(ctx).WithTimeout(createTime).Should(Succeed())
		Expect(shoot.WaitCreated(ctx, tell)).To(Succeed())
		Expect(shoot.WaitNodes(ctx, tell, map[string]int{lab.Cloud: 1, lab.VC: 1, lab.Racks: 1, lab.Hall: 1})).To(Succeed())

		Eventually(func(g Gomega) {
			names := &appsv1.Deployment{}
			g.Expect(l.ShootClient(shoot.TechnicalID()).Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "coredns"}, names)).
				To(Succeed())
			g.Expect(names.Status.ReadyReplicas).To(BeNumerically(">", 0))
		}).WithContext(ctx).Should(Succeed())

		machines, err := shoot.Machines(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(machines).To(HaveLen(4))
		nodes, secret := &corev1.NodeList{}, &corev1.Secret{}
		Expect(l.ShootClient(shoot.TechnicalID()).List(ctx, nodes)).To(Succeed())
		for _, node := range nodes.Items {
			Expect(machines).To(HaveKeyWithValue(node.Spec.ProviderID, node.Name))
			Expect(node.Status.NodeInfo.KubeletVersion).To(Equal(garden.KubernetesVersion))
			Expect(node.Status.NodeInfo.OSImage).To(HavePrefix("Debian GNU/Linux 12"))
			key := client.ObjectKey{Namespace: metav1.NamespaceSystem,
				Name: node.Labels[v1beta1constants.LabelWorkerPoolGardenerNodeAgentSecretName]}
			Expect(l.ShootClient(shoot.TechnicalID()).Get(ctx, key, secret)).To(Succeed())
			Expect(node.Annotations).To(HaveKeyWithValue(nodeagentconfigv1alpha1.AnnotationKeyChecksumAppliedOperatingSystemConfig,
				secret.Annotations[nodeagentconfigv1alpha1.AnnotationKeyChecksumDownloadedOperatingSystemConfig]), node.Name)
		}
		var profiles map[string]string
		Eventually(func(g Gomega) { // Drivers write them after nodes are initialized.
			profiles, err = shoot.BirthProfiles(ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(profiles).To(And(HaveLen(4), HaveEach(WithTransform(platform.ParseBirthProfile,
				And(HaveKey(platform.BirthRegistered), HaveKey(platform.BirthReady))))))
		}).WithContext(ctx).Should(Succeed())
		for name, profile := range profiles {
			AddReportEntry(name, profile)
		}
	}, NodeTimeout(createTime))

	// The tunnel does not end in the shoot, as Gardener's VPN does: security groups in OpenStack let nodes and pods pass only.
	It("should be reached by kube-apiserver through the tunnel, except in OpenStack", func(ctx SpecContext) {
		pods, node := &corev1.PodList{}, &corev1.Node{}
		Expect(l.ShootClient(shoot.TechnicalID()).List(ctx, pods, client.InNamespace(metav1.NamespaceSystem),
			client.MatchingLabels{"app": "flannel"})).To(Succeed())
		Expect(pods.Items).To(HaveLen(4))
		config, err := l.Seed.ShootConfig(ctx, shoot.TechnicalID())
		Expect(err).NotTo(HaveOccurred())
		clients, err := kubernetes.NewForConfig(config)
		Expect(err).NotTo(HaveOccurred())
		var read []string
		for _, pod := range pods.Items {
			Expect(l.ShootClient(shoot.TechnicalID()).Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node)).To(Succeed())
			if node.Labels[v1alpha1.LabelSite] == lab.Cloud {
				continue
			}
			text, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: "flannel"}).DoRaw(ctx)
			Expect(err).NotTo(HaveOccurred(), pod.Spec.NodeName)
			Expect(string(text)).To(ContainSubstring("vxlan"), pod.Spec.NodeName)
			read = append(read, node.Labels[v1alpha1.LabelSite])
		}
		Expect(read).To(ConsistOf(lab.VC, lab.Racks, lab.Hall))
	}, NodeTimeout(time.Minute))

	It("should have volumes that the control plane makes at their sites, and pods read again", func(ctx SpecContext) {
		c := l.ShootClient(shoot.TechnicalID())
		for class, site := range map[string]string{"cloud-standard": lab.Cloud, "racks-local": lab.Racks} {
			use := func(script string) string {
				GinkgoHelper()
				pod := specs.Script(class, lab.ScriptImage, "{ "+script+"; } >/dev/termination-log", map[string]string{v1alpha1.LabelSite: site})
				return specs.Complete(ctx, c, specs.Mount(pod, class), volumeTime)
			}
			claim := specs.Claim(class, class)
			Expect(c.Create(ctx, claim)).To(Succeed())
			begin := time.Now()
			sum := use("dd if=/dev/urandom of=/data/kept bs=1M count=8; sync; sha256sum /data/kept")
			AddReportEntry(class, fmt.Sprintf("written %.0f s after the pod was created", time.Since(begin).Seconds()))
			Expect(sum).To(HaveSuffix(" /data/kept"))
			Expect(use("sha256sum /data/kept")).To(Equal(sum))
			Expect(c.Delete(ctx, claim)).To(Succeed())
			Eventually(func(g Gomega) {
				volumes := &corev1.PersistentVolumeList{}
				g.Expect(c.List(ctx, volumes)).To(Succeed())
				g.Expect(volumes.Items).To(BeEmpty())
			}).WithContext(ctx).Should(Succeed())
		}
	}, NodeTimeout(3*volumeTime))

	It("should be gone with the shoot, of which nothing is left", func(ctx SpecContext) {
		Expect(shoot.Delete(ctx, tell)).To(Succeed())
		Expect(shoot.UnlockBackups(ctx)).To(Succeed())
		Eventually(shoot.Left).WithContext(ctx).Should(BeEmpty())
	}, NodeTimeout(deleteTime))
})
