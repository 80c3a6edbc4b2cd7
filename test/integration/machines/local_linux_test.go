// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/controlplane"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/localvolumes"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

// localFolder is where hosts have local volumes.
const localFolder = "/var/lib/local-volumes"

// localVolumeSpecs need nodes that are ready. The provisioner is a process, as that of a shoot is in its seed; its helpers are pods.
func localVolumeSpecs(at onNode) {
	claims := map[string]string{shoot.MetalSites[0]: "local-" + shoot.MetalSites[0], ownSite: "local-" + ownSite}

	BeforeAll(func(ctx SpecContext) { applyLocalVolumes(ctx, shoot.MetalSites[0], ownSite) })

	It("should have volumes in folders of their hosts, which the next pods there read, and no pod of another site", func(ctx SpecContext) {
		for site, claim := range claims {
			Expect(lab.shoot.Seed.Client.Create(ctx, specs.Claim(claim, "local-"+site))).To(Succeed())
			sum := useVolume(ctx, claim, site, "dd if=/dev/urandom of=/data/first bs=1M count=8; sync; sha256sum /data/first")
			volume := &corev1.PersistentVolume{}
			Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Name: claimOf(ctx, claim).Spec.VolumeName}, volume)).To(Succeed())
			Expect(volume.Spec.HostPath.Path).To(HavePrefix(localFolder + "/"))
			digest, _, _ := strings.Cut(sum, " ")
			Expect(at(ctx, site, "sha256sum "+volume.Spec.HostPath.Path+"/first")).To(HavePrefix(digest))
			Expect(useVolume(ctx, claim, site, "sha256sum /data/first")).To(Equal(sum))
		}
		foreign := specs.Mount(podOn(shoot.MetalSites[0], "true"), claims[ownSite])
		Expect(lab.shoot.Seed.Client.Create(ctx, foreign)).To(Succeed())
		Eventually(ctx, eventsOf, joinTime, time.Second).WithArguments(foreign.Name).Should(ContainElement("FailedScheduling"))
		Expect(lab.shoot.Seed.Client.Delete(ctx, foreign)).To(Succeed())
	}, SpecTimeout(specTime))

	It("should have no folder of a volume whose claim is deleted, and keep those of others", func(ctx SpecContext) {
		for site, claim := range claims {
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claimOf(ctx, claim).Spec.VolumeName}}
			Expect(at(ctx, site, "mkdir "+localFolder+"/kept")).To(BeEmpty())
			Expect(lab.shoot.Seed.Client.Delete(ctx, claimOf(ctx, claim))).To(Succeed())
			Eventually(ctx, func() error { return lab.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(volume), volume) }, joinTime,
				time.Second).Should(Satisfy(apierrors.IsNotFound))
			Expect(at(ctx, site, "ls "+localFolder)).To(Equal("kept"))
		}
	}, SpecTimeout(specTime))
}

// applyLocalVolumes applies the charts of local volumes for sites, and starts the provisioner.
func applyLocalVolumes(ctx context.Context, sites ...string) {
	GinkgoHelper()
	var classes []platform.ControlPlaneSite
	for _, name := range sites {
		classes = append(classes, platform.ControlPlaneSite{Site: &site.Site{Name: name, Profile: &v1alpha1.CloudProfileSite{Name: name,
			StorageClasses: []v1alpha1.StorageClass{{Name: "local-" + name, Metal: &v1alpha1.MetalStorageClass{Path: localFolder}}}}}})
	}
	storage, err := controlplane.New().Storage(classes)
	Expect(err).NotTo(HaveOccurred())
	name := controlplane.New().StorageChart().Name
	images := map[string]any{"enabled": true,
		"images": map[string]string{"local-path-provisioner": "local-path-provisioner:1", "local-path-helper": helperImage}}
	values := func(of any) map[string]any {
		merged, err := rendering.Merge(of, images)
		Expect(err).NotTo(HaveOccurred())
		return map[string]any{name: merged}
	}
	applyChart(ctx, "shoot-system-components", values(storage.Shoot))
	var all []any
	for _, class := range storage.Classes {
		merged, err := rendering.Merge(class, map[string]any{"default": false})
		Expect(err).NotTo(HaveOccurred())
		all = append(all, merged)
	}
	applyChart(ctx, "shoot-storageclasses", map[string]any{"storageClasses": all})
	Expect(lab.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: localvolumes.Name},
		&corev1.ServiceAccount{})).To(Succeed())

	named := metav1.ObjectMeta{Name: localvolumes.Name}
	deployment, config := &appsv1.Deployment{ObjectMeta: named}, &corev1.ConfigMap{ObjectMeta: named}
	Expect(rendering.ControlPlane(shootName, values(storage.ControlPlane), deployment, config)).To(Succeed())
	dir := filepath.Join(lab.dir, localvolumes.Name)
	Expect(os.Mkdir(dir, 0o700)).To(Succeed())
	provisioner, err := localvolumes.Start(ctx, lab.shoot.Seed.Cluster.Config, deployment, config, dir)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(provisioner.Check()).To(Succeed())
		provisioner.Stop(ctx)
	})
}
