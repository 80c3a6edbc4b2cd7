// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichost_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/host"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/ssh"
)

const (
	inventory = "hosts"
	operator  = "static-host-operator"
	script    = "#!/bin/sh\necho token\n"
)

var (
	ctx   = context.Background()
	key   = client.ObjectKey{Namespace: inventory, Name: "rack-07"}
	shoot = owner.Owner{Shoot: "shoot--a--b", Site: "own"}
)

// world is a host, its StaticHost, and an operator.
type world struct {
	client     client.Client
	host       *fakeHost
	reconciler *statichost.Reconciler
	recorder   *events.FakeRecorder
	// kill is called before and after each write.
	kill func() error
}

func newWorld(change ...func(*v1alpha1.StaticHost)) *world {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))).To(Succeed())
	w := &world{host: newFakeHost(), recorder: events.NewFakeRecorder(1000), kill: func() error { return nil }}
	static := &v1alpha1.StaticHost{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 1},
		Spec: v1alpha1.StaticHostSpec{Address: "10.1.2.7", Port: 22, User: "admin", SSHSecretRef: v1alpha1.LocalReference{Name: "rack"},
			HostKeys: []string{"ssh-ed25519 AAAA"}, Reset: v1alpha1.Reset{Empty: []string{"/var/lib/x"}, Hook: "hook"}}}
	for _, c := range change {
		c(static)
	}
	around := func(do func() error) error {
		if err := w.kill(); err != nil {
			return err
		}
		if err := do(); err != nil {
			return err
		}
		return w.kill()
	}
	w.client = fakeclient.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(static).WithObjects(static,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator, Name: "rack"}, Data: map[string][]byte{
			v1alpha1.KeyPrivateKey: []byte("private"), v1alpha1.KeySudoPassword: []byte("password\n")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inventory, Name: "m1", Labels: shoot.MachineLabels("m1")},
			Data: map[string][]byte{v1alpha1.KeyUserData: []byte(script)}},
	).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return around(func() error { return c.Patch(ctx, o, patch, options...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, o client.Object,
			options ...client.SubResourceUpdateOption,
		) error {
			return around(func() error { return c.SubResource(name).Update(ctx, o, options...) })
		},
	}).Build()
	w.start()
	return w
}

// start starts an operator that knows nothing of an earlier one.
func (w *world) start() {
	w.reconciler = statichost.NewReconciler(w.client, w.client, w.recorder, w.host.connect, statichost.Options{
		SecretNamespace: operator, MaxConcurrentHosts: 2, RefreshInterval: time.Hour, MinBackOff: time.Second, MaxBackOff: time.Minute,
	})
}

func (w *world) reconcile() (time.Duration, error) {
	result, err := w.reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: key})
	return result.RequeueAfter, err
}

func (w *world) get() *v1alpha1.StaticHost {
	GinkgoHelper()
	static := &v1alpha1.StaticHost{}
	Expect(w.client.Get(ctx, key, static)).To(Succeed())
	return static
}

// run reconciles until nothing changes, as often as a host has steps.
func (w *world) run() *v1alpha1.StaticHost {
	GinkgoHelper()
	for range 12 {
		_, err := w.reconcile()
		Expect(err).NotTo(HaveOccurred())
	}
	return w.get()
}

// edit changes the spec, as others do.
func (w *world) edit(change func(*v1alpha1.StaticHost)) {
	GinkgoHelper()
	static := w.get()
	change(static)
	static.Generation++
	kill := w.kill
	w.kill = func() error { return nil }
	Expect(w.client.Update(ctx, static)).To(Succeed())
	w.kill = kill
}

func claim(static *v1alpha1.StaticHost) {
	reference := shoot.Reference("m1")
	static.Spec.ConsumerRef, static.Spec.UserDataSecretRef, static.Spec.NodeName = &reference, &v1alpha1.LocalReference{Name: "m1"}, "node-1"
}

func release(static *v1alpha1.StaticHost) {
	static.Spec.UserDataSecretRef, static.Spec.NodeName = nil, ""
}

func condition(static *v1alpha1.StaticHost, kind string) metav1.Condition {
	GinkgoHelper()
	found := meta.FindStatusCondition(static.Status.Conditions, kind)
	Expect(found).NotTo(BeNil(), kind)
	return *found
}

func be(status metav1.ConditionStatus, reason string) OmegaMatcher {
	return And(HaveField("Status", status), HaveField("Reason", reason), HaveField("Message", Not(BeEmpty())))
}

var _ = Describe("Reconciler", func() {
	It("should make a host a machine, and a host again", func() {
		w := newWorld()
		static := w.run()
		Expect(static.Finalizers).To(ConsistOf(v1alpha1.Finalizer))
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
		Expect(static.Status.Facts).To(HaveField("CPUs", int64(4)))
		Expect(static.Status.LastContact).NotTo(BeNil())
		Expect(w.host.target).To(Equal(ssh.Target{Address: "10.1.2.7", Port: 22, User: "admin", PrivateKey: []byte("private"),
			HostKeys: []string{"ssh-ed25519 AAAA"}}))
		Expect(w.host.password).To(Equal("password"))
		Expect(w.host.calls).To(BeEmpty())

		w.edit(claim)
		static = w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseProvisioned))
		Expect(condition(static, v1alpha1.ConditionProvisioned)).To(be(metav1.ConditionTrue, "Provisioned"))
		Expect(condition(static, v1alpha1.ConditionClean)).To(be(metav1.ConditionFalse, "InUse"))
		Expect(static.Status.Provisioned).To(And(HaveField("Machine", "m1"), HaveField("Shoot", shoot.Shoot),
			HaveField("BaselineHash", baselineHash), HaveField("BootID", "boot-0"), HaveField("MachineID", w.host.facts.MachineID)))
		Expect(w.host.runs).To(Equal([]string{script}))
		Expect(w.host.calls).To(Equal([]string{"baseline", "provision node-1"}))

		w.edit(release)
		static = w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseReleasing), "it has not rebooted")
		w.host.reboot()
		static = w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
		Expect(static.Status.Provisioned).To(BeNil())
		Expect(condition(static, v1alpha1.ConditionClean)).To(be(metav1.ConditionTrue, "Clean"))
		Expect(w.host.calls).To(Equal([]string{"baseline", "provision node-1", "release [/var/lib/x] hook", "proof", "forget"}))
		Expect(w.host.runs).To(HaveLen(1))
	})

	It("should do each thing once, wherever it is killed", func() {
		kills := 0
		for n := 1; ; n++ {
			w, left, killed := newWorld(), n, false
			kill := func() error {
				if left--; left == 0 {
					killed = true
					return errKilled
				}
				return nil
			}
			w.kill, w.host.kill = kill, kill
			until := func(phase v1alpha1.Phase, step func()) {
				GinkgoHelper()
				for range 30 {
					if _, err := w.reconcile(); errors.Is(err, errKilled) {
						w.start()
					} else {
						Expect(err).NotTo(HaveOccurred())
					}
					step()
					if static := w.get(); static.Status.Phase == phase {
						return
					}
				}
				Fail(fmt.Sprintf("kill %d: never %s: %+v", n, phase, w.get().Status))
			}
			nothing := func() {}
			until(v1alpha1.PhaseAvailable, nothing)
			w.edit(claim)
			until(v1alpha1.PhaseProvisioned, nothing)
			w.edit(release)
			until(v1alpha1.PhaseReleasing, nothing)
			until(v1alpha1.PhaseAvailable, func() {
				if w.host.releaseDone == w.host.bootID() {
					w.host.reboot()
				}
			})
			Expect(w.host.runs).To(HaveLen(1), "kill %d", n)
			releases := slices.DeleteFunc(slices.Clone(w.host.calls), func(call string) bool { return !strings.HasPrefix(call, "release") })
			Expect(releases).To(HaveLen(1), "kill %d", n)
			Expect(w.host.hasBaseline).To(BeFalse(), "kill %d", n)
			Expect(w.get().Status.Provisioned).To(BeNil(), "kill %d", n)
			if !killed {
				break
			}
			kills++
		}
		Expect(kills).To(BeNumerically(">", 20))
	})

	DescribeTable("should say why it cannot work on a host, and take it from the available ones",
		func(err error, reason string) {
			w := newWorld()
			w.run()
			w.host.connectErr = err
			w.edit(claim)
			wait, reconcileErr := w.reconcile()
			Expect(reconcileErr).NotTo(HaveOccurred())
			Expect(wait).To(BeNumerically(">", 0))
			static := w.get()
			Expect(static.Status.Phase).To(Equal(v1alpha1.PhasePending))
			Expect(condition(static, v1alpha1.ConditionReachable)).To(be(metav1.ConditionFalse, reason))
			Expect(w.host.calls).To(BeEmpty())
			again, _ := w.reconcile()
			Expect(again).To(BeNumerically(">", wait), "it backs off")

			w.host.connectErr = nil
			Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseProvisioned))
		},
		Entry("another key", ssh.ErrHostKey, "HostKeyMismatch"),
		Entry("the user", ssh.ErrAuthentication, "AuthenticationFailed"),
		Entry("sudo", host.ErrSudo, "SudoFailed"),
		Entry("an invalid key", fmt.Errorf("%w: some", ssh.ErrConfiguration), "InvalidConfiguration"),
		Entry("no answer", fmt.Errorf("connecting: %w", context.DeadlineExceeded), "TimedOut"),
		Entry("nobody there", &net.OpError{Op: "dial", Err: errors.New("refused")}, "ConnectionFailed"),
		Entry("a cut", fmt.Errorf("%w during a command", ssh.ErrConnection), "ConnectionFailed"),
		Entry("nonsense", fmt.Errorf("%w: cpus", host.ErrAnswer), "InvalidAnswer"),
		Entry("too much", ssh.ErrAnswer, "InvalidAnswer"),
	)

	It("should wait for the Secret with the key", func() {
		w := newWorld(func(static *v1alpha1.StaticHost) { static.Spec.SSHSecretRef.Name = "other" })
		Expect(condition(w.run(), v1alpha1.ConditionReachable)).To(be(metav1.ConditionFalse, "SecretMissing"))
	})

	DescribeTable("should not offer a host that is not suitable",
		func(change func(*fakeHost), reason string) {
			w := newWorld(claim)
			change(w.host)
			static := w.run()
			Expect(static.Status.Phase).To(Equal(v1alpha1.PhasePending))
			Expect(condition(static, v1alpha1.ConditionSuitable)).To(be(metav1.ConditionFalse, reason))
			Expect(w.host.calls).To(BeEmpty())
		},
		Entry("without systemd", func(h *fakeHost) { h.facts.Systemd = "" }, "NoSystemd"),
		Entry("with old control groups", func(h *fakeHost) { h.facts.Cgroup = "v1" }, "NoCgroupV2"),
		Entry("without containerd", func(h *fakeHost) { h.facts.Containerd = "" }, "NoContainerd"),
		Entry("without tools", func(h *fakeHost) { h.missing = []string{"tar"} }, "MissingTools"),
		Entry("of another architecture", func(h *fakeHost) { h.facts.Architecture = "riscv64" }, "UnknownArchitecture"),
	)

	It("should not offer a host with what another machine left, until somebody wants it released", func() {
		w := newWorld()
		w.host.hasBaseline, w.host.claim = true, "other"
		static := w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseDirty))
		Expect(condition(static, v1alpha1.ConditionClean)).To(be(metav1.ConditionFalse, "Leftovers"))
		Expect(w.host.calls).To(BeEmpty())

		w.edit(func(static *v1alpha1.StaticHost) {
			static.Annotations = map[string]string{v1alpha1.AnnotationRetry: ""}
		})
		Expect(w.run().Annotations).To(BeEmpty())
		w.host.reboot()
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
		Expect(w.host.calls).To(Equal([]string{"release [/var/lib/x] hook", "proof", "forget"}))
	})

	DescribeTable("should not run user data",
		func(change func(*corev1.Secret), reason string) {
			w := newWorld(claim)
			secret := &corev1.Secret{}
			Expect(w.client.Get(ctx, client.ObjectKey{Namespace: inventory, Name: "m1"}, secret)).To(Succeed())
			change(secret)
			Expect(w.client.Update(ctx, secret)).To(Succeed())
			static := w.run()
			Expect(condition(static, v1alpha1.ConditionProvisioned)).To(be(metav1.ConditionFalse, reason))
			Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
			Expect(w.host.calls).To(BeEmpty())
		},
		Entry("of another machine", func(s *corev1.Secret) { s.Labels[owner.LabelMachine] = "m2" }, "UserDataForeign"),
		Entry("of another shoot", func(s *corev1.Secret) { s.Labels[owner.LabelShoot] = "shoot--c--d" }, "UserDataForeign"),
		Entry("that is no script", func(s *corev1.Secret) { s.Data[v1alpha1.KeyUserData] = []byte("#cloud-config") }, "UserDataNoScript"),
		Entry("that is not there", func(s *corev1.Secret) { s.Data = nil }, "UserDataNoScript"),
	)

	It("should not run user data that was changed", func() {
		w := newWorld(claim)
		for len(w.host.calls) == 0 {
			_, err := w.reconcile()
			Expect(err).NotTo(HaveOccurred())
		}
		secret := &corev1.Secret{}
		Expect(w.client.Get(ctx, client.ObjectKey{Namespace: inventory, Name: "m1"}, secret)).To(Succeed())
		secret.Data[v1alpha1.KeyUserData] = []byte(script + "more")
		Expect(w.client.Update(ctx, secret)).To(Succeed())
		Expect(condition(w.run(), v1alpha1.ConditionProvisioned)).To(be(metav1.ConditionFalse, "UserDataChanged"))
		Expect(w.host.runs).To(BeEmpty())

		w.edit(release)
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseReleasing))
		w.host.reboot()
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
	})

	It("should say that user data failed", func() {
		w := newWorld(claim)
		w.host.exitCode = 3
		static := w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseProvisioning))
		Expect(condition(static, v1alpha1.ConditionProvisioned)).To(And(be(metav1.ConditionFalse, "UserDataFailed"),
			HaveField("Message", ContainSubstring("exit code 3"))))
		Expect(w.host.runs).To(HaveLen(1))
	})

	It("should release a host at once on which no user data can have run", func() {
		w := newWorld(claim)
		w.host.baselineFailing = true
		static := w.run()
		Expect(condition(static, v1alpha1.ConditionProvisioned)).To(be(metav1.ConditionFalse, "BaselineFailed"))
		w.edit(release)
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
		Expect(w.host.calls).NotTo(ContainElement(HavePrefix("release")))
	})

	DescribeTable("should leave a host dirty until somebody wants another release",
		func(fail func(*fakeHost), repair func(*fakeHost), reason, message string) {
			w := newWorld(claim)
			Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseProvisioned))
			fail(w.host)
			w.edit(release)
			w.run()
			w.host.reboot()
			static := w.run()
			Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseDirty))
			Expect(condition(static, v1alpha1.ConditionClean)).To(And(be(metav1.ConditionFalse, reason),
				HaveField("Message", ContainSubstring(message))))
			calls := len(w.host.calls)
			Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseDirty))
			Expect(w.host.calls).To(HaveLen(calls))

			repair(w.host)
			w.edit(func(static *v1alpha1.StaticHost) {
				static.Annotations = map[string]string{v1alpha1.AnnotationRetry: ""}
			})
			w.run()
			w.host.reboot()
			Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
		},
		Entry("after a proof that failed", func(h *fakeHost) { h.failProof = "etc/passwd" }, func(h *fakeHost) { h.failProof = "" },
			"FilesFailed", `"etc/passwd"`),
	)

	It("should leave a host dirty whose release failed", func() {
		w := newWorld(claim)
		w.run()
		w.host.failRelease = "Hook"
		w.edit(release)
		static := w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseDirty))
		Expect(condition(static, v1alpha1.ConditionClean)).To(be(metav1.ConditionFalse, "HookFailed"))
	})

	It("should release again if a reboot interrupts it", func() {
		w := newWorld(claim)
		w.run()
		w.host.kill = func() error { return nil }
		w.edit(release)
		for w.get().Status.Provisioned.BootID == "" || w.get().Status.Phase != v1alpha1.PhaseReleasing {
			_, err := w.reconcile()
			Expect(err).NotTo(HaveOccurred())
		}
		w.host.releaseDone = ""
		w.host.reboot()
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseReleasing))
		Expect(w.host.calls).NotTo(ContainElement("proof"))
		w.host.reboot()
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
	})

	It("should not take the word of a host that it was released before", func() {
		w := newWorld(claim)
		w.run()
		w.host.releaseDone = "boot-forged"
		w.edit(release)
		w.run()
		Expect(w.host.calls).To(ContainElement(HavePrefix("release")))
		Expect(w.host.calls).NotTo(ContainElement("proof"))
	})

	It("should not touch another host that has the address", func() {
		w := newWorld(claim)
		w.run()
		w.host.facts.MachineID = "other"
		w.edit(release)
		static := w.run()
		Expect(static.Status.Phase).To(Equal(v1alpha1.PhaseReleasing))
		Expect(condition(static, v1alpha1.ConditionReachable)).To(be(metav1.ConditionFalse, "IdentityChanged"))
		Expect(w.host.calls).NotTo(ContainElement(HavePrefix("release")))
	})

	It("should not connect to a host in maintenance", func() {
		w := newWorld(func(static *v1alpha1.StaticHost) { static.Spec.Maintenance = true })
		w.host.connectErr = errors.New("connected")
		Expect(condition(w.run(), v1alpha1.ConditionReachable)).To(be(metav1.ConditionUnknown, "Maintenance"))
	})

	It("should keep a StaticHost until its host was released", func() {
		w := newWorld(claim)
		w.run()
		Expect(w.client.Delete(ctx, w.get())).To(Succeed())
		Expect(w.run().Status.Phase).To(Equal(v1alpha1.PhaseProvisioned))
		w.edit(release)
		w.run()
		w.host.reboot()
		for range 12 {
			_, err := w.reconcile()
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(apierrors.IsNotFound(w.client.Get(ctx, key, &v1alpha1.StaticHost{}))).To(BeTrue())
		Expect(w.host.hasBaseline).To(BeFalse())
	})

	It("should let a StaticHost go whose host is dirty", func() {
		w := newWorld()
		w.host.hasBaseline = true
		w.run()
		Expect(w.client.Delete(ctx, w.get())).To(Succeed())
		_, err := w.reconcile()
		Expect(err).NotTo(HaveOccurred())
		Expect(apierrors.IsNotFound(w.client.Get(ctx, key, &v1alpha1.StaticHost{}))).To(BeTrue())
	})

	It("should say nothing of what is secret", func() {
		w := newWorld(claim)
		w.run()
		w.host.connectErr = ssh.ErrAuthentication
		w.edit(release)
		text := fmt.Sprintf("%+v", w.run())
		close(w.recorder.Events)
		for event := range w.recorder.Events {
			text += event
		}
		Expect(text).To(ContainSubstring("AuthenticationFailed"))
		for _, secret := range []string{"private", "password", "echo token"} {
			Expect(text).NotTo(ContainSubstring(secret + "\n"))
			Expect(text).NotTo(ContainSubstring("=" + secret))
		}
	})

	It("should ask a host again only after a while", func() {
		w := newWorld()
		wait, err := w.reconcile()
		Expect(err).NotTo(HaveOccurred())
		Expect(wait).To(BeNumerically("~", 66*time.Minute, 7*time.Minute))
		w.host.connectErr = ssh.ErrHostKey
		wait, err = w.reconcile()
		Expect(err).NotTo(HaveOccurred())
		Expect(wait).To(BeNumerically("~", time.Hour, time.Minute))
		Expect(w.get().Status.Phase).To(Equal(v1alpha1.PhaseAvailable))
	})

	It("should let hosts that do not answer wait for each other alone", func() {
		w := newWorld()
		w.host.connectErr = ssh.ErrConnection
		w.run()
		entered, leave := make(chan struct{}), make(chan struct{})
		hanging := statichost.NewReconciler(w.client, w.client, w.recorder,
			func(context.Context, ssh.Target, string) (statichost.Host, error) {
				entered <- struct{}{}
				<-leave
				return nil, ssh.ErrConnection
			}, statichost.Options{SecretNamespace: operator, MaxConcurrentHosts: 2, RefreshInterval: time.Hour, MinBackOff: time.Second,
				MaxBackOff: time.Minute})
		done := make(chan error)
		go func() {
			_, err := hanging.Reconcile(ctx, reconcile.Request{NamespacedName: key})
			done <- err
		}()
		<-entered
		result, err := hanging.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		Expect(err).NotTo(HaveOccurred())
		Expect(result.RequeueAfter).To(BeNumerically("<=", 2*time.Second))
		close(leave)
		Expect(<-done).To(Or(Succeed(), MatchError(ContainSubstring("conflict"))))
	})
})
