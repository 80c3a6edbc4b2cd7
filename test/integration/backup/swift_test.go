// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/containers"
	"github.com/gophercloud/gophercloud/v2/openstack/objectstorage/v1/objects"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup/swift"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/specs"
)

var _ = Describe("Swift", Ordered, ContinueOnFailure, func() {
	var s *cloud

	BeforeAll(func(ctx SpecContext) { s = newCloud(ctx) }, NodeTimeout(20*time.Minute))

	contract(func() peer { return s })
	snapshots(func() peer { return s })

	It("should delete one by one if the store cannot delete several at once", func(ctx SpecContext) {
		bucket := "single-" + rand.String(10)
		store := open(ctx, s, s.access())
		_, err := store.EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
		for _, key := range []string{"a/1", "a/2", "b/1"} {
			s.put(ctx, bucket, key, []byte(key))
		}
		Expect(s.proxy.SetFaults(countproxy.Fault{Name: "no bulk", Service: "swift", Query: "bulk-delete", Action: countproxy.ActionStatus,
			Status: http.StatusNoContent})).To(Succeed())
		DeferCleanup(func() { Expect(s.proxy.SetFaults()).To(Succeed()) })
		Expect(store.DeletePrefix(ctx, bucket, "a/")).To(Succeed())
		Expect(s.keys(ctx, bucket)).To(Equal([]string{"b/1"}))
		Expect(store.DeleteBucket(ctx, bucket, owner)).To(Succeed())
		Expect(s.has(ctx, bucket)).To(BeFalse())
	}, SpecTimeout(time.Minute))
})

// cloud is the landscape's Swift.
type cloud struct {
	credentials openstack.Credentials
	api         *gophercloud.ServiceClient
	proxy       *countproxy.Proxy
}

func newCloud(ctx context.Context) *cloud {
	GinkgoHelper()
	bed := specs.OpenStackWithSwift(ctx)
	credentials, err := bed.Credentials(openstack.Projects[0])
	Expect(err).NotTo(HaveOccurred())
	api, err := openstack.ObjectStore(ctx, credentials)
	Expect(err).NotTo(HaveOccurred())
	return &cloud{credentials: credentials, api: api, proxy: specs.Proxy()}
}

func (c *cloud) access() backup.Access {
	access := backup.Access{
		Config: &v1alpha1.BackupBucketConfig{
			Store: v1alpha1.BackupStoreSwift,
			Swift: &v1alpha1.SwiftBackupStore{AuthURL: c.proxy.Rewrite(c.credentials.AuthURL), Region: c.credentials.Region},
		},
		Credentials: map[string][]byte{},
	}
	for key, value := range c.credentials.SiteCredentials() {
		access.Credentials[key] = []byte(value)
	}
	return access
}

func (c *cloud) wrong() backup.Access {
	access := c.access()
	access.Credentials = maps.Clone(access.Credentials)
	access.Credentials["password"] = []byte("not-the-password")
	return access
}

func (c *cloud) opener() backup.Opener { return swift.New() }

func (c *cloud) front() *countproxy.Proxy { return c.proxy }

func (c *cloud) service() string { return "swift" }

func (c *cloud) many() int { return 250 }

func (c *cloud) makeBucket(ctx context.Context, bucket string) {
	GinkgoHelper()
	Expect(containers.Create(ctx, c.api, bucket, nil).Err).NotTo(HaveOccurred())
}

func (c *cloud) has(ctx context.Context, bucket string) bool {
	GinkgoHelper()
	err := containers.Get(ctx, c.api, bucket, nil).Err
	if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	return true
}

func (c *cloud) put(ctx context.Context, bucket, key string, content []byte) {
	GinkgoHelper()
	Expect(objects.Create(ctx, c.api, bucket, key, objects.CreateOpts{Content: bytes.NewReader(content)}).Err).NotTo(HaveOccurred())
}

func (c *cloud) keys(ctx context.Context, bucket string) []string {
	GinkgoHelper()
	pages, err := objects.List(c.api, bucket, nil).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	keys, err := objects.ExtractNames(pages)
	Expect(err).NotTo(HaveOccurred())
	slices.Sort(keys)
	return keys
}

func (c *cloud) remove(ctx context.Context, bucket string) {
	GinkgoHelper()
	for _, key := range c.keys(ctx, bucket) {
		Expect(objects.Delete(ctx, c.api, bucket, key, nil).Err).NotTo(HaveOccurred())
	}
	Expect(containers.Delete(ctx, c.api, bucket).Err).NotTo(HaveOccurred())
}
