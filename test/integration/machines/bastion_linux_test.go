// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/crypto/ssh"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// bastionData is the user data that gardenlet writes for a bastion.
const bastionData = `#!/bin/bash -eu

id gardener || useradd gardener -mU
mkdir -p /home/gardener/.ssh
echo "%s" > /home/gardener/.ssh/authorized_keys
chown gardener:gardener /home/gardener/.ssh/authorized_keys
echo "gardener ALL=(ALL) NOPASSWD:ALL" >/etc/sudoers.d/99-gardener-user
systemctl start sshd || systemctl start ssh
`

// onNode runs a script as root on the node of a pool, and returns what it prints.
type onNode func(ctx context.Context, pool, script string) (string, error)

// bastionSpecs need nodes that are ready, which addressOf finds.
func bastionSpecs(addressOf func(ctx context.Context, pool string) (name, address string)) {
	var (
		bastion *extensionsv1alpha1.Bastion
		address string
	)
	ingress := func(from netip.Addr) []extensionsv1alpha1.BastionIngressPolicy {
		return []extensionsv1alpha1.BastionIngressPolicy{{IPBlock: networkingv1.IPBlock{CIDR: netip.PrefixFrom(from, 24).Masked().String()}}}
	}
	// reconcile does what gardenlet does, and waits until the bastion is reconciled.
	reconcile := func(ctx context.Context, change func()) {
		GinkgoHelper()
		before := bastion.DeepCopy()
		since := time.Now()
		change()
		metav1.SetMetaDataAnnotation(&bastion.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
		metav1.SetMetaDataAnnotation(&bastion.ObjectMeta, v1beta1constants.GardenerTimestamp, since.UTC().Format(time.RFC3339Nano))
		Expect(lab.shoot.Seed.Client.Patch(ctx, bastion, client.MergeFrom(before))).To(Succeed())
		Expect(lab.shoot.Reconciled(ctx, bastion, since)).To(Succeed())
	}
	enter := func(ctx context.Context, from netip.Addr) (*ssh.Client, error) {
		return login(ctx, dialFrom(from), address, lab.administrator)
	}
	reach := func(ctx context.Context, from netip.Addr) error {
		machine, err := enter(ctx, from)
		if err != nil {
			return err
		}
		return machine.Close()
	}
	// next signs in at a node through the bastion.
	next := func(ctx context.Context, jump *ssh.Client, pool string) (*ssh.Client, error) {
		_, node := addressOf(ctx, pool)
		return login(ctx, jump.DialContext, node, lab.key)
	}
	// through does that, and returns what a command prints. It has the input.
	through := func(ctx context.Context, jump *ssh.Client, pool, command, input string) (string, error) {
		machine, err := next(ctx, jump, pool)
		if err != nil {
			return "", err
		}
		defer func() { _ = machine.Close() }()
		return run(machine, command, input)
	}
	nodeRules := func(ctx context.Context) []rules.SecGroupRule {
		GinkgoHelper()
		pages, err := rules.List(lab.stack.network, rules.ListOpts{SecGroupID: lab.stack.group, PortRangeMin: 22}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := rules.ExtractRules(pages)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	host := func(ctx context.Context) []string {
		GinkgoHelper()
		ids, err := lab.stack.inspector.ActiveServers(ctx, shootName+"-bastion-")
		Expect(err).NotTo(HaveOccurred())
		return ids
	}

	It("should not be reached by SSH from outside", func(ctx SpecContext) {
		_, node := addressOf(ctx, shoot.Sites[0])
		for _, from := range []netip.Addr{administrator, stranger} {
			_, err := login(ctx, dialFrom(from), node, lab.key)
			Expect(err).To(Satisfy(timedOut), from.String())
		}
	}, SpecTimeout(specTime))

	It("should be reached by SSH through a bastion, from where that may be entered", func(ctx SpecContext) {
		begin := time.Now()
		bastion = &extensionsv1alpha1.Bastion{
			ObjectMeta: metav1.ObjectMeta{Name: "cli", Namespace: shootName, Annotations: map[string]string{
				v1beta1constants.GardenerOperation: v1beta1constants.GardenerOperationReconcile,
				v1beta1constants.GardenerTimestamp: begin.UTC().Format(time.RFC3339Nano),
			}},
			Spec: extensionsv1alpha1.BastionSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: "hybrid"},
				UserData: fmt.Appendf(nil, bastionData, ssh.MarshalAuthorizedKey(lab.administrator.PublicKey())), Ingress: ingress(administrator)},
		}
		Expect(lab.shoot.Create(ctx, bastion)).To(Succeed())
		address = bastion.Status.Ingress.IP
		AddReportEntry("reconciled", fmt.Sprintf("%s after %.0f s", address, time.Since(begin).Seconds()))
		Eventually(ctx, reach, joinTime, time.Second).WithArguments(administrator).Should(Succeed())
		AddReportEntry("entered", fmt.Sprintf("%.0f s after the Bastion", time.Since(begin).Seconds()))
		Expect(reach(ctx, stranger)).To(Satisfy(timedOut))

		jump, err := enter(ctx, administrator)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = jump.Close() }()
		Expect(run(jump, "hostname; sudo id -un", "")).To(Equal(shootName + "-bastion-cli\nroot"))
		for _, site := range sites {
			name, node := addressOf(ctx, site)
			out, err := through(ctx, jump, site, "hostname; echo $SSH_CONNECTION", "")
			Expect(err).NotTo(HaveOccurred(), site)
			AddReportEntry("through the bastion", site+": "+out)
			Expect(out).To(MatchRegexp(`^%s\n\S+ \d+ %s 22$`, name, node))
		}
	}, SpecTimeout(specTime))

	at := func(ctx context.Context, pool, script string) (string, error) {
		jump, err := enter(ctx, administrator)
		if err != nil {
			return "", err
		}
		defer func() { _ = jump.Close() }()
		return through(ctx, jump, pool, "sudo bash -e", script)
	}

	matrixSpecs(addressOf, at)

	Context("with load balancers", func() { balancerSpecs(addressOf) })

	Context("with local volumes", func() { localVolumeSpecs(at) })
	Context("with volumes", func() {
		volumeSpecs()
		conformanceSpecs(addressOf)
	})
	Context("with faults", func() { faultSpecs(at) })
	Context("without cables", func() { cutSpecs() })

	It("should not be reached through the bastion without the rule for it", func(ctx SpecContext) {
		jump, err := enter(ctx, administrator)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = jump.Close() }()
		for _, rule := range nodeRules(ctx) {
			Expect(rules.Delete(ctx, lab.stack.network, rule.ID).ExtractErr()).To(Succeed())
		}
		Eventually(ctx, func(ctx context.Context) error {
			_, err := through(ctx, jump, shoot.Sites[0], "true", "")
			return err
		}, flowTime, time.Second).WithContext(ctx).ShouldNot(Succeed())
		for _, site := range sites {
			if site == shoot.Sites[0] {
				continue
			}
			_, err := through(ctx, jump, site, "true", "")
			Expect(err).NotTo(HaveOccurred(), site)
		}
		reconcile(ctx, func() {})
		Eventually(ctx, through, flowTime, time.Second).WithContext(ctx).WithArguments(jump, shoot.Sites[0], "hostname", "").
			ShouldNot(BeEmpty())
	}, SpecTimeout(specTime))

	It("should be reached from another range at once, without another bastion", func(ctx SpecContext) {
		before := host(ctx)
		Expect(before).To(HaveLen(1))
		begin := time.Now()
		reconcile(ctx, func() { bastion.Spec.Ingress = ingress(stranger) })
		Eventually(ctx, reach, flowTime, time.Second).WithContext(ctx).WithArguments(stranger).Should(Succeed())
		Eventually(ctx, reach, flowTime, time.Second).WithContext(ctx).WithArguments(administrator).
			Should(Satisfy(timedOut))
		AddReportEntry("changed", fmt.Sprintf("%.0f s after the ingress", time.Since(begin).Seconds()))
		Expect(host(ctx)).To(Equal(before))
		Expect(bastion.Status.Ingress.IP).To(Equal(address))
	}, SpecTimeout(specTime))

	It("should be closed again when the bastion is deleted", func(ctx SpecContext) {
		Expect(lab.shoot.Delete(ctx, bastion)).To(Succeed())
		for _, from := range []netip.Addr{administrator, stranger} {
			Expect(reach(ctx, from)).NotTo(Succeed())
		}
		Expect(nodeRules(ctx)).To(BeEmpty())
		Expect(host(ctx)).To(BeEmpty())
		Expect(lab.stack.servers.All()).To(HaveLen(2))
	}, SpecTimeout(specTime))
}
