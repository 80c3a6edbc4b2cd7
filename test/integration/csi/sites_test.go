// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

// outage is how long a site does not answer.
const outage = 20 * time.Second

var _ = Describe("Sites that do not answer", func() {
	// answer is the answer of the driver for a site.
	answer := func(ctx SpecContext, site string) func() codes.Code {
		controller := csi.NewControllerClient(connect(driver.socket()))
		return func() codes.Code {
			_, err := controller.ListSnapshots(ctx, &csi.ListSnapshotsRequest{Secrets: map[string]string{"cloud": site}})
			return status.Code(err)
		}
	}
	// othersWork shows that a volume of the other site is created and deleted.
	othersWork := func(ctx SpecContext) {
		GinkgoHelper()
		start := time.Now()
		c := clouds[anotherSite].claim(ctx)
		c.bound(ctx, within)
		AddReportEntry("volume of the other site was bound after", time.Since(start).Round(100*time.Millisecond).String())
		c.delete(ctx)
	}

	AfterEach(func(ctx SpecContext) {
		Expect(clouds[cloudSite].proxy.SetFaults()).To(Succeed())
		driver.passwords = map[string]string{}
		driver.writeConfig()
	})

	It("joins when it answers, and the others are served meanwhile", func(ctx SpecContext) {
		Expect(clouds[cloudSite].proxy.TakeDown("keystone")).To(Succeed())
		up := false
		bringUp := func() {
			if !up {
				up = true
				Expect(clouds[cloudSite].proxy.BringUp("keystone")).To(Succeed())
			}
		}
		DeferCleanup(bringUp)
		driver.restart(ctx)

		waiting := clouds[cloudSite].claim(ctx)
		othersWork(ctx)
		Expect(answer(ctx, cloudSite)()).To(Equal(codes.Unavailable))
		Consistently(waiting.phase).WithContext(ctx).WithArguments(ctx).Within(outage).ProbeEvery(time.Second).Should(Equal(corev1.ClaimPending))
		Expect(waiting.warnings(ctx)).To(ContainElement(And(ContainSubstring("Unavailable"), ContainSubstring(`site "cloud"`))))

		start := time.Now()
		bringUp()
		Eventually(answer(ctx, cloudSite)).WithContext(ctx).Within(within).ProbeEvery(quickly).Should(Equal(codes.OK))
		AddReportEntry("driver serves the site after", time.Since(start).Round(100*time.Millisecond).String())
		waiting.bound(ctx, within)
		AddReportEntry("volume is bound after", time.Since(start).Round(100*time.Millisecond).String())
	}, SpecTimeout(12*time.Minute))

	It("may hang without holding others up", func(ctx SpecContext) {
		Expect(clouds[cloudSite].proxy.SetFaults(countproxy.Fault{Name: "hang", Service: "keystone",
			Action: countproxy.ActionHang})).To(Succeed())
		driver.restart(ctx)
		clouds[cloudSite].claim(ctx)
		othersWork(ctx)
		Expect(clouds[cloudSite].proxy.SetFaults()).To(Succeed())
	}, SpecTimeout(12*time.Minute))

	It("may refuse the credentials, and is served with those of a changed file", func(ctx SpecContext) {
		driver.passwords[cloudSite] = "wrong-password"
		driver.writeConfig()
		driver.restart(ctx)
		waiting := clouds[cloudSite].claim(ctx)
		othersWork(ctx)
		Expect(answer(ctx, cloudSite)()).To(Equal(codes.Unavailable))
		Expect(waiting.warnings(ctx)).To(ContainElement(ContainSubstring("401")))

		clouds[anotherSite].proxy.SetLabel("change")
		driver.passwords = map[string]string{}
		start := time.Now()
		driver.writeConfig()
		Eventually(answer(ctx, cloudSite)).WithContext(ctx).Within(within).ProbeEvery(quickly).Should(Equal(codes.OK))
		AddReportEntry("driver serves the site after", time.Since(start).Round(100*time.Millisecond).String())
		waiting.bound(ctx, within)

		othersWork(ctx)
		logs, err := filepath.Glob(filepath.Join(driver.dir, "*.log"))
		Expect(err).NotTo(HaveOccurred())
		Expect(logs).To(HaveLen(len(driver.processes())))
		for _, log := range logs {
			Expect(os.ReadFile(log)).NotTo(ContainSubstring("wrong-password"), log)
		}
		Expect(clouds[anotherSite].proxy.Requests("change")).NotTo(ContainElement(HaveField("Path", HaveSuffix("/auth/tokens"))),
			"the other site kept its session")
	}, SpecTimeout(12*time.Minute))

	It("is not known: the request fails for good", func(ctx SpecContext) {
		Expect(answer(ctx, "nowhere")()).To(Equal(codes.InvalidArgument))
		Expect(answer(ctx, "")()).To(Equal(codes.InvalidArgument))
	})

	It("answers with a proxy's 404: the volume is not taken for deleted", func(ctx SpecContext) {
		c := clouds[cloudSite].claim(ctx)
		id := c.bound(ctx, within).Spec.CSI.VolumeHandle
		// An attachment that fails is undone after six minutes, because no kubelet says that the volume is not mounted.
		Eventually(c.attached).WithContext(ctx).WithArguments(ctx).Within(within).ProbeEvery(quickly).Should(HaveLen(1))
		controller := csi.NewControllerClient(connect(driver.socket()))
		Expect(clouds[cloudSite].proxy.SetFaults(countproxy.Fault{
			Name: "no backend", Service: "cinder", Action: countproxy.ActionStatus, Status: http.StatusNotFound,
			Body: "<html>default backend - 404</html>",
		})).To(Succeed())
		_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: id, Secrets: map[string]string{"cloud": cloudSite}})
		Expect(status.Code(err)).To(Equal(codes.Unavailable), "%v", err)
		Expect(clouds[cloudSite].proxy.SetFaults()).To(Succeed())
		Expect(clouds[cloudSite].ours(ctx)).To(HaveKey(id))
	}, SpecTimeout(8*time.Minute))
})
