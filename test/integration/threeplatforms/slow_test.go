// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package threeplatforms_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func slowSpecs() {
	// The hosts take longer than machine-controller-manager would wait by default, and much less than the sites say: the proportions
	// are those of a host that needs 40 minutes where the default is 20 and the site says 60.
	suite.NightlyIt("should wait for slow hosts as long as the site says, and call it no failure", func(ctx SpecContext) {
		const pause = creationTimeout + 20*time.Second
		before := specs.Identities(ctx, mixed(), "")
		inventory.Metal3.Pause()
		DeferCleanup(inventory.Metal3.Resume)

		size := scale(ctx, rack, 1)
		slow := newest(ctx, rack, before)
		since := time.Now()
		changed, err := local.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
		Expect(err).NotTo(HaveOccurred())
		specs.ExpectRunning(ctx, mixed(), cloud, scale(ctx, cloud, 1), inTime)
		Consistently(func(g Gomega) {
			g.Expect(failedMachines(ctx)).To(BeEmpty())
			last := worker(ctx).Status
			g.Expect(last.LastError).To(BeNil())
			g.Expect(last.LastOperation.State).NotTo(Equal(gardencorev1beta1.LastOperationStateError))
			g.Expect(mixed().Machines(ctx, rack)).To(ContainElement(HaveField("Name", slow.Name)), "it is not replaced")
		}).WithContext(ctx).WithTimeout(time.Until(since.Add(pause))).WithPolling(time.Second).Should(Succeed())
		token := bootstrapToken(ctx, slow.Name)
		Expect(token).To(BeTemporally(">", slow.CreationTimestamp.Add(55*time.Minute)))

		inventory.Metal3.Resume()
		specs.ExpectRunning(ctx, mixed(), rack, size, inTime)
		took := time.Since(slow.CreationTimestamp.Time)
		Expect(specs.Identities(ctx, mixed(), rack)).To(HaveKey(slow.Name))
		Expect(local.Reconciled(ctx, changed, since)).To(Succeed())
		AddReportEntry("slow host",
			fmt.Sprintf("joined after %.0f s, machine-controller-manager's default is %.0f s, the site's time 60 min; "+
				"the bootstrap token was valid until %.0f min after the creation",
				took.Seconds(), creationTimeout.Seconds(), token.Sub(slow.CreationTimestamp.Time).Minutes()), ReportEntryVisibilityAlways)

		for _, zone := range []string{cloud, rack} {
			specs.ExpectRunning(ctx, mixed(), zone, scale(ctx, zone, -1), inTime)
		}
	}, SpecTimeout(12*time.Minute))
}

func cleaningSpecs() {
	It("should call hosts that are cleaned no failure of the Worker", func(ctx SpecContext) {
		before := specs.Identities(ctx, mixed(), rack)
		size := scale(ctx, rack, 1)
		leaving := newest(ctx, rack, before)
		specs.ExpectRunning(ctx, mixed(), rack, size, inTime)
		inventory.Metal3.Pause()
		DeferCleanup(inventory.Metal3.Resume)
		Expect(newScaler().Remove(ctx, leaving.Name)).To(Succeed())
		Eventually(failedMachines).WithContext(ctx).Within(time.Minute).Should(ConsistOf(HavePrefix(leaving.Name)),
			"machine-controller-manager knows no other word")

		since := time.Now()
		changed, err := local.ChangeWorker(ctx, func(*extensionsv1alpha1.Worker) {})
		Expect(err).NotTo(HaveOccurred())
		Expect(local.Reconciled(ctx, changed, since)).To(Succeed())
		Expect(changed.Status.LastError).To(BeNil())
		Expect(specs.Identities(ctx, mixed(), rack)).To(HaveKey(leaving.Name))
		Expect(consumers(ctx)).To(ContainElement(local.Name+"/"+leaving.Name), "the host is not free before it is clean")

		inventory.Metal3.Resume()
		specs.ExpectRunning(ctx, mixed(), rack, size-1, inTime)
		Expect(specs.Identities(ctx, mixed(), rack)).To(Equal(before))
	}, SpecTimeout(8*time.Minute))
}

// bootstrapToken is until when the token is valid with which a machine joins.
func bootstrapToken(ctx context.Context, machine string) time.Time {
	GinkgoHelper()
	secrets := &corev1.SecretList{}
	Expect(local.Seed.Client.List(ctx, secrets, client.InNamespace("kube-system"))).To(Succeed())
	i := slices.IndexFunc(secrets.Items,
		func(s corev1.Secret) bool { return strings.Contains(string(s.Data["description"]), `"`+machine+`"`) })
	Expect(i).To(BeNumerically(">=", 0), "machine %s has no bootstrap token", machine)
	expiration, err := time.Parse(time.RFC3339, string(secrets.Items[i].Data["expiration"]))
	Expect(err).NotTo(HaveOccurred())
	return expiration
}
