// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/backup/s3"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	bucket, owner, prefix = "bucket", "owner", "shoot--a--b--1/"
	secret                = "the-secret-key"
)

// liar is an S3 server that answers what a spec lets it. What it does not know is 501.
type liar struct {
	*httptest.Server

	mutex   sync.Mutex
	answers map[string]http.HandlerFunc
	asked   []string
}

func newLiar() *liar {
	l := &liar{answers: map[string]http.HandlerFunc{}}
	l.Server = httptest.NewTLSServer(http.HandlerFunc(l.serve))
	DeferCleanup(l.Close)
	return l
}

// kind names the request by its method and its first parameter that says what it is for.
func kind(r *http.Request) string {
	for _, name := range []string{
		"versions", "uploads", "tagging", "object-lock", "retention", "legal-hold", "lifecycle", "delete", "versioning",
	} {
		if r.URL.Query().Has(name) {
			return r.Method + " " + name
		}
	}
	return r.Method
}

func (l *liar) serve(w http.ResponseWriter, r *http.Request) {
	l.mutex.Lock()
	l.asked = append(l.asked, kind(r))
	answer, ok := l.answers[kind(r)]
	if !ok {
		answer = l.answers[""]
	}
	l.mutex.Unlock()
	if answer == nil {
		answer = fault(http.StatusNotImplemented, "NotImplemented", "no")
	}
	answer(w, r)
}

// count returns how often it was asked.
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

func fault(status int, code, message string) http.HandlerFunc {
	return answer(status, fmt.Sprintf("<Error><Code>%s</Code><Message>%s</Message></Error>", code, message))
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const version = "<Version><Key>%s</Key><VersionId>%d</VersionId><Size>%d</Size><LastModified>2026-01-02T03:04:05Z</LastModified></Version>"

// listed is a page with the keys.
func listed(more bool, keys ...string) http.HandlerFunc {
	var b strings.Builder
	fmt.Fprintf(&b, "<ListVersionsResult><IsTruncated>%t</IsTruncated><NextKeyMarker>m</NextKeyMarker>", more)
	for i, key := range keys {
		fmt.Fprintf(&b, version, key, i, 5)
	}
	b.WriteString("</ListVersionsResult>")
	return answer(http.StatusOK, b.String())
}

func (l *liar) access() backup.Access {
	return backup.Access{
		Config: &v1alpha1.BackupBucketConfig{Store: v1alpha1.BackupStoreS3, S3: &v1alpha1.S3BackupStore{
			Endpoint: l.URL, Region: "racks-1",
			CABundle: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.Certificate().Raw})),
		}},
		Credentials: map[string][]byte{"accessKeyID": []byte("key"), "secretAccessKey": []byte(secret)},
	}
}

func (l *liar) open(ctx context.Context, changes ...func(*v1alpha1.S3BackupStore)) backup.Store {
	GinkgoHelper()
	access := l.access()
	for _, change := range changes {
		change(access.Config.S3)
	}
	store, err := s3.New().Open(ctx, access)
	Expect(err).NotTo(HaveOccurred())
	return store
}

var _ = Describe("S3", func() {
	var l *liar

	BeforeEach(func() {
		l = newLiar()
		l.answers["GET tagging"] = answer(http.StatusOK,
			"<Tagging><TagSet><Tag><Key>gardener-backup-bucket</Key><Value>owner</Value></Tag></TagSet></Tagging>")
		l.answers["POST delete"] = answer(http.StatusOK, "<DeleteResult></DeleteResult>")
		l.answers["DELETE"] = answer(http.StatusNoContent, "")
	})

	It("should delete nothing if the store lists what is not below the prefix", func(ctx SpecContext) {
		for _, key := range []string{"other/1", "shoot--a--b--1", "", "shoot--a--b--12/1", "/shoot--a--b--1/1"} {
			l.answers["GET versions"] = listed(false, prefix+"1", key)
			err := l.open(ctx).DeletePrefix(ctx, bucket, prefix)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
			Expect(err).To(MatchError(ContainSubstring("not below")))
			_, err = l.open(ctx).Usage(ctx, bucket, prefix)
			Expect(err).To(MatchError(ContainSubstring("not below")))
		}
		Expect(l.count("POST delete")).To(BeZero())
	})

	It("should abort no upload that is not below the prefix", func(ctx SpecContext) {
		l.answers["GET uploads"] = answer(http.StatusOK,
			"<ListMultipartUploadsResult><Upload><Key>other/1</Key><UploadId>1</UploadId></Upload></ListMultipartUploadsResult>")
		Expect(l.open(ctx).DeletePrefix(ctx, bucket, prefix)).To(MatchError(ContainSubstring("not below")))
		Expect(l.count("DELETE")).To(BeZero())
	})

	It("should end a listing that does not end", func(ctx SpecContext) {
		l.answers["GET versions"] = listed(true)
		Expect(l.open(ctx).DeletePrefix(ctx, bucket, prefix)).To(MatchError(ContainSubstring("more than 200 pages")))
		Expect(l.count("GET versions")).To(Equal(200))
	})

	It("should delete a limited number, and say that there are more", func(ctx SpecContext) {
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = fmt.Sprintf("%sFull-%040d.gz", prefix, i)
		}
		l.answers["GET versions"] = listed(true, keys...)
		err := l.open(ctx).DeletePrefix(ctx, bucket, prefix)
		Expect(platform.IsProgress(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(`bucket "bucket": 20000 objects, versions and markers were deleted, and there are more`))
		Expect(l.count("POST delete")).To(Equal(20))
		usage, err := l.open(ctx).Usage(ctx, bucket, prefix)
		Expect(err).NotTo(HaveOccurred())
		Expect(usage).To(Equal(backup.Usage{Objects: 10000, Bytes: 50000, LastModified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}))
	})

	It("should not believe that something is gone that is listed", func(ctx SpecContext) {
		l.answers["GET versions"] = listed(false, prefix+"1")
		Expect(platform.IsProgress(l.open(ctx).DeletePrefix(ctx, bucket, prefix))).To(BeTrue())
		Expect(platform.IsProgress(l.open(ctx).DeleteBucket(ctx, bucket, owner))).To(BeTrue())
		l.answers["POST delete"] = fault(http.StatusOK, "InternalError", "with status 200")
		Expect(platform.ClassOf(l.open(ctx).DeletePrefix(ctx, bucket, prefix))).To(Equal(platform.ClassTransient))
		Expect(l.open(ctx).DeletePrefix(ctx, bucket, prefix)).To(HaveOccurred())
		Expect(l.count("DELETE")).To(BeZero())
	})

	It("should tell why versions are not deleted, also if they are not locked", func(ctx SpecContext) {
		l.answers["GET versions"] = listed(false, prefix+"1", prefix+"2")
		l.answers["POST delete"] = answer(http.StatusOK, "<DeleteResult><Error><Key>"+prefix+"2</Key><VersionId>1</VersionId>"+
			"<Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>")
		err := l.open(ctx).DeletePrefix(ctx, bucket, prefix)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassForbidden))
		Expect(err).To(MatchError(`bucket "bucket": AccessDenied: no`))

		l.answers["GET retention"] = answer(http.StatusOK,
			"<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>2999-01-01T00:00:00Z</RetainUntilDate></Retention>")
		var locked *backup.LockedError
		err = l.open(ctx).DeletePrefix(ctx, bucket, prefix)
		Expect(errors.As(err, &locked)).To(BeTrue())
		Expect(err).To(MatchError(`bucket "bucket": 1 versions are locked until 2999-01-01T00:00:00Z`))

		l.answers["POST delete"] = answer(http.StatusOK, "<DeleteResult><Error><Key>other</Key><Code>AccessDenied</Code></Error></DeleteResult>")
		Expect(l.open(ctx).DeletePrefix(ctx, bucket, prefix)).To(HaveOccurred())
	})

	It("should ask for few versions only if the store refuses to delete many", func(ctx SpecContext) {
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = fmt.Sprintf("%s%d", prefix, i)
		}
		l.answers["GET versions"] = listed(false, keys...)
		l.answers["POST delete"] = fault(http.StatusForbidden, "AccessDenied", "no")
		Expect(platform.ClassOf(l.open(ctx).DeletePrefix(ctx, bucket, prefix))).To(Equal(platform.ClassForbidden))
		Expect(len(l.asked)).To(BeNumerically("<", 40))
	})

	It("should do nothing on doubt whether the bucket exists", func(ctx SpecContext) {
		for _, body := range []string{"", "<html>404 page not found</html>", "not found", "<Error></Error>"} {
			l.answers[""], l.answers["GET tagging"] = answer(http.StatusNotFound, body), answer(http.StatusNotFound, body)
			_, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
			for _, err := range []error{err, l.open(ctx).DeletePrefix(ctx, bucket, prefix), l.open(ctx).DeleteBucket(ctx, bucket, owner)} {
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
				Expect(err).To(MatchError(ContainSubstring("not a response of the S3 API")))
			}
		}
		Expect(l.count("PUT")).To(BeZero())
	})

	It("should not follow redirects", func(ctx SpecContext) {
		l.answers["GET tagging"] = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}
		_, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
		Expect(err).To(MatchError(ContainSubstring("redirects are not followed")))
		Expect(l.asked).To(HaveLen(1))
	})

	It("should reject responses that are too large", func(ctx SpecContext) {
		l.answers["GET versions"] = func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<ListVersionsResult>")
			for range 20000 {
				if _, err := fmt.Fprintf(w, version, prefix+"1", 1, 1); err != nil {
					return
				}
			}
		}
		_, err := l.open(ctx).Usage(ctx, bucket, prefix)
		Expect(err).To(MatchError(ContainSubstring("the response is rejected")))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
	})

	It("should give up when the caller does, and not try again", func(ctx SpecContext) {
		calling, cancel := context.WithCancel(ctx)
		l.answers["GET tagging"] = func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}
		err := l.open(ctx).DeleteBucket(calling, bucket, owner)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(l.count("GET tagging")).To(Equal(1))
	})

	It("should count sizes that are wrong or too large", func(ctx SpecContext) {
		l.answers["GET versions"] = answer(http.StatusOK, "<ListVersionsResult>"+fmt.Sprintf(version, prefix+"1", 1, math.MaxInt64)+
			fmt.Sprintf(version, prefix+"2", 1, math.MaxInt64)+fmt.Sprintf(version, prefix+"3", 1, -5)+"</ListVersionsResult>")
		Expect(l.open(ctx).Usage(ctx, bucket, prefix)).To(SatisfyAll(HaveField("Objects", 3), HaveField("Bytes", int64(math.MaxInt64))))
	})

	DescribeTable("should classify errors and show them without secrets",
		func(ctx SpecContext, status int, code string, class platform.Class) {
			l.answers["GET tagging"] = fault(status, code, "line 1\nline 2 "+strings.Repeat("x", 10000))
			_, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
			Expect(platform.ClassOf(err)).To(Equal(class))
			Expect(err).To(MatchError(HavePrefix(`bucket "bucket": `)))
			Expect(len(err.Error())).To(BeNumerically("<", 1000))
			Expect(err.Error()).NotTo(Or(ContainSubstring("\n"), ContainSubstring(secret)))
			Expect(l.asked).To(HaveLen(1))
		},
		Entry(nil, 403, "AccessDenied", platform.ClassForbidden),
		Entry(nil, 403, "SomethingElse", platform.ClassForbidden),
		Entry(nil, 403, "InvalidAccessKeyId", platform.ClassUnauthenticated),
		Entry(nil, 403, "SignatureDoesNotMatch", platform.ClassUnauthenticated),
		Entry(nil, 403, "RequestTimeTooSkewed", platform.ClassConfiguration),
		Entry(nil, 401, "Unauthorized", platform.ClassUnauthenticated),
		Entry(nil, 400, "InvalidBucketName", platform.ClassConfiguration),
		Entry(nil, 400, "TooManyBuckets", platform.ClassQuota),
		Entry(nil, 409, "BucketAlreadyExists", platform.ClassConfiguration),
		Entry(nil, 409, "OperationAborted", platform.ClassTransient),
		Entry(nil, 501, "NotImplemented", platform.ClassConfiguration),
		Entry(nil, 503, "SlowDown", platform.ClassTransient),
		Entry(nil, 500, "InternalError", platform.ClassTransient),
		Entry(nil, 507, "InsufficientStorage", platform.ClassExhausted),
	)

	It("should not take a bucket that became that of somebody else", func(ctx SpecContext) {
		l.answers["GET tagging"] = fault(http.StatusNotFound, "NoSuchBucket", "no")
		l.answers["PUT"] = fault(http.StatusConflict, "BucketAlreadyExists", "taken")
		_, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(l.count("PUT tagging")).To(BeZero())
	})

	It("should keep the other tags of a bucket that it adopts, and warn of a missing lifecycle", func(ctx SpecContext) {
		l.answers["GET tagging"] = answer(http.StatusOK, "<Tagging><TagSet><Tag><Key>team</Key><Value>a</Value></Tag></TagSet></Tagging>")
		l.answers["GET versions"] = listed(false)
		var set string
		l.answers["PUT tagging"] = func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			set = string(body)
			w.WriteHeader(http.StatusOK)
		}
		warnings, err := l.open(ctx).EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
		Expect(warnings).To(HaveExactElements(ContainSubstring("incomplete uploads")))
		Expect(set).To(SatisfyAll(ContainSubstring("<Key>team</Key>"), ContainSubstring("<Value>owner</Value>")))
	})

	It("should not weaken a retention in years", func(ctx SpecContext) {
		l.answers["GET object-lock"] = answer(http.StatusOK, "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule>"+
			"<DefaultRetention><Mode>COMPLIANCE</Mode><Years>1</Years></DefaultRetention></Rule></ObjectLockConfiguration>")
		l.answers["PUT object-lock"] = answer(http.StatusOK, "")
		retained := func(days int) func(*v1alpha1.S3BackupStore) {
			return func(s *v1alpha1.S3BackupStore) {
				s.Immutability = &v1alpha1.BackupImmutability{RetentionType: v1alpha1.BackupRetentionTypeBucket,
					RetentionPeriod: metav1.Duration{Duration: time.Duration(days) * 24 * time.Hour}, Mode: v1alpha1.BackupRetentionModeCompliance}
			}
		}
		_, err := l.open(ctx, retained(364)).EnsureBucket(ctx, bucket, owner)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		_, err = l.open(ctx, retained(365)).EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.count("PUT object-lock")).To(BeZero())
		_, err = l.open(ctx, retained(366)).EnsureBucket(ctx, bucket, owner)
		Expect(err).NotTo(HaveOccurred())
		Expect(l.count("PUT object-lock")).To(Equal(1))
	})

	It("should refuse prefixes that are those of all, without a request", func(ctx SpecContext) {
		for _, prefix := range []string{"", "/", "a", "/a/"} {
			Expect(platform.ClassOf(l.open(ctx).DeletePrefix(ctx, bucket, prefix))).To(Equal(platform.ClassConfiguration))
		}
		Expect(l.asked).To(BeEmpty())
	})

	It("should refuse endpoints and authorities that are not usable", func(ctx SpecContext) {
		for _, change := range []func(*v1alpha1.S3BackupStore){
			func(s *v1alpha1.S3BackupStore) { s.Endpoint = "http://s3.example.com" },
			func(s *v1alpha1.S3BackupStore) { s.Endpoint = "s3.example.com" },
			func(s *v1alpha1.S3BackupStore) { s.Endpoint = "https://s3.example.com/path" },
			func(s *v1alpha1.S3BackupStore) { s.CABundle = "none" },
		} {
			access := l.access()
			change(access.Config.S3)
			_, err := s3.New().Open(ctx, access)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		}
	})

	It("should return what etcd-backup-restore reads", func() {
		access := l.access()
		access.Config.S3.CABundle, access.Config.S3.Endpoint = "", "https://s3.example.com:9000"
		Expect(s3.New().SecretData(access)).To(Equal(map[string][]byte{
			"accessKeyID": []byte("key"), "secretAccessKey": []byte(secret), "region": []byte("racks-1"),
			"endpoint": []byte("https://s3.example.com:9000"), "s3ForcePathStyle": []byte("true"),
			"requestChecksumCalculation": []byte("when_required"), "responseChecksumValidation": []byte("when_required"),
		}))
		access.Config.S3.VirtualHosted, access.Config.S3.CABundle = true, "bundle"
		Expect(s3.New().SecretData(access)).To(SatisfyAll(
			HaveKeyWithValue("s3ForcePathStyle", []byte("false")), HaveKeyWithValue("trustedCaCert", []byte("bundle"))))
	})
})
