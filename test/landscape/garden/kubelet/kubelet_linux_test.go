// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelet_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/netns"
	"github.com/gardener/gardener-extension-provider-hybrid/test/skip"
)

// script prints what a process sees.
const script = `
echo host $(cat /proc/sys/kernel/hostname)
echo user $(id -u) group $(id -g)
echo secret $(cat /etc/secret/key)
echo token of $(cut -c1-4 /var/run/secrets/kubernetes.io/serviceaccount/token)
echo variable $GREETING at $HOST_IP
touch /elsewhere 2>/dev/null || echo read-only
touch /cache/file && echo writable
test -e /root -o -e /home || echo nothing of this machine
grep -q " web.shop.svc" /etc/hosts && echo names
echo $0 $(cat /program/file)
sleep 60
`

// initial is what fails once.
const initial = `
test -e /cache/tried || { touch /cache/tried; echo first; exit 1; }
echo second, trusting $(cat /etc/ssl/certs/ca-certificates.crt)
`

var _ = Describe("Kubelet", func() {
	var (
		c    client.Client
		node *kubelet.Kubelet
	)

	BeforeEach(func(ctx SpecContext) {
		if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
			skip.Because("pods need root and iproute2")
		}
		network, err := netns.New()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(network.Close)
		Expect(network.IP("route add local 10.241.0.0/16 dev lo")).To(Succeed())

		starting, published := pod("starting", "played:v1"), service("shop", "starting", "10.241.0.6", 80)
		// The answer is no HTTP.
		starting.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromString("http")}},
		}
		prepared := pod("prepared", "unknown:v1")
		prepared.Spec.InitContainers = pod("", "shell:v1", initial).Spec.Containers
		prepared.Spec.InitContainers[0].Name = "initial"
		published.Name, published.Spec.PublishNotReadyAddresses = "published", true
		c = fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithStatusSubresource(&corev1.Pod{}, &corev1.Node{}).WithObjects(
			service("default", "kubernetes", "10.241.0.1", 443), service("shop", "web", "10.241.0.2", 80), service("shop", "another",
				"10.241.0.3", 80),
			service("shop", "nobody", "10.241.0.4", 80), service("shop", "starting", "10.241.0.5", 80), published,
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "secret"}, Data: map[string][]byte{"key": []byte("value")}},
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "default"}},
			pod("process", "registry.example.com/tools/shell:v1@sha256:0", script), pod("web", "played:v1"), pod("another",
				"played:v1"), pod("quiet", "unknown:v1"), starting, prepared,
		).Build()
		serve := func(ctx context.Context, p *kubelet.Pod) error {
			listener, err := p.Listen("8080")
			if err != nil {
				return err
			}
			context.AfterFunc(ctx, func() { _ = listener.Close() })
			for {
				conn, err := listener.Accept()
				if err != nil {
					return err
				}
				_, _ = io.WriteString(conn, "pod "+p.Name())
				_ = conn.Close()
			}
		}
		file := filepath.Join(GinkgoT().TempDir(), "file")
		Expect(os.WriteFile(file, []byte("content"), 0o600)).To(Succeed())
		Expect(os.Chmod(file, 0o644)).To(Succeed())
		node = &kubelet.Kubelet{
			Client: c, Network: network, Dir: GinkgoT().TempDir(), APIServer: "10.241.0.9:6443", Authorities: "authority", Log: logr.Discard(),
			Programs: map[string]kubelet.Program{"shell": {Path: "/bin/sh", Args: []string{"argument"}, Files: []string{file}},
				"played": {Serve: serve}},
			Networks: kubelet.Networks{Bridge: "pods", Real: "10.242", Played: "10.243", Node: "10.240.0.1"},
		}
		Expect(node.Start(ctx)).To(Succeed())
		DeferCleanup(node.Stop)
	})

	It("runs a process with what its pod says", func() {
		log := filepath.Join(node.Dir, "logs", "shop", "process-main.log")
		Eventually(func() (string, error) {
			content, err := os.ReadFile(log)
			return string(content), err
		}).WithTimeout(10 * time.Second).Should(Equal(`host process
user 65532 group 65532
secret value
token of fake
variable hello node at 10.240.0.1
read-only
writable
nothing of this machine
names
argument content
`))
		Eventually(ready("process", c)).Should(HavePrefix("10.242."))
	})

	It("runs init containers until they succeed before a pod is ready", func() {
		Eventually(ready("prepared", c)).WithTimeout(15 * time.Second).Should(HavePrefix("10.242."))
		content, err := os.ReadFile(filepath.Join(node.Dir, "logs", "shop", "prepared-initial.log"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(content)).To(Equal("first\nsecond, trusting authority\n"))
	})

	It("reports pods without a program to run", func() {
		Eventually(ready("quiet", c)).WithTimeout(10 * time.Second).Should(HavePrefix("10.243."))
	})

	It("forwards connections to the ready pods of each Service", func(ctx SpecContext) {
		ask := func(address string) func() string {
			return func() string {
				conn, err := node.Network.DialContext(ctx, "tcp", address)
				if err != nil {
					return err.Error()
				}
				defer conn.Close()
				answer, _ := io.ReadAll(conn)
				return string(answer)
			}
		}
		for range 3 {
			Eventually(ask("10.241.0.2:80")).WithTimeout(10 * time.Second).Should(Equal("pod web"))
			Consistently(ask("10.241.0.2:80")).WithTimeout(500 * time.Millisecond).Should(Equal("pod web"))
			Eventually(ask("10.241.0.3:80")).Should(Equal("pod another"))
			Expect(ask("10.241.0.4:80")()).To(BeEmpty())
		}
		Eventually(ask("10.241.0.6:80")).WithTimeout(10 * time.Second).Should(Equal("pod starting"))
		Consistently(ask("10.241.0.5:80")).WithTimeout(2 * time.Second).Should(BeEmpty())
	})

	It("ends the processes of a pod that is deleted", func(ctx SpecContext) {
		Eventually(ready("process", c)).WithTimeout(10 * time.Second).ShouldNot(BeEmpty())
		Expect(c.Delete(ctx, pod("process", ""))).To(Succeed())
		Eventually(func() []string {
			found, err := filepath.Glob(filepath.Join(node.Dir, "shop", "process-*"))
			Expect(err).NotTo(HaveOccurred())
			return found
		}).WithTimeout(20 * time.Second).Should(BeEmpty())
	})
})

// ready returns the address of a pod if it is ready.
func ready(name string, c client.Client) func() string {
	return func() string {
		p := &corev1.Pod{}
		if err := c.Get(context.Background(), client.ObjectKey{Namespace: "shop", Name: name}, p); err != nil {
			return ""
		}
		for _, condition := range p.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return p.Status.PodIP
			}
		}
		return ""
	}
}

func service(namespace, name, ip string, port int32) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{
		ClusterIP: ip, Selector: map[string]string{"app": name},
		Ports: []corev1.ServicePort{{Port: port, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
	}}
}

// pod is a pod of the node with everything that the script shows.
func pod(name, image string, script ...string) *corev1.Pod {
	args := append([]string{"-c"}, script...)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName:        kubelet.Name,
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532))},
			Containers: []corev1.Container{{
				Name: "main", Image: image, Args: args,
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				Env: []corev1.EnvVar{
					{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
					{Name: "GREETING", Value: "hello $(NODE)"},
					{Name: "HOST_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}},
				},
				SecurityContext: &corev1.SecurityContext{ReadOnlyRootFilesystem: new(true)},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "secret", MountPath: "/etc/secret"}, {Name: "cache", MountPath: "/cache"},
					{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "secret"}}},
				{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
				}}}},
			},
		},
	}
}
