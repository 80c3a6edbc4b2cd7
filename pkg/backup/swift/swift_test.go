// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package swift_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup/swift"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	bucket, owner, prefix = "bucket", "owner", "shoot--a--b--1/"
	password              = "the-password"
)

// liar is a Keystone and a Swift that answers what a spec lets it.
type liar struct {
	*httptest.Server

	mutex   sync.Mutex
	answers map[string]http.HandlerFunc
	asked   []string
}

func newLiar() *liar {
	l := &liar{answers: map[string]http.HandlerFunc{}}
	l.Server = httptest.NewServer(http.HandlerFunc(l.serve))
	DeferCleanup(l.Close)
	return l
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v3/auth/tokens" {
		l.login(w)
		return
	}
	kind := r.Method
	if r.URL.Query().Has("bulk-delete") {
		kind = "bulk"
	}
	l.mutex.Lock()
	l.asked = append(l.asked, kind)
	handler := l.answers[kind]
	l.mutex.Unlock()
	w.Header().Set("X-Openstack-Request-Id", "tx1")
	w.Header().Set("Content-Type", "application/json")
	if handler == nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	handler(w, r)
}

func (l *liar) login(w http.ResponseWriter) {
	endpoint := map[string]string{"id": "1", "interface": "public", "region": "r", "region_id": "r", "url": l.URL + "/v1/AUTH_1"}
	w.Header().Set("X-Subject-Token", "token")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": map[string]any{
		"expires_at": "2999-01-01T00:00:00.000000Z",
		"catalog":    []any{map[string]any{"type": "object-store", "name": "swift", "endpoints": []any{endpoint}}},
	}})
}

func (l *liar) count(kind string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	n := 0
	for _, asked := range l.asked {
		if asked == kind {
			n++
		}
	}
	return n
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func listed(names ...string) http.HandlerFunc {
	list := []map[string]any{}
	for _, name := range names {
		list = append(list, map[string]any{"name": name, "bytes": 5, "last_modified": "2026-01-02T03:04:05.000000"})
	}
	body, err := json.Marshal(list)
	Expect(err).NotTo(HaveOccurred())
	return answer(http.StatusOK, string(body))
}

// pages gives each of the pages once, and then those without objects.
func pages(more ...http.HandlerFunc) http.HandlerFunc {
	next := 0
	return func(w http.ResponseWriter, r *http.Request) {
		if next == len(more) {
			answer(http.StatusOK, "[]")(w, r)
			return
		}
		next++
		more[next-1](w, r)
	}
}

func (l *liar) access() backup.Access {
	return backup.Access{
		Config: &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreSwift,
			Swift: &v1alpha1.SwiftBackupStore{AuthURL: l.URL + "/v3", Region: "r"}},
		Credentials: map[string][]byte{"domainName": []byte("d"), "tenantName": []byte("t"), "username": []byte("u"),
			"password": []byte(password), "unknown": []byte("x")},
	}
}

func (l *liar) open(ctx context.Context) backup.Store {
	GinkgoHelper()
	store, err := swift.New().Open(ctx, l.access())
	Expect(err).NotTo(HaveOccurred())
	return store
}

var _ = Describe("Swift", func() {
	var l *liar

	BeforeEach(func() {
		l = newLiar()
		l.answers["HEAD"] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Container-Meta-Gardener-Backup-Bucket", owner)
			w.WriteHeader(http.StatusNoContent)
		}
		l.answers["bulk"] = answer(http.StatusOK, `{"Number Deleted": 1, "Response Status": "200 OK", "Errors": []}`)
		l.answers["DELETE"] = answer(http.StatusNoContent, "")
	})

	It("should delete nothing if the store lists what is not below the prefix", func(ctx SpecContext) {
		for _, name := range []string{"other/1", "shoot--a--b--1", "", "shoot--a--b--12/1"} {
			l.answers["GET"] = listed(prefix+"1", name)
			err := l.open(ctx).DeletePrefix(ctx, bucket, prefix)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(ContainSubstring("not below")))
			_, err = l.open(ctx).Usage(ctx, bucket, prefix)
			Expect(err).To(MatchError(ContainSubstring("not below")))
		}
		Expect(l.count("bulk") + l.count("DELETE")).To(BeZero())
	})

	It("should delete a limited number, and say that there are more", func(ctx SpecContext) {
		names := make([]string, 1000)
		for i := range names {
			names[i] = fmt.Sprintf("%s%d", prefix, i)
		}
		l.answers["GET"] = listed(names...)
		err := l.open(ctx).DeletePrefix(ctx, bucket, prefix)
		Expect(platform.IsProgress(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(ContainSubstring("20000 objects")))
		Expect(l.count("bulk")).To(Equal(100))
		Expect(l.open(ctx).Usage(ctx, bucket, prefix)).To(Equal(
			backup.Usage{Objects: 10000, Bytes: 50000, LastModified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}))
	})

	It("should not believe that something is gone that is listed", func(ctx SpecContext) {
		l.answers["GET"] = pages(listed(prefix+"1"), listed(), listed(prefix+"1"))
		Expect(platform.IsProgress(l.open(ctx).DeletePrefix(ctx, bucket, prefix))).To(BeTrue())
		l.answers["GET"] = pages()
		l.answers["DELETE"] = answer(http.StatusConflict, "")
		Expect(platform.IsProgress(l.open(ctx).DeleteBucket(ctx, bucket, owner))).To(BeTrue())
	})

	It("should not take an empty answer for an empty list", func(ctx SpecContext) {
		for _, body := range []string{"", "{}", "none"} {
			l.answers["GET"] = answer(http.StatusOK, body)
			Expect(l.open(ctx).DeletePrefix(ctx, bucket, prefix)).NotTo(Succeed())
		}
	})

	It("should tell why objects are not deleted", func(ctx SpecContext) {
		l.answers["GET"] = pages(listed(prefix + "1"))
		l.answers["bulk"] = answer(http.StatusOK, `  {"Errors": [["`+bucket+`/x", "403 Forbidden"]]}`)
		err := l.open(ctx).DeletePrefix(ctx, bucket, prefix)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		Expect(err).To(MatchError(`bucket "bucket": 1 of 1 objects were not deleted: 403 Forbidden`))
		l.answers["GET"] = pages(listed(prefix + "1"))
		l.answers["bulk"] = answer(http.StatusOK, `{"Errors": [[]]}`)
		Expect(platform.ClassOf(l.open(ctx).DeletePrefix(ctx, bucket, prefix))).To(Equal(platform.ClassTransient))
	})

	It("should do nothing on doubt whether the container exists", func(ctx SpecContext) {
		notFound := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Del("X-Openstack-Request-Id") // of a proxy without a backend
			w.WriteHeader(http.StatusNotFound)
		}
		l.answers["HEAD"], l.answers["GET"] = notFound, notFound
		_, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
		for _, err := range []error{err, l.open(ctx).DeletePrefix(ctx, bucket, prefix), l.open(ctx).DeleteBucket(ctx, bucket, owner)} {
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(HavePrefix(`bucket "bucket": `)))
		}
		Expect(l.count("PUT")).To(BeZero())
	})

	It("should do nothing if the container has another mark or none", func(ctx SpecContext) {
		Expect(l.open(ctx).DeleteBucket(ctx, bucket, "somebody")).To(Succeed())
		_, err := l.open(ctx).EnsureBucket(ctx, bucket, "somebody")
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		l.answers["HEAD"] = answer(http.StatusNoContent, "")
		Expect(l.open(ctx).DeleteBucket(ctx, bucket, owner)).To(Succeed())
		Expect(l.count("DELETE") + l.count("bulk") + l.count("PUT") + l.count("POST")).To(BeZero())
	})

	DescribeTable("should classify errors and show them without secrets",
		func(ctx SpecContext, status int, class platform.Class) {
			l.answers["PUT"] = answer(status, "<html>"+password+"</html>")
			l.answers["HEAD"] = answer(http.StatusNotFound, "")
			_, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
			Expect(platform.ClassOf(err)).To(Equal(class))
			Expect(err).To(MatchError(HavePrefix(`bucket "bucket": `)))
			Expect(err.Error()).NotTo(ContainSubstring(password))
		},
		Entry(nil, http.StatusForbidden, platform.ClassForbidden),
		Entry(nil, http.StatusRequestEntityTooLarge, platform.ClassQuota),
		Entry(nil, http.StatusServiceUnavailable, platform.ClassTransient),
		Entry(nil, http.StatusBadRequest, platform.ClassConfiguration),
	)

	It("should refuse a catalog without Swift in the region", func(ctx SpecContext) {
		access := l.access()
		access.Config.Swift.Region = "elsewhere"
		_, err := swift.New().Open(ctx, access)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should return what etcd-backup-restore reads", func() {
		access := l.access()
		access.Config.Swift.AuthURL = "https://keystone.example.com/v3"
		Expect(swift.New().SecretData(access)).To(Equal(map[string][]byte{
			"authURL": []byte("https://keystone.example.com/v3"), "region": []byte("r"), "domainName": []byte("d"), "tenantName": []byte("t"),
			"username": []byte("u"), "password": []byte(password),
		}))
	})
})
