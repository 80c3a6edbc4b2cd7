// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

var _ = Describe("Two replicas of the extension", func() {
	It("should finish what their leader was killed in the middle of", func(ctx SpecContext) {
		s := all[0]
		Expect(createInfrastructure(ctx, s)).To(Succeed())
		whole, err := s.inventory(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(deleteInfrastructure(ctx, s)).To(Succeed())

		alone := s.Seed.Extension.Args
		i := slices.IndexFunc(alone, func(arg string) bool { return strings.HasPrefix(arg, "--heartbeat-namespace=") })
		Expect(i).To(BeNumerically(">=", 0))
		_, namespace, _ := strings.Cut(alone[i], "=")
		ports, err := landscape.FreePorts(2)
		Expect(err).NotTo(HaveOccurred())
		first := s.Seed.Extension
		first.Stop(ctx)
		first.Args = slices.Concat(alone,
			[]string{"--leader-election=true", "--leader-election-namespace=" + namespace, "--disable-webhooks=*"})
		second := &landscape.Process{
			Name: first.Name, Path: first.Path, Env: first.Env, LogFile: filepath.Join(GinkgoT().TempDir(), "second.log"),
			Args: slices.Concat(first.Args,
				[]string{fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", ports[0]), fmt.Sprintf("--health-bind-address=127.0.0.1:%d", ports[1])}),
		}
		DeferCleanup(func(ctx SpecContext) {
			AddReportEntry("second replica", second.Tail(40), ReportEntryVisibilityFailureOrVerbose)
			second.Stop(ctx)
			first.Stop(ctx)
			first.Args = alone
			Expect(first.Start()).To(Succeed())
		})
		// holder is who leads.
		holder := func(ctx context.Context) string {
			GinkgoHelper()
			leases := &coordinationv1.LeaseList{}
			Expect(s.Seed.Client.List(ctx, leases, client.InNamespace(namespace))).To(Succeed())
			for _, lease := range leases.Items {
				if lease.Name != "gardener-extension-heartbeat" && lease.Spec.HolderIdentity != nil {
					return *lease.Spec.HolderIdentity
				}
			}
			return ""
		}
		// leads waits for a new leader.
		leads := func(ctx context.Context, before string) string {
			GinkgoHelper()
			Eventually(holder).WithContext(ctx).WithArguments(ctx).Within(time.Minute).Should(And(Not(BeEmpty()), Not(Equal(before))))
			return holder(ctx)
		}
		// lose kills the leader, for good, after a write of what is done meanwhile.
		lose := func(leader *landscape.Process, write int, do func(context.Context, *stand) error) {
			GinkgoHelper()
			Expect(s.proxy.SetFaults(countproxy.Fault{
				Name: "lose", Client: first.Name, Kind: countproxy.KindWrite, Skip: write - 1, Times: 1, Action: countproxy.ActionCall, After: true,
				Call: func(countproxy.Request) { leader.Kill() },
			})).To(Succeed())
			Expect(do(ctx, s)).To(Succeed())
			Expect(s.proxy.Acted("lose")).To(Equal(1), "the leader was not in the middle")
			Expect(s.proxy.SetFaults()).To(Succeed())
		}

		Expect(first.Start()).To(Succeed())
		leader := leads(ctx, "")
		Expect(second.Start()).To(Succeed())
		lose(first, 3, createInfrastructure)
		Expect(s.inventory(ctx)).To(Equal(whole))
		leader = leads(ctx, leader)

		Expect(first.Start()).To(Succeed())
		lose(second, 2, deleteInfrastructure)
		Expect(s.inventory(ctx)).To(BeEmpty())
		leads(ctx, leader)
	}, SpecTimeout(12*time.Minute))
})
