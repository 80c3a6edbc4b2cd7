// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/minio/minio-go/v7"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup/s3"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/objectstore"
)

// peer is a real object store, as its administrator sees it, and how the store under test gets there through the proxy.
type peer interface {
	// access is that of a user who may do everything.
	access() backup.Access
	// opener opens stores of the kind.
	opener() backup.Opener
	// front is the proxy in front of the store.
	front() *countproxy.Proxy
	// service is the name of the store in the proxy.
	service() string
	// many is how many objects are more than one request lists or deletes.
	many() int
	// wrong is an access that is refused.
	wrong() backup.Access
	// makeBucket makes a bucket that has no mark.
	makeBucket(ctx context.Context, bucket string)
	// has reports whether there is the bucket.
	has(ctx context.Context, bucket string) bool
	// put writes an object.
	put(ctx context.Context, bucket, key string, content []byte)
	// keys returns the keys of all objects, versions and markers, sorted.
	keys(ctx context.Context, bucket string) []string
	// remove removes the bucket with all that is in it.
	remove(ctx context.Context, bucket string)
}

// versity is versitygw.
type versity struct {
	server *objectstore.Server
	client *minio.Client
	proxy  *countproxy.Proxy
}

func newVersity(ctx context.Context) *versity {
	GinkgoHelper()
	server, err := objectstore.Start(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(server.Process.Check()).To(Succeed())
		server.Process.Stop(ctx)
	})
	client, err := server.Client()
	Expect(err).NotTo(HaveOccurred())
	proxy, err := countproxy.New(countproxy.Service{
		Name: "s3", Upstream: server.Endpoint, Certificate: server.Pair.Certificate, Key: server.Pair.Key, CA: server.CA,
		Signed: true,
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return &versity{server: server, client: client, proxy: proxy}
}

func (v *versity) access() backup.Access {
	return backup.Access{
		Config: &v1alpha1.BackupBucketConfig{
			Store: v1alpha1.BackupStoreS3,
			S3:    &v1alpha1.S3BackupStore{Endpoint: v.proxy.URL("s3"), Region: objectstore.Region, CABundle: v.server.CA},
		},
		Credentials: map[string][]byte{
			"accessKeyID": []byte(objectstore.AccessKeyID), "secretAccessKey": []byte(objectstore.SecretAccessKey),
		},
	}
}

func (v *versity) wrong() backup.Access {
	access := v.access()
	access.Credentials = maps.Clone(access.Credentials)
	access.Credentials["secretAccessKey"] = []byte("not-the-secret")
	return access
}

func (v *versity) opener() backup.Opener { return s3.New() }

func (v *versity) service() string { return "s3" }

func (v *versity) many() int { return 1100 }

func (v *versity) front() *countproxy.Proxy { return v.proxy }

func (v *versity) makeBucket(ctx context.Context, bucket string) {
	GinkgoHelper()
	Expect(v.client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{Region: objectstore.Region})).To(Succeed())
}

func (v *versity) has(ctx context.Context, bucket string) bool {
	GinkgoHelper()
	found, err := v.client.BucketExists(ctx, bucket)
	Expect(err).NotTo(HaveOccurred())
	return found
}

func (v *versity) put(ctx context.Context, bucket, key string, content []byte) {
	GinkgoHelper()
	_, err := v.client.PutObject(ctx, bucket, key, bytes.NewReader(content), int64(len(content)), minio.PutObjectOptions{SendContentMd5: true})
	Expect(err).NotTo(HaveOccurred())
}

func (v *versity) keys(ctx context.Context, bucket string) []string {
	GinkgoHelper()
	keys := []string{}
	for object := range v.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Recursive: true, WithVersions: true}) {
		Expect(object.Err).NotTo(HaveOccurred())
		keys = append(keys, object.Key)
	}
	slices.Sort(keys)
	return keys
}

func (v *versity) remove(ctx context.Context, bucket string) {
	GinkgoHelper()
	objects := v.client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Recursive: true, WithVersions: true})
	for problem := range v.client.RemoveObjects(ctx, bucket, objects, minio.RemoveObjectsOptions{GovernanceBypass: true}) {
		Expect(problem.Err).NotTo(HaveOccurred())
	}
	Expect(v.client.RemoveBucket(ctx, bucket)).To(Succeed())
}
