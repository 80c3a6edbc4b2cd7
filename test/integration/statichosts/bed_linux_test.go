// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hybridv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	metalinventories "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metalmachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

const (
	hostLabel = "host"
	// cycle is above what a host takes from a claim to a machine, or from a machine to a free host, on a busy computer.
	cycle = 3 * time.Minute
	poll  = 200 * time.Millisecond
)

var (
	inventory   *metal.Inventory
	room        *statichosts.Site
	operators   []*landscape.Process
	executables string
	credentials site.Credentials
	// secrets are what must be nowhere: private keys, passwords of sudo and tokens.
	secrets sync.Map
)

var _ = specs.ShowTails(func() []*landscape.Process { return operators })

var _ = BeforeSuite(func(ctx SpecContext) {
	Expect(statichosts.Build(ctx, GinkgoWriter)).To(Succeed())
	var err error
	executables, err = landscape.BuildOwn(ctx, GinkgoT().TempDir(), GinkgoWriter, metal.OperatorExecutable)
	Expect(err).NotTo(HaveOccurred())
	room, err = statichosts.NewSite(GinkgoT().TempDir())
	DeferCleanup(func() { Expect(room.Close()).To(Succeed()) })
	Expect(err).NotTo(HaveOccurred())
	inventory, err = metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir()})
	DeferCleanup(func() {
		Expect(inventory.Check()).To(Succeed())
		inventory.Stop()
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(inventory.InstallStatic(ctx)).To(Succeed())
	Expect(inventory.Grant(ctx)).To(Succeed())
	token, err := inventory.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	credentials = token.SiteCredentials()
	startOperator(ctx, metal.Namespace)
}, NodeTimeout(10*time.Minute))

// startOperator starts an operator for the hosts of a namespace, which ends with the spec.
func startOperator(ctx context.Context, namespace string, args ...string) {
	GinkgoHelper()
	p := newOperator(namespace, args...)
	Expect(p.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(p.Check()).To(Succeed())
		p.Stop(context.WithoutCancel(ctx))
	})
}

// newOperator makes an operator for the hosts of a namespace.
func newOperator(namespace string, args ...string) *landscape.Process {
	p := inventory.StaticOperator(executables, "operator-"+namespace, namespace, args...)
	operators = append(operators, p)
	return p
}

// install makes a host, which is switched off in the end of the spec. Its private key is a given one, or one of its own.
func install(ctx context.Context, privateKey ...[]byte) *statichosts.Host {
	GinkgoHelper()
	h, err := room.Install(ctx, "h-"+rand.String(5), statichosts.Options{PrivateKey: slices.Concat(privateKey...)})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(h.CutPower)
	secrets.Store(strings.Split(string(h.PrivateKey), "\n")[2], "private key of "+h.Name)
	return h
}

// register makes a StaticHost of a host.
func register(ctx context.Context, h *statichosts.Host, change func(*v1alpha1.StaticHost, *corev1.Secret)) {
	GinkgoHelper()
	Expect(inventory.RegisterHost(ctx, h, metal.Namespace, map[string]string{hostLabel: h.Name}, change)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		alter(ctx, metal.Namespace, h, func(host *v1alpha1.StaticHost) { host.Spec.Maintenance = true })
	}, NodeTimeout(time.Minute))
}

// available makes a host with a StaticHost that machines can claim.
func available(ctx context.Context, change func(*v1alpha1.StaticHost, *corev1.Secret)) *statichosts.Host {
	GinkgoHelper()
	h := install(ctx)
	register(ctx, h, change)
	eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
	return h
}

// eventually is about the StaticHost of a host.
func eventually(ctx context.Context, h *statichosts.Host) AsyncAssertion {
	GinkgoHelper()
	return eventuallyIn(ctx, metal.Namespace, h)
}

// eventuallyIn is about the StaticHost of a host in a namespace.
func eventuallyIn(ctx context.Context, namespace string, h *statichosts.Host) AsyncAssertion {
	GinkgoHelper()
	return Eventually(ctx, func(ctx context.Context) (string, error) { return stateOf(ctx, namespace, h) }, cycle, poll)
}

// stateOf is the phase of a StaticHost and its conditions.
func stateOf(ctx context.Context, namespace string, h *statichosts.Host) (string, error) {
	host, err := inventory.StaticHost(ctx, namespace, h.Name)
	if err != nil {
		return "", err
	}
	lines := []string{string(host.Status.Phase) + "."}
	for _, name := range []string{v1alpha1.ConditionReachable, v1alpha1.ConditionSuitable, v1alpha1.ConditionProvisioned,
		v1alpha1.ConditionClean} {
		if c := meta.FindStatusCondition(host.Status.Conditions, name); c != nil {
			lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// beIn matches the state of a host in a phase.
func beIn(phase v1alpha1.Phase) OmegaMatcher { return HavePrefix(string(phase) + ".") }

// say matches the state of a host with a condition that is false for a reason.
func say(condition, reason string) OmegaMatcher {
	return ContainSubstring("\n" + condition + "=False " + reason + ":")
}

// retry lets the operator release a host again.
func retry(ctx context.Context, namespace string, h *statichosts.Host) {
	GinkgoHelper()
	alter(ctx, namespace, h, func(host *v1alpha1.StaticHost) {
		metav1.SetMetaDataAnnotation(&host.ObjectMeta, v1alpha1.AnnotationRetry, "")
	})
}

// at runs a command at the console of a host.
func at(ctx context.Context, h *statichosts.Host, command string) string {
	GinkgoHelper()
	out, err := h.Run(ctx, command)
	Expect(err).NotTo(HaveOccurred())
	return out
}

// userData is what Gardener's does: a node agent, a kubelet, and what they leave.
//
//go:embed userdata.sh
var userData string

// machine is a machine of a shoot on a host.
type machine struct {
	driver  platform.Machines
	request platform.MachineRequest
	host    *statichosts.Host
	token   string
}

// newMachine describes a machine that only one host can be, of a new shoot.
func newMachine(h *statichosts.Host, script string) *machine {
	GinkgoHelper()
	shoot, token := "shoot--"+rand.String(4)+"--"+rand.String(4), rand.String(32)
	secrets.Store(token, "token of "+h.Name)
	sessions := metalclient.NewSessions()
	DeferCleanup(sessions.Close)
	profile := &hybridv1alpha1.CloudProfileSite{
		Name: "own", TLS: &hybridv1alpha1.TLS{CACert: inventory.CA()},
		Metal: &hybridv1alpha1.MetalProfile{
			Inventory: hybridv1alpha1.MetalInventoryStatic, Server: inventory.Server(), Namespace: metal.Namespace,
			Cleaning: hybridv1alpha1.MetalCleaningMetadata, NodeName: hybridv1alpha1.MetalNodeNameMachine,
		},
	}
	return &machine{
		driver: metalmachines.New(sessions, metalinventories.Open), host: h, token: token,
		request: platform.MachineRequest{
			Name: shoot + "-m", Credentials: credentials, UserData: []byte(strings.ReplaceAll(script, "TOKEN", token)),
			Spec: &hybridv1alpha1.MachineProviderSpec{
				Site: "own", Shoot: shoot, Metal: &hybridv1alpha1.MetalMachineSpec{
					Connection:   metalclient.ConnectionOf(profile),
					HostSelector: &metav1.LabelSelector{MatchLabels: map[string]string{hostLabel: h.Name}},
					Image:        hybridv1alpha1.MetalImage{OSRelease: &hybridv1alpha1.MetalOSRelease{ID: "debian", VersionID: "12"}},
					Cleaning:     hybridv1alpha1.MetalCleaningMetadata,
					NodeName:     hybridv1alpha1.MetalNodeNameMachine,
				},
			},
		},
	}
}

// create claims the host.
func (m *machine) create(ctx context.Context) {
	GinkgoHelper()
	created, err := m.driver.Create(ctx, m.request)
	Expect(err).NotTo(HaveOccurred())
	Expect(created.ProviderID).To(Equal("static://" + metal.Namespace + "/" + m.host.Name + "/" + m.request.Name))
	m.request.ProviderID = created.ProviderID
}

// tryCreate returns the error of a claim.
func (m *machine) tryCreate(ctx context.Context) error {
	_, err := m.driver.Create(ctx, m.request)
	return err
}

// run claims the host and waits until it is the machine.
func (m *machine) run(ctx context.Context) {
	GinkgoHelper()
	m.create(ctx)
	eventually(ctx, m.host).Should(beIn(v1alpha1.PhaseProvisioned))
}

// delete lets go of the host, which is asked for again and again, as machine-controller-manager does.
func (m *machine) delete(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() error { return m.driver.Delete(ctx, m.request) }, cycle, poll).Should(Succeed())
}

// expectDeletion asks for the host once, and expects an error.
func (m *machine) expectDeletion(ctx context.Context, matcher OmegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func() error { return m.driver.Delete(ctx, m.request) }, cycle, poll).Should(MatchError(matcher))
}

// claim makes a host a machine, as the driver does.
func claim(ctx context.Context, namespace string, h *statichosts.Host, script string) {
	GinkgoHelper()
	o, name, token := owner.Owner{Shoot: "shoot--it", Site: "own"}, "shoot--it-"+h.Name, rand.String(32)
	secrets.Store(token, "token of "+h.Name)
	Expect(inventory.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: o.MachineLabels(name)},
		Data:       map[string][]byte{v1alpha1.KeyUserData: []byte(strings.ReplaceAll(script, "TOKEN", token))},
	})).To(Succeed())
	alter(ctx, namespace, h, func(host *v1alpha1.StaticHost) {
		host.Spec.ConsumerRef = new(o.Reference(name))
		host.Spec.UserDataSecretRef, host.Spec.NodeName = &v1alpha1.LocalReference{Name: name}, name
	})
}

// unclaim releases a host, as the driver does.
func unclaim(ctx context.Context, namespace string, h *statichosts.Host) {
	GinkgoHelper()
	alter(ctx, namespace, h, func(host *v1alpha1.StaticHost) { host.Spec.UserDataSecretRef, host.Spec.NodeName = nil, "" })
}

// alter changes a StaticHost.
func alter(ctx context.Context, namespace string, h *statichosts.Host, change func(*v1alpha1.StaticHost)) {
	GinkgoHelper()
	host, err := inventory.StaticHost(ctx, namespace, h.Name)
	Expect(err).NotTo(HaveOccurred())
	before := host.DeepCopy()
	change(host)
	Expect(inventory.Client.Patch(ctx, host, client.MergeFrom(before))).To(Succeed())
}

// touched are the places in which a machine leaves something.
var touched = []string{
	"/etc", "/opt", "/usr/local", "/root", "/var/spool/cron", "/var/lib/kubelet", "/var/lib/cni", "/var/lib/etcd",
	"/var/lib/gardener-node-agent", "/var/lib/static-host", "/var/log/pods", "/var/log/containers",
}

// snapshot is what is in these places, and of containerd the names, because it runs.
func snapshot(h *statichosts.Host) map[string]string {
	GinkgoHelper()
	files, err := h.Files(touched...)
	Expect(err).NotTo(HaveOccurred())
	// Others write in /etc and to this file.
	delete(files, "/etc")
	delete(files, "/etc/resolv.conf")
	state, err := h.Files("/var/lib/containerd")
	Expect(err).NotTo(HaveOccurred())
	for path := range state {
		files[path] = "of containerd"
	}
	return files
}

// differences are the lines in which two snapshots differ.
func differences(before, after map[string]string) []string {
	var lines []string
	for path, line := range before {
		if after[path] != line {
			lines = append(lines, fmt.Sprintf("%s was %q, is %q", path, line, after[path]))
		}
	}
	for path, line := range after {
		if _, known := before[path]; !known {
			lines = append(lines, fmt.Sprintf("%s is new: %q", path, line))
		}
	}
	slices.Sort(lines)
	return lines
}

// running is what a host runs and has, apart from files.
func running(ctx context.Context, h *statichosts.Host) string {
	GinkgoHelper()
	return at(ctx, h, "hostname; ls /sys/class/net; nft list ruleset; "+
		"ss -Hlnt | awk '{print $4}' | grep -v '^127.0.0.1:' | sort; getent passwd | sort; "+
		"systemctl list-units --plain --no-legend --type=service,socket,timer,mount --state=active,failed | awk '{print $1}' | "+
		"grep -v -e '^session-' -e '^user@' -e '^user-runtime' -e '^run-user' -e '^run-credentials' | sort; "+
		// systemd mounts credentials for a service while it starts, and may take its time to unmount them.
		"awk '{print $2}' /proc/self/mounts | grep -v '^/run/credentials/' | sort; "+
		"ps -e -o comm= | grep -v -e '^ps$' -e '^sh$' -e '^awk$' -e '^sort$' -e '^sshd$' -e '^(' -e '^e2scrub' | sort -u")
}

// expectNoSecret looks for everything secret where it must not be: on the disk and in the memory of hosts that are free, in logs, and in
// all objects but Secrets.
func expectNoSecret(ctx context.Context, hosts ...*statichosts.Host) {
	GinkgoHelper()
	var texts []string
	secrets.Range(func(text, _ any) bool {
		texts = append(texts, text.(string))
		return true
	})
	for _, h := range hosts {
		found, err := h.Find(texts...)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(BeEmpty(), h.Name)
		pattern := strings.Join(texts, "\n")
		Expect(at(ctx, h, "grep -rlaF -e "+quote(pattern)+" /run /tmp /dev/shm 2>/dev/null || true; journalctl --no-pager -o export | "+
			"grep -acF -e "+quote(pattern)+" || true")).To(Equal("0"), h.Name)
	}
	logs, err := filepath.Glob(filepath.Join(filepath.Dir(operators[0].LogFile), "*.log"))
	Expect(err).NotTo(HaveOccurred())
	Expect(logs).NotTo(BeEmpty())
	seen := map[string]string{}
	for _, log := range logs {
		content, err := os.ReadFile(log)
		Expect(err).NotTo(HaveOccurred())
		seen[log] = string(content)
	}
	for _, list := range []client.ObjectList{&v1alpha1.StaticHostList{}, &eventsv1.EventList{}, &corev1.EventList{}, &corev1.ConfigMapList{}} {
		Expect(inventory.Client.List(ctx, list)).To(Succeed())
		content, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		seen[fmt.Sprintf("%T", list)] = string(content)
	}
	for where, content := range seen {
		secrets.Range(func(text, what any) bool {
			Expect(strings.Contains(content, text.(string))).To(BeFalse(), "%s is in %s", what, where)
			return true
		})
	}
}

func quote(text string) string { return "'" + text + "'" }

// drain returns what is in a channel.
func drain(hosts chan *statichosts.Host) []*statichosts.Host {
	close(hosts)
	return slices.Collect(func(yield func(*statichosts.Host) bool) {
		for h := range hosts {
			if !yield(h) {
				return
			}
		}
	})
}

// together runs what is independent at the same time.
func together(all ...func()) {
	var group sync.WaitGroup
	for _, one := range all {
		group.Go(func() {
			defer GinkgoRecover()
			one()
		})
	}
	group.Wait()
}
