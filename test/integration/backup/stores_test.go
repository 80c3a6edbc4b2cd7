// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
)

const owner = "hybrid-seed-bucket"

// contract are the specs that each store meets.
func contract(p func() peer) {
	var (
		store  backup.Store
		bucket string
	)

	BeforeEach(func(ctx SpecContext) {
		bucket = "bucket-" + rand.String(10)
		store = open(ctx, p(), p().access())
		DeferCleanup(func(ctx SpecContext) {
			Expect(p().front().SetFaults()).To(Succeed())
			if p().has(ctx, bucket) {
				p().remove(ctx, bucket)
			}
		})
	}, NodeTimeout(time.Minute))

	fill := func(ctx context.Context, keys ...string) {
		GinkgoHelper()
		for _, key := range keys {
			p().put(ctx, bucket, key, []byte(key))
		}
	}
	ensure := func(ctx context.Context) {
		GinkgoHelper()
		_, err := store.EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
	}

	It("should create a bucket, and change nothing when it is there", func(ctx SpecContext) {
		ensure(ctx)
		Expect(p().has(ctx, bucket)).To(BeTrue())
		fill(ctx, "a/1")
		ensure(ctx)
		Expect(p().keys(ctx, bucket)).To(Equal([]string{"a/1"}))
	}, SpecTimeout(time.Minute))

	It("should adopt an empty bucket without a mark", func(ctx SpecContext) {
		p().makeBucket(ctx, bucket)
		ensure(ctx)
		fill(ctx, "a/1")
		Expect(store.DeleteBucket(ctx, bucket, owner)).To(Succeed())
		Expect(p().has(ctx, bucket)).To(BeFalse())
	}, SpecTimeout(time.Minute))

	It("should refuse and keep buckets of others", func(ctx SpecContext) {
		p().makeBucket(ctx, bucket)
		fill(ctx, "theirs")
		_, err := store.EnsureBucket(ctx, bucket, owner)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(MatchError(ContainSubstring(bucket)))
		Expect(store.DeleteBucket(ctx, bucket, owner)).To(Succeed())
		Expect(p().keys(ctx, bucket)).To(Equal([]string{"theirs"}))
	}, SpecTimeout(time.Minute))

	It("should refuse and keep buckets of other owners", func(ctx SpecContext) {
		ensure(ctx)
		fill(ctx, "a/1")
		_, err := store.EnsureBucket(ctx, bucket, "somebody")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(err).To(MatchError(ContainSubstring(owner)))
		Expect(store.DeleteBucket(ctx, bucket, "somebody")).To(Succeed())
		Expect(p().keys(ctx, bucket)).To(Equal([]string{"a/1"}))
	}, SpecTimeout(time.Minute))

	It("should delete and count what is below a prefix and nothing else", func(ctx SpecContext) {
		ensure(ctx)
		others := []string{"shoot--a--b--1x", "shoot--a--b--12/etcd-main/v2/x", "shoot--a--b/etcd-main/v2/x", "x/shoot--a--b--1/y"}
		fill(ctx, others...)
		fill(ctx, "shoot--a--b--1/etcd-main/v2/Full-0 1+%2F&ü", "shoot--a--b--1/etcd-main/v2/Incr-1.gz")
		Expect(store.Usage(ctx, bucket, "shoot--a--b--1/")).To(SatisfyAll(
			HaveField("Objects", 2), HaveField("Bytes", BeNumerically(">", 60)), HaveField("Complete", true),
			HaveField("LastModified", BeTemporally("~", time.Now(), time.Minute)),
		))
		Expect(store.Usage(ctx, bucket, "")).To(HaveField("Objects", 6))
		Expect(store.DeletePrefix(ctx, bucket, "shoot--a--b--1/")).To(Succeed())
		slices.Sort(others)
		Expect(p().keys(ctx, bucket)).To(Equal(others))
		Expect(store.DeletePrefix(ctx, bucket, "shoot--a--b--1/")).To(Succeed())
		Expect(store.Usage(ctx, bucket, "shoot--a--b--1/")).To(Equal(backup.Usage{Complete: true}))
	}, SpecTimeout(time.Minute))

	It("should refuse prefixes that are those of all", func(ctx SpecContext) {
		ensure(ctx)
		fill(ctx, "a/1")
		for _, prefix := range []string{"", "/", "a", "/a/"} {
			Expect(platform.ClassOf(store.DeletePrefix(ctx, bucket, prefix))).To(Equal(platform.ClassConfiguration), prefix)
		}
		Expect(p().keys(ctx, bucket)).To(Equal([]string{"a/1"}))
	}, SpecTimeout(time.Minute))

	It("should do nothing if there is no bucket", func(ctx SpecContext) {
		Expect(store.DeletePrefix(ctx, bucket, "a/")).To(Succeed())
		Expect(store.DeleteBucket(ctx, bucket, owner)).To(Succeed())
		Expect(store.Usage(ctx, bucket, "a/")).To(Equal(backup.Usage{Complete: true}))
		Expect(p().has(ctx, bucket)).To(BeFalse())
	}, SpecTimeout(time.Minute))

	It("should say that credentials are refused, without them", func(ctx SpecContext) {
		access := p().wrong()
		refused, err := p().opener().Open(ctx, access)
		if err == nil {
			_, err = refused.EnsureBucket(ctx, bucket, owner)
		}
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		for _, value := range access.Credentials {
			if len(value) > 10 {
				Expect(err.Error()).NotTo(ContainSubstring(string(value)))
			}
		}
	}, SpecTimeout(time.Minute))

	// The answer to the kth request is lost for each k: nothing is lost or left then, whatever was done and not known.
	interrupted := func(ctx context.Context, prepare func(), do func() error) {
		GinkgoHelper()
		for k := 0; ; k++ {
			Expect(k).To(BeNumerically("<", 100))
			prepare()
			acted := make(chan struct{}, 1)
			Expect(p().front().SetFaults(countproxy.Fault{
				Name: "cut", Service: p().service(), Skip: k, Times: 1, Action: countproxy.ActionCall, After: true,
				Call: func(countproxy.Request) { acted <- struct{}{} },
			})).To(Succeed())
			err := do()
			Expect(p().front().SetFaults()).To(Succeed())
			if len(acted) == 0 {
				Expect(err).NotTo(HaveOccurred())
				Expect(k).To(BeNumerically(">", 1))
				return
			}
			if err != nil {
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient), err.Error())
			}
			Expect(do()).To(Succeed(), fmt.Sprintf("after the loss of answer %d", k))
		}
	}

	It("should continue after each lost answer of a creation", func(ctx SpecContext) {
		n := 0
		name := ""
		interrupted(ctx, func() {
			if name != "" {
				p().remove(ctx, name)
			}
			n++
			name = fmt.Sprintf("%s-%d", bucket, n)
		}, func() error {
			_, err := store.EnsureBucket(ctx, name, owner)
			return err
		})
		Expect(store.DeleteBucket(ctx, name, owner)).To(Succeed())
		Expect(p().has(ctx, name)).To(BeFalse())
	}, SpecTimeout(3*time.Minute))

	It("should continue after each lost answer of a deletion by prefix", func(ctx SpecContext) {
		ensure(ctx)
		fill(ctx, "keep/1")
		interrupted(ctx, func() { fill(ctx, "a/1", "a/1", "a/2", "a/b/3") }, func() error { return store.DeletePrefix(ctx, bucket, "a/") })
		Expect(p().keys(ctx, bucket)).To(Equal([]string{"keep/1"}))
	}, SpecTimeout(3*time.Minute))

	It("should continue after each lost answer of a deletion of a bucket", func(ctx SpecContext) {
		interrupted(ctx, func() {
			ensure(ctx)
			fill(ctx, "a/1", "a/2", "b")
		}, func() error { return store.DeleteBucket(ctx, bucket, owner) })
		Expect(p().has(ctx, bucket)).To(BeFalse())
	}, SpecTimeout(3*time.Minute))

	It("should delete more than one page", func(ctx SpecContext) {
		ensure(ctx)
		for i := range p().many() {
			p().put(ctx, bucket, fmt.Sprintf("many/%04d", i), nil)
		}
		fill(ctx, "other")
		Expect(store.DeletePrefix(ctx, bucket, "many/")).To(Succeed())
		Expect(p().keys(ctx, bucket)).To(Equal([]string{"other"}))
	}, SpecTimeout(4*time.Minute))

	It("should not connect to a store that answers with a redirect", func(ctx SpecContext) {
		Expect(p().front().SetFaults(countproxy.Fault{Name: "redirect", Service: p().service(), Action: countproxy.ActionStatus, Status: 307,
			Header: map[string][]string{"Location": {"https://127.0.0.1:1/"}}})).To(Succeed())
		err := store.DeletePrefix(ctx, bucket, "a/")
		Expect(err).To(MatchError(ContainSubstring("redirects are not followed")))
		Expect(strings.Contains(err.Error(), "127.0.0.1:1/")).To(BeFalse())
	}, SpecTimeout(time.Minute))
}

func open(ctx context.Context, p peer, access backup.Access) backup.Store {
	GinkgoHelper()
	store, err := p.opener().Open(ctx, access)
	Expect(err).NotTo(HaveOccurred())
	return store
}
