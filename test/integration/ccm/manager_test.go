// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package ccm_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// manager is a cloud-controller-manager and its files.
type manager struct {
	process     *landscape.Process
	config      *v1alpha1.CloudControllerManagerConfiguration
	dir, log    string
	credentials string
}

// newManager returns a cloud-controller-manager for all sites. It ends with the spec, and shows its log if that failed.
func newManager() *manager {
	GinkgoHelper()
	m := &manager{dir: GinkgoT().TempDir()}
	m.log, m.credentials = filepath.Join(m.dir, "ccm.log"), filepath.Join(m.dir, "credentials")
	Expect(os.Mkdir(m.credentials, 0o700)).To(Succeed())
	m.config = &v1alpha1.CloudControllerManagerConfiguration{
		Shoot: shoot, Region: region, DefaultSite: cloudSite,
		Sites: []v1alpha1.CloudControllerSite{clouds[cloudSite].site(), clouds[anotherSite].site(), place.site(), halls[racksSite].site(),
			halls[hallSite].site()},
	}
	m.process = &landscape.Process{Name: "cloud-controller-manager", Path: binary, LogFile: m.log, Args: []string{
		"--kubeconfig=" + kubeconfig, "--cloud-config=" + m.configFile(), "--credentials-directory=" + m.credentials,
		"--bind-address=127.0.0.1", "--secure-port=0", "--node-monitor-period=1s", "--node-status-update-frequency=5s", "--v=1",
		"--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms",
	}}
	for name, c := range clouds {
		m.setCredentials(name, c.credentials)
	}
	m.setCredentials(vcSite, place.credentials)
	for name, h := range halls {
		m.setCredentials(name, h.credentials)
	}
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			AddReportEntry("log", m.process.Tail(200), ReportEntryVisibilityFailureOrVerbose)
		}
		m.process.Stop(ctx)
	})
	return m
}

func (m *manager) configFile() string {
	return filepath.Join(m.dir, "config.json")
}

// start writes the configuration and starts the process.
func (m *manager) start() {
	GinkgoHelper()
	m.writeConfig()
	Expect(m.process.Start()).To(Succeed())
}

// writeConfig replaces the configuration.
func (m *manager) writeConfig() {
	GinkgoHelper()
	raw, err := codec.Encode(m.config)
	Expect(err).NotTo(HaveOccurred())
	m.replace(m.configFile(), raw.Raw)
}

func (m *manager) setCredentials(site string, credentials site.Credentials) {
	GinkgoHelper()
	for key, value := range credentials {
		m.replace(filepath.Join(m.credentials, site+"."+key), []byte(value))
	}
}

// replace writes a file at once, as the kubelet does. Nobody sees a part of it.
func (m *manager) replace(file string, data []byte) {
	GinkgoHelper()
	part := filepath.Join(m.dir, "new")
	Expect(os.WriteFile(part, data, 0o600)).To(Succeed())
	Expect(os.Rename(part, file)).To(Succeed())
}

// logged is how many lines of the log match the expression.
func (m *manager) logged(expression string) int {
	GinkgoHelper()
	data, err := os.ReadFile(m.log)
	Expect(err).NotTo(HaveOccurred())
	return len(regexp.MustCompile(expression).FindAll(data, -1))
}

// waitFor waits until the controllers of the sites run.
func (m *manager) waitFor(ctx context.Context, sites ...string) {
	GinkgoHelper()
	for _, name := range sites {
		Eventually(func() int { return m.logged(`Running the controllers of a site" site="` + name) }).
			WithContext(ctx).Within(time.Minute).ProbeEvery(100*time.Millisecond).Should(BeNumerically(">", 0), name)
	}
}

const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"

// node makes a node. It goes in the end.
func node(ctx context.Context, name, siteName string, change ...func(*corev1.Node)) *corev1.Node {
	GinkgoHelper()
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	if siteName != "" {
		object.Labels[v1alpha1.LabelSite] = siteName
	}
	for _, f := range change {
		f(object)
	}
	status := object.Status
	created, err := shootAPI.CoreV1().Nodes().Create(ctx, object, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		err := shootAPI.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
		if !apierrors.IsNotFound(err) {
			Expect(err).NotTo(HaveOccurred())
		}
	})
	status.NodeInfo.SystemUUID = object.Status.NodeInfo.SystemUUID
	// The cloud controllers may have seen the node already.
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		latest, err := shootAPI.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		addresses := latest.Status.Addresses
		latest.Status = *status.DeepCopy()
		if len(addresses) > 0 {
			latest.Status.Addresses = addresses
		}
		created, err = shootAPI.CoreV1().Nodes().UpdateStatus(ctx, latest, metav1.UpdateOptions{})
		return err
	})).To(Succeed())
	return created
}

func tainted(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule})
}

func withID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.ProviderID = id }
}

func withSystemUUID(id string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = id }
}

// withAddress is a node whose kubelet was told its address.
func withAddress(address string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: n.Name}}
	}
}

func ready(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

func notReady(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
}

// getNode returns the node, nil if there is none.
func getNode(ctx context.Context, name string) *corev1.Node {
	GinkgoHelper()
	n, err := shootAPI.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return n
}

// initialized waits until the node has no taint any more and returns it.
func initialized(ctx context.Context, name string, within time.Duration) *corev1.Node {
	GinkgoHelper()
	var n *corev1.Node
	Eventually(func() []corev1.Taint {
		n = getNode(ctx, name)
		return n.Spec.Taints
	}).WithContext(ctx).Within(within).ProbeEvery(50*time.Millisecond).ShouldNot(ContainElement(HaveField("Key", uninitialized)), name)
	return n
}
