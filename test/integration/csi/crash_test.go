// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package csi_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("The driver that is killed after a write", func() {
	// until repeats a request as the sidecars do, which know nothing of the answer that was lost.
	until := func(ctx context.Context, request func(context.Context) error) {
		GinkgoHelper()
		Eventually(request).WithContext(ctx).Within(2 * time.Minute).ProbeEvery(quickly).Should(Succeed())
	}

	It("makes, attaches, copies and removes one volume all the same", func(ctx SpecContext) {
		site := clouds[cloudSite]
		plugin := &landscape.Process{
			Name: "killed-" + driver.plugin.Name, Path: binary, LogFile: filepath.Join(driver.dir, "killed-plugin"),
			Args: []string{
				"--endpoint=unix://" + filepath.Join(driver.dir, "killed.sock"), "--cloud-config=" + driver.config(), "--cluster=" + clusterID,
				"--provide-node-service=false", "--http-endpoint=127.0.0.1:0",
			},
		}
		Expect(plugin.Start()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { plugin.Stop(ctx) })
		controller := csi.NewControllerClient(connect(filepath.Join(driver.dir, "killed.sock")))
		secrets := map[string]string{"cloud": cloudSite}
		capability := &csi.VolumeCapability{
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
		}

		lines, err := site.proxy.AfterEachWrite("", plugin, func(k int) error {
			name := fmt.Sprintf("crash-%s-%d", clusterID, k)
			before := site.ours(ctx)
			var volume *csi.Volume
			until(ctx, func(ctx context.Context) error {
				created, err := controller.CreateVolume(ctx, &csi.CreateVolumeRequest{
					Name: name, Secrets: secrets, Parameters: map[string]string{"availability": volumeZone},
					CapacityRange: &csi.CapacityRange{RequiredBytes: 1 << 30}, VolumeCapabilities: []*csi.VolumeCapability{capability},
				})
				volume = created.GetVolume()
				return err
			})
			Expect(site.ours(ctx)).To(HaveLen(len(before)+1), "one volume, whatever was lost")

			until(ctx, func(ctx context.Context) error {
				_, err := controller.ControllerPublishVolume(ctx, &csi.ControllerPublishVolumeRequest{
					VolumeId: volume.VolumeId, NodeId: site.server, VolumeCapability: capability, Secrets: secrets,
				})
				return err
			})
			Expect(site.ours(ctx)[volume.VolumeId].Attachments).To(ConsistOf(HaveField("ServerID", site.server)))
			until(ctx, func(ctx context.Context) error {
				_, err := controller.ControllerUnpublishVolume(ctx,
					&csi.ControllerUnpublishVolumeRequest{VolumeId: volume.VolumeId, NodeId: site.server, Secrets: secrets})
				return err
			})
			Expect(site.ours(ctx)[volume.VolumeId].Attachments).To(BeEmpty())

			var snapshot *csi.Snapshot
			until(ctx, func(ctx context.Context) error {
				created, err := controller.CreateSnapshot(ctx,
					&csi.CreateSnapshotRequest{Name: name, SourceVolumeId: volume.VolumeId, Secrets: secrets})
				snapshot = created.GetSnapshot()
				return err
			})
			Expect(site.snapshots(ctx, volume.VolumeId)).To(ConsistOf(snapshot.SnapshotId))
			until(ctx, func(ctx context.Context) error {
				_, err := controller.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: snapshot.SnapshotId, Secrets: secrets})
				return err
			})
			Eventually(site.snapshots).WithContext(ctx).WithArguments(ctx, volume.VolumeId).Within(within).ProbeEvery(quickly).Should(BeEmpty())

			until(ctx, func(ctx context.Context) error {
				_, err := controller.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volume.VolumeId, Secrets: secrets})
				return err
			})
			Eventually(site.ours).WithContext(ctx).WithArguments(ctx).Within(within).ProbeEvery(quickly).Should(HaveLen(len(before)))
			return nil
		})
		AddReportEntry("crashes", strings.Join(lines, "\n"), ReportEntryVisibilityAlways)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(lines)).To(BeNumerically(">=", 1+6), "six requests with a write each")
	}, SpecTimeout(12*time.Minute))
})
