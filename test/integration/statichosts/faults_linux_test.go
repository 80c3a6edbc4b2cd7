// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package statichosts_test

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/statichosts"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

const small = "#!/bin/sh\necho TOKEN >/opt/token\nmkdir -p /var/lib/kubelet\nsystemd-run --quiet --unit left sleep infinity\n"

var _ = Describe("Faults", func() {
	It("should leave hosts alone that are not those of the StaticHost, and go on with those that are", func(ctx SpecContext) {
		hosts := make(chan *statichosts.Host, 16)
		together(
			func() { // the keys were pinned wrongly
				h, other := install(ctx), install(ctx)
				files := snapshot(h)
				register(ctx, h, func(s *v1alpha1.StaticHost, _ *corev1.Secret) { s.Spec.HostKeys = other.HostKeys })
				eventually(ctx, h).Should(And(beIn(v1alpha1.PhasePending), say(v1alpha1.ConditionReachable, "HostKeyMismatch")))
				Expect(at(ctx, h, "journalctl -u ssh --no-pager | grep -c 'Accepted' || true")).To(Equal("0"))
				Expect(differences(files, snapshot(h))).To(BeEmpty())
				hosts <- h
			},
			func() { // the keys are replaced while the host is a machine
				h := available(ctx, nil)
				m := newMachine(h, small)
				m.run(ctx)
				old := h.HostKey
				Expect(h.SetHostKey(ctx, nil)).To(Succeed())
				eventually(ctx, h).Should(And(beIn(v1alpha1.PhaseProvisioned), say(v1alpha1.ConditionReachable, "HostKeyMismatch")))
				m.expectDeletion(ctx, ContainSubstring("HostKeyMismatch"))
				Expect(at(ctx, h, "systemctl is-active left")).To(Equal("active"))
				Expect(h.SetHostKey(ctx, old)).To(Succeed())
				m.delete(ctx)
				hosts <- h
			},
			func() { // another host gets the address, and then even the host key
				h := available(ctx, nil)
				other := install(ctx, h.PrivateKey)
				files := snapshot(other)
				m := newMachine(h, small)
				m.run(ctx)
				address, own := h.Address, other.HostKey
				h.CutPower()
				Expect(other.SetAddress(ctx, address)).To(Succeed())
				eventually(ctx, h).Should(say(v1alpha1.ConditionReachable, "HostKeyMismatch"))
				m.expectDeletion(ctx, ContainSubstring("HostKeyMismatch"))
				Expect(other.SetHostKey(ctx, h.HostKey)).To(Succeed())
				eventually(ctx, h).Should(say(v1alpha1.ConditionReachable, "IdentityChanged"))
				m.expectDeletion(ctx, ContainSubstring("IdentityChanged"))
				Expect(at(ctx, other, "ls /run/static-host /var/lib/static-host 2>&1 || true")).NotTo(ContainSubstring("script"))
				Expect(other.SetHostKey(ctx, own)).To(Succeed())
				Expect(differences(files, snapshot(other))).To(HaveEach(MatchRegexp(`ssh_host|/etc/ssh |10-host0.network`)))
				Expect(other.SetAddress(ctx, room.Network.Prefix.Addr().Next().Next())).To(Succeed())
				Expect(h.PowerOn(ctx)).To(Succeed())
				m.delete(ctx)
				hosts <- h
			},
			func() { // two drivers want one host
				h := available(ctx, nil)
				one, two := newMachine(h, small), newMachine(h, small)
				errs := make(chan error, 2)
				for _, m := range []*machine{one, two} {
					go func() {
						created, err := m.driver.Create(ctx, m.request)
						m.request.ProviderID = created.ProviderID
						errs <- err
					}()
				}
				first, second := <-errs, <-errs
				Expect([]error{first, second}).To(ConsistOf(BeNil(), HaveOccurred()))
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseProvisioned))
				Expect(at(ctx, h, "cat /opt/token")).To(BeElementOf(one.token, two.token))
				one.delete(ctx)
				two.delete(ctx)
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
				hosts <- h
			},
		)
		expectNoSecret(ctx, drain(hosts)...)
	}, NodeTimeout(3*cycle))

	It("should say what a host lacks, and use it once it has that", func(ctx SpecContext) {
		hosts := make(chan *statichosts.Host, 16)
		together(
			func() { // sudo
				h, password := install(ctx), rand.String(20)
				secrets.Store(password, "password of sudo of "+h.Name)
				Expect(h.AddUser(ctx, "admin", password)).To(Succeed())
				files := snapshot(h)
				register(ctx, h, func(s *v1alpha1.StaticHost, secret *corev1.Secret) {
					s.Spec.User = "admin"
					secret.Data[v1alpha1.KeySudoPassword] = []byte("wrong-" + password)
				})
				eventually(ctx, h).Should(say(v1alpha1.ConditionReachable, "SudoFailed"))
				secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metal.OperatorNamespace, Name: h.Name}}
				Expect(inventory.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)).To(Succeed())
				secret.Data[v1alpha1.KeySudoPassword] = []byte(password)
				Expect(inventory.Client.Update(ctx, secret)).To(Succeed())
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
				m := newMachine(h, small)
				m.run(ctx)
				m.delete(ctx)
				Expect(differences(files, snapshot(h))).To(BeEmpty())
				hosts <- h
			},
			func() { // the clock
				h := install(ctx)
				Expect(h.SetClock(ctx, time.Hour)).To(Succeed())
				register(ctx, h, nil)
				eventually(ctx, h).Should(And(beIn(v1alpha1.PhasePending), say(v1alpha1.ConditionSuitable, "ClockSkew")))
				Expect(newMachine(h, small).tryCreate(ctx)).To(MatchError(ContainSubstring("unsuitable")))
				Expect(h.SetClock(ctx, 0)).To(Succeed())
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
				hosts <- h
			},
			func() { // the state of a machine that nothing is known about
				h := install(ctx)
				at(ctx, h, "mkdir -p /var/lib/static-host/baseline; sha256sum </dev/null | cut -c-64 >/var/lib/static-host/baseline/claim")
				register(ctx, h, nil)
				eventually(ctx, h).Should(And(beIn(v1alpha1.PhaseDirty), say(v1alpha1.ConditionClean, "Leftovers")))
				Expect(newMachine(h, small).tryCreate(ctx)).To(MatchError(ContainSubstring("dirty")))
				at(ctx, h, "rm -rf /var/lib/static-host")
				retry(ctx, metal.Namespace, h)
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
				hosts <- h
			},
			func() { // systemd does not list its units in time: a release stops and kills what is not known
				h := available(ctx, nil)
				files := snapshot(h)
				at(ctx, h, "mv /usr/bin/systemctl /usr/bin/systemctl.real; printf '%s\\n' '#!/bin/sh' 'case $1 in list-*) exit 1 ;; esac' "+
					"'exec systemctl.real \"$@\"' >/usr/bin/systemctl; chmod 755 /usr/bin/systemctl")
				m := newMachine(h, small)
				m.create(ctx)
				eventually(ctx, h).Should(say(v1alpha1.ConditionProvisioned, "BaselineFailed"))
				Expect(at(ctx, h, "ls /opt")).NotTo(ContainSubstring("token"))
				at(ctx, h, "mv /usr/bin/systemctl.real /usr/bin/systemctl")
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseProvisioned))
				m.delete(ctx)
				Expect(differences(files, snapshot(h))).To(BeEmpty())
				hosts <- h
			},
			func() { // the disk is full before the user data could run, and at the release
				h := available(ctx, nil)
				files := snapshot(h)
				Expect(h.FillDisk(ctx)).To(Succeed())
				m := newMachine(h, small)
				m.create(ctx)
				eventually(ctx, h).Should(say(v1alpha1.ConditionProvisioned, "BaselineFailed"))
				Expect(at(ctx, h, "ls /opt")).NotTo(ContainSubstring("token"))
				Expect(h.EmptyDisk(ctx)).To(Succeed())
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseProvisioned))
				Expect(h.FillDisk(ctx)).To(Succeed())
				Eventually(ctx, func() (string, error) {
					err := m.driver.Delete(ctx, m.request)
					state, stateErr := stateOf(ctx, metal.Namespace, h)
					if err == nil {
						return "released", stateErr
					}
					return state, stateErr
				}, cycle, poll).Should(Or(beIn(v1alpha1.PhaseDirty), Equal("released")))
				Expect(h.EmptyDisk(ctx)).To(Succeed())
				retry(ctx, metal.Namespace, h)
				m.delete(ctx)
				Expect(differences(files, snapshot(h))).To(BeEmpty())
				hosts <- h
			},
		)
		expectNoSecret(ctx, drain(hosts)...)
	}, NodeTimeout(3*cycle))

	suite.NightlyIt("should keep a host whose release hangs, until somebody has mended it", func(ctx SpecContext) {
		const namespace = "slow"
		Expect(inventory.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		startOperator(ctx, namespace, "--release-timeout=30s")
		h := install(ctx)
		Expect(inventory.RegisterHost(ctx, h, namespace, nil, func(s *v1alpha1.StaticHost, _ *corev1.Secret) {
			s.Spec.Reset.Hook = "test -e /var/tmp/mended || sleep infinity"
		})).To(Succeed())
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseAvailable))
		files := snapshot(h)
		claim(ctx, namespace, h, small)
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseProvisioned))
		unclaim(ctx, namespace, h)
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseDirty))
		eventuallyIn(ctx, namespace, h).Should(say(v1alpha1.ConditionClean, "HookFailed"))
		Expect(h.Boots()).To(Equal(1))

		at(ctx, h, "touch /var/tmp/mended")
		retry(ctx, namespace, h)
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseAvailable))
		Expect(differences(files, snapshot(h))).To(BeEmpty())
		expectNoSecret(ctx, h)
	}, NodeTimeout(3*cycle))

	It("should end right if the connection is cut after each command", func(ctx SpecContext) {
		h := install(ctx)
		cutAfterCommands(ctx, h)
		register(ctx, h, nil)
		eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
		files := snapshot(h)
		m := newMachine(h, small+"echo run >>/var/tmp/runs\n")
		m.run(ctx)
		Expect(at(ctx, h, "cat /var/tmp/runs")).To(Equal("run"))
		m.delete(ctx)
		Expect(differences(files, snapshot(h))).To(BeEmpty())
		Expect(strings.Fields(at(ctx, h, "ls /var/tmp/cut"))).To(ConsistOf("facts", "start-baseline", "start-provision", "start-release",
			"start-proof", "forget"))
		expectNoSecret(ctx, h)
	}, NodeTimeout(4*cycle))

	suite.NightlyIt("should end right if connections are cut wherever they are", func(ctx SpecContext) {
		hosts := make(chan *statichosts.Host, 32)
		var cuts []func()
		for _, n := range []int{2, 5, 7, 8, 9, 10} {
			cuts = append(cuts, func() {
				h := install(ctx)
				cable := newCable(h, n)
				register(ctx, h, func(s *v1alpha1.StaticHost, _ *corev1.Secret) {
					s.Spec.Address, s.Spec.Port = "127.0.0.1", int32(cable.port()) // #nosec G115 -- a port
				})
				eventually(ctx, h).Should(beIn(v1alpha1.PhaseAvailable))
				files := snapshot(h)
				cable.loose.Store(true)
				m := newMachine(h, small+"echo run >>/var/tmp/runs\n")
				m.run(ctx)
				Expect(at(ctx, h, "cat /var/tmp/runs")).To(Equal("run"), "cut %d", n)
				m.delete(ctx)
				Expect(differences(files, snapshot(h))).To(BeEmpty(), "cut %d", n)
				Expect(cable.cut.Load()).To(BeNumerically(">", 0), "cut %d", n)
				AddReportEntry(fmt.Sprintf("connections were cut %d times after exchange %d", cable.cut.Load(), cable.n))
				hosts <- h
			})
		}
		together(cuts...)
		expectNoSecret(ctx, drain(hosts)...)
	}, NodeTimeout(4*cycle))

	suite.NightlyIt("should end right if the operator is killed after each of its writes", func(ctx SpecContext) {
		const namespace = "crash"
		Expect(inventory.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		k := newKiller(newOperator(namespace))

		h := install(ctx)
		Expect(inventory.RegisterHost(ctx, h, namespace, nil, nil)).To(Succeed())
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseAvailable))
		files := snapshot(h)
		claim(ctx, namespace, h, small+"echo run >>/var/tmp/runs\n")
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseProvisioned))
		Expect(at(ctx, h, "cat /var/tmp/runs")).To(Equal("run"))
		unclaim(ctx, namespace, h)
		eventuallyIn(ctx, namespace, h).Should(beIn(v1alpha1.PhaseAvailable))
		Expect(differences(files, snapshot(h))).To(BeEmpty())
		Expect(k.stop()).To(BeNumerically(">", 6))
		AddReportEntry(fmt.Sprintf("killed %d times", k.kills))
		expectNoSecret(ctx, h)
	}, NodeTimeout(4*cycle))
})
