// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("S3", Ordered, ContinueOnFailure, func() {
	var s *versity

	BeforeAll(func(ctx SpecContext) { s = newVersity(ctx) }, NodeTimeout(time.Minute))

	contract(func() peer { return s })
	snapshots(func() peer { return s })

	Describe("with object lock", func() {
		var bucket string

		BeforeEach(func() { bucket = "locked-" + rand.String(10) })

		immutable := func(mode v1alpha1.BackupRetentionMode, days int) backup.Access {
			access := s.access()
			access.Config.S3.Immutability = &v1alpha1.BackupImmutability{
				RetentionType:   v1alpha1.BackupRetentionTypeBucket,
				RetentionPeriod: metav1.Duration{Duration: time.Duration(days) * 24 * time.Hour},
				Mode:            mode,
			}
			return access
		}
		ensure := func(ctx context.Context, access backup.Access) error {
			_, err := open(ctx, s, access).EnsureBucket(ctx, bucket, owner)
			return err
		}
		retention := func(ctx context.Context) (minio.RetentionMode, uint) {
			GinkgoHelper()
			mode, validity, unit, err := s.client.GetBucketObjectLockConfig(ctx, bucket)
			Expect(err).NotTo(HaveOccurred())
			Expect(*unit).To(Equal(minio.Days))
			return *mode, *validity
		}

		It("should say until when what etcd-backup-restore wrote is locked, and keep it", func(ctx SpecContext) {
			access := immutable(v1alpha1.BackupRetentionModeGovernance, 1)
			Expect(ensure(ctx, access)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { s.remove(ctx, bucket) })
			dir := GinkgoT().TempDir()
			endpoint := startEtcd(filepath.Join(dir, "etcd"), "etcd.log")
			put(ctx, endpoint, "key", "value")
			runner := newBackupRestore(dir, access, s.opener(), bucket)
			written := time.Now()
			snapshotter := runner.run("snapshot", "--store-prefix="+prefix, "--endpoints="+endpoint, "--schedule=0 0 1 1 *")
			Eventually(ctx, func() []string { return s.keys(ctx, bucket) }).Within(time.Minute).Should(ContainElement(ContainSubstring("/Full-")))
			snapshotter.Stop(ctx)

			before := s.keys(ctx, bucket)
			var locked *backup.LockedError
			Expect(errors.As(open(ctx, s, access).DeletePrefix(ctx, bucket, filepath.Dir(prefix)+"/"), &locked)).To(BeTrue())
			Expect(locked.Until).To(BeTemporally("~", written.Add(24*time.Hour), 2*time.Minute))
			Expect(s.keys(ctx, bucket)).To(ContainElements(before))
		}, SpecTimeout(2*time.Minute))

		It("should raise the retention and never weaken it", func(ctx SpecContext) {
			Expect(ensure(ctx, immutable(v1alpha1.BackupRetentionModeGovernance, 2))).To(Succeed())
			mode, days := retention(ctx)
			Expect(mode).To(Equal(minio.Governance))
			Expect(days).To(BeEquivalentTo(2))
			Expect(ensure(ctx, immutable(v1alpha1.BackupRetentionModeGovernance, 1))).To(Succeed())
			Expect(ensure(ctx, immutable(v1alpha1.BackupRetentionModeCompliance, 3))).To(Succeed())
			Expect(ensure(ctx, immutable(v1alpha1.BackupRetentionModeCompliance, 4))).To(Succeed())
			for _, weaker := range []backup.Access{
				immutable(v1alpha1.BackupRetentionModeCompliance, 3), immutable(v1alpha1.BackupRetentionModeGovernance, 9),
			} {
				err := ensure(ctx, weaker)
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
				Expect(err).To(MatchError(ContainSubstring("4 days")))
			}
			Expect(ensure(ctx, s.access())).To(Succeed())
			mode, days = retention(ctx)
			Expect(mode).To(Equal(minio.Compliance))
			Expect(days).To(BeEquivalentTo(4))
		}, SpecTimeout(time.Minute))

		It("should keep locked versions and tell until when, and delete the others", func(ctx SpecContext) {
			Expect(ensure(ctx, immutable(v1alpha1.BackupRetentionModeGovernance, 1))).To(Succeed())
			for _, key := range []string{"a/1", "a/1", "a/2", "b/1"} {
				s.put(ctx, bucket, key, []byte(key))
			}
			Expect(s.client.RemoveObject(ctx, bucket, "a/2", minio.RemoveObjectOptions{})).To(Succeed())
			Expect(s.keys(ctx, bucket)).To(Equal([]string{"a/1", "a/1", "a/2", "a/2", "b/1"}))

			store := open(ctx, s, s.access())
			err := store.DeletePrefix(ctx, bucket, "a/")
			var locked *backup.LockedError
			Expect(errors.As(err, &locked)).To(BeTrue(), "%v", err)
			Expect(locked.Versions).To(Equal(3))
			Expect(locked.Until).To(BeTemporally("~", time.Now().Add(24*time.Hour), time.Minute))
			Expect(platform.IsProgress(err)).To(BeTrue())
			Expect(s.keys(ctx, bucket)).To(Equal([]string{"a/1", "a/1", "a/2", "b/1"}))
			Expect(errors.As(store.DeleteBucket(ctx, bucket, owner), &locked)).To(BeTrue())

			s.release(ctx, bucket)
			Eventually(ctx, func() error { return store.DeleteBucket(ctx, bucket, owner) }).WithTimeout(10 * time.Second).Should(Succeed())
			Expect(s.has(ctx, bucket)).To(BeFalse())
		}, SpecTimeout(time.Minute))

		It("should tell that versions are held without a time", func(ctx SpecContext) {
			Expect(ensure(ctx, immutable(v1alpha1.BackupRetentionModeGovernance, 1))).To(Succeed())
			s.put(ctx, bucket, "a/1", []byte("held"))
			held := minio.LegalHoldEnabled
			Expect(s.client.PutObjectLegalHold(ctx, bucket, "a/1", minio.PutObjectLegalHoldOptions{Status: &held})).To(Succeed())
			var locked *backup.LockedError
			Expect(errors.As(open(ctx, s, s.access()).DeletePrefix(ctx, bucket, "a/"), &locked)).To(BeTrue())
			Expect(*locked).To(Equal(backup.LockedError{Versions: 1}))
		}, SpecTimeout(time.Minute))

		It("should add object lock to a bucket that was made without it, or tell that it cannot", func(ctx SpecContext) {
			Expect(ensure(ctx, s.access())).To(Succeed())
			if err := ensure(ctx, immutable(v1alpha1.BackupRetentionModeCompliance, 1)); err != nil {
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
				Expect(err).To(MatchError(ContainSubstring("created without object lock")))
				return
			}
			mode, _ := retention(ctx)
			Expect(mode).To(Equal(minio.Compliance))
		}, SpecTimeout(time.Minute))
	})

	It("should delete all versions and markers, and uploads that were not completed", func(ctx SpecContext) {
		bucket := "versions-" + rand.String(10)
		store := open(ctx, s, s.access())
		_, err := store.EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
		Expect(s.client.EnableVersioning(ctx, bucket)).To(Succeed())
		for _, key := range []string{"a/1", "a/1", "a/2", "b/1"} {
			s.put(ctx, bucket, key, []byte(key))
		}
		Expect(s.client.RemoveObject(ctx, bucket, "a/2", minio.RemoveObjectOptions{})).To(Succeed())
		core := minio.Core{Client: s.client}
		for _, key := range []string{"a/upload", "b/upload"} {
			_, err := core.NewMultipartUpload(ctx, bucket, key, minio.PutObjectOptions{})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(store.Usage(ctx, bucket, "a/")).To(HaveField("Objects", 4))
		Expect(store.DeletePrefix(ctx, bucket, "a/")).To(Succeed())
		Expect(s.keys(ctx, bucket)).To(Equal([]string{"b/1"}))
		uploads, err := core.ListMultipartUploads(ctx, bucket, "", "", "", "", 10)
		Expect(err).NotTo(HaveOccurred())
		Expect(uploads.Uploads).To(HaveExactElements(HaveField("Key", "b/upload")))
		Expect(store.DeleteBucket(ctx, bucket, owner)).To(Succeed())
		Expect(s.has(ctx, bucket)).To(BeFalse())
	}, SpecTimeout(time.Minute))

	It("should tell that the authority of the server is not known", func(ctx SpecContext) {
		access := s.access()
		access.Config.S3.CABundle = ""
		_, err := open(ctx, s, access).EnsureBucket(ctx, "any-bucket", owner)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(MatchError(ContainSubstring("unknown authority")))
	}, SpecTimeout(time.Minute))

	It("should tell that an access key is not known", func(ctx SpecContext) {
		access := s.access()
		access.Credentials["accessKeyID"] = []byte("nobody-known")
		err := open(ctx, s, access).DeletePrefix(ctx, "any-bucket", "a/")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated), "%v", err)
	}, SpecTimeout(time.Minute))
})

// release lets the retention of all versions end in a second.
func (v *versity) release(ctx context.Context, bucket string) {
	GinkgoHelper()
	for object := range v.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Recursive: true, WithVersions: true}) {
		Expect(object.Err).NotTo(HaveOccurred())
		if object.IsDeleteMarker {
			continue
		}
		mode, soon := minio.Governance, time.Now().Add(time.Second)
		Expect(v.client.PutObjectRetention(ctx, bucket, object.Key, minio.PutObjectRetentionOptions{
			GovernanceBypass: true, Mode: &mode, RetainUntilDate: &soon, VersionID: object.VersionID,
		})).To(Succeed())
	}
}
