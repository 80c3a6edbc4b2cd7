// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"time"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// pageSize is the number of objects per request.
const pageSize = 100

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	Expect(json.NewEncoder(w).Encode(body)).To(Succeed())
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	answer(w, int(code), metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure,
		Code:     code,
		Reason:   reason,
		Message:  "refused",
	})
}

var _ = Describe("Session", func() {
	var (
		serve      http.HandlerFunc
		connection v1alpha1.MetalConnection
		sessions   *Sessions
		// sent is what the session sends its requests with.
		sent   http.RoundTripper
		server *httptest.Server
	)

	BeforeEach(func() {
		server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r) }))
		DeferCleanup(server.Close)
		connection = v1alpha1.MetalConnection{Server: server.URL, Namespace: "hosts", TLS: &v1alpha1.TLS{InsecureSkipVerify: true}}
		sessions = WrappedSessions(func(_ string, _ transport.Describer, next http.RoundTripper) http.RoundTripper {
			sent = next
			return next
		})
		DeferCleanup(sessions.Close)
	})

	open := func(ctx context.Context) *kubernetes.Session {
		GinkgoHelper()
		session, err := sessions.Get(ctx, "racks", connection, site.Credentials{"token": "t"})
		Expect(err).NotTo(HaveOccurred())
		return session
	}
	get := func(ctx context.Context) error {
		GinkgoHelper()
		return kubernetes.Classify(open(ctx).Client().Get(ctx, client.ObjectKey{Namespace: "hosts", Name: "h"}, &metal3v1alpha1.BareMetalHost{}))
	}

	It("should use the token, and count requests by group, verb and resource", func(ctx SpecContext) {
		var authorization string
		serve = func(w http.ResponseWriter, r *http.Request) {
			authorization = r.Header.Get("Authorization")
			refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		}
		Expect(kubernetes.IsNotFound(get(ctx))).To(BeTrue())
		Expect(authorization).To(Equal("Bearer t"))
		Expect(platform.RequestDuration.DeleteLabelValues("racks", "metal3.io", "get baremetalhosts", "404")).To(BeTrue())
	})

	It("should send the credentials nowhere else", func(ctx SpecContext) {
		asked := false
		other := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
		DeferCleanup(other.Close)
		serve = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
		Expect(get(ctx)).To(HaveOccurred())
		Expect(asked).To(BeFalse())
	})

	DescribeTable("should decide the class of answers",
		func(ctx SpecContext, code int, reason string, class platform.Class) {
			serve = func(w http.ResponseWriter, _ *http.Request) { refuse(w, int32(code), metav1.StatusReason(reason)) }
			Expect(platform.ClassOf(get(ctx))).To(Equal(class))
		},
		Entry("the token is refused", 401, "Unauthorized", platform.ClassUnauthenticated),
		Entry("it is not allowed", 403, "Forbidden", platform.ClassForbidden),
		Entry("there is no such object", 404, "NotFound", platform.ClassNotFound),
		Entry("it was changed meanwhile", 409, "Conflict", platform.ClassConflict),
		Entry("there is one already", 409, "AlreadyExists", platform.ClassConflict),
		Entry("it is invalid", 422, "Invalid", platform.ClassConfiguration),
		Entry("it makes no sense", 400, "BadRequest", platform.ClassConfiguration),
		Entry("it is too large", 413, "RequestEntityTooLarge", platform.ClassConfiguration),
		Entry("the API is in trouble", 500, "InternalError", platform.ClassTransient),
		Entry("the API is not ready", 503, "ServiceUnavailable", platform.ClassTransient),
		Entry("the API had no time", 504, "Timeout", platform.ClassTransient),
	)

	It("should take an API without the kind for a mistake, and not for the proof that the object does not exist", func(ctx SpecContext) {
		serve = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "404 page not found", http.StatusNotFound) }
		err := get(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(kubernetes.IsNotFound(err)).To(BeFalse())
		Expect(open(ctx).Resources(ctx, metal3v1alpha1.GroupVersion)).To(BeEmpty())
	})

	It("should read lists page by page, and not without end", func(ctx SpecContext) {
		requests, pages := 0, 3
		serve = func(w http.ResponseWriter, r *http.Request) {
			requests++
			list := metal3v1alpha1.BareMetalHostList{
				TypeMeta: metav1.TypeMeta{Kind: "BareMetalHostList", APIVersion: "metal3.io/v1alpha1"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items:    []metal3v1alpha1.BareMetalHost{{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(requests)}}},
			}
			if requests < pages {
				list.Continue = fmt.Sprint(requests)
			}
			if pages == 3 {
				Expect(r.URL.Query().Get("limit")).To(Equal("100"))
				Expect(r.URL.Query().Get("continue")).To(Equal(map[int]string{1: "", 2: "1", 3: "2"}[requests]))
			}
			answer(w, http.StatusOK, list)
		}
		hosts := &metal3v1alpha1.BareMetalHostList{}
		Expect(open(ctx).Client().List(ctx, hosts)).To(Succeed())
		Expect(hosts.Items).To(HaveExactElements(HaveField("Name", "1"), HaveField("Name", "2"), HaveField("Name", "3")))

		requests, pages = 0, 1000
		Expect(kubernetes.Classify(open(ctx).Client().List(ctx, hosts))).To(MatchError(ContainSubstring("the list has more than 200 pages")))

		// What watches use has no context of its own for a list.
		requests = 0
		for {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/apis/metal3.io/v1alpha1/baremetalhosts?continue=a", nil)
			Expect(err).NotTo(HaveOccurred())
			response, err := sent.RoundTrip(request)
			if err != nil {
				Expect(err).To(MatchError(ContainSubstring("the list has more than 200 pages")))
				break
			}
			Expect(response.Body.Close()).To(Succeed())
			Expect(requests).To(BeNumerically("<", 300))
		}
	})

	It("should read more hosts than could be kept with their hardware", func(ctx SpecContext) {
		const pages = 15
		host := metal3v1alpha1.BareMetalHost{Status: metal3v1alpha1.BareMetalHostStatus{
			HardwareDetails: &metal3v1alpha1.HardwareDetails{Hostname: strings.Repeat("x", 30<<10)},
		}}
		serve = func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			list := metal3v1alpha1.BareMetalHostList{
				TypeMeta: metav1.TypeMeta{Kind: "BareMetalHostList", APIVersion: "metal3.io/v1alpha1"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				Items:    slices.Repeat([]metal3v1alpha1.BareMetalHost{host}, pageSize),
			}
			if page++; page < pages {
				list.Continue = strconv.Itoa(page)
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(list) // the session hangs up on the page that is too much
		}
		hosts := &metal3v1alpha1.BareMetalHostList{}
		Expect(kubernetes.Classify(open(ctx).Client().List(ctx, hosts))).To(MatchError(ContainSubstring("the pages of the list are larger")))
		Expect(open(ctx).Client().List(ctx, hosts, kubernetes.Stripped(func(object any) (any, error) {
			object.(*metal3v1alpha1.BareMetalHost).Status.HardwareDetails = nil
			return object, nil
		}))).To(Succeed())
		Expect(hosts.Items).To(And(HaveLen(pages*pageSize), HaveEach(HaveField("Status.HardwareDetails", BeNil()))))
	})

	DescribeTable("should take no JSON for an object or a list that is neither",
		func(ctx SpecContext, body string) {
			serve = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, body)
			}
			Expect(get(ctx)).To(MatchError(ContainSubstring("the response of the API is not the object")))
			Expect(open(ctx).Client().List(ctx, &metal3v1alpha1.BareMetalHostList{})).To(MatchError("the response of the API is not a list"))
		},
		Entry("an empty object", "{}"),
		Entry("null", "null"),
		Entry("an object that does not exist", `{"metadata": {"name": "h"}}`),
	)

	DescribeTable("should decode nothing but JSON",
		func(ctx SpecContext, contentType, body string) {
			serve = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				fmt.Fprint(w, body)
			}
			Expect(get(ctx)).To(HaveOccurred())
			Expect(platform.ClassOf(get(ctx))).To(Equal(platform.ClassTransient))
		},
		Entry(nil, "application/yaml", "kind: BareMetalHost\napiVersion: metal3.io/v1alpha1\n"),
		Entry(nil, "application/vnd.kubernetes.protobuf", "k8s\x00"),
		Entry(nil, "", `{"kind": "BareMetalHost", "apiVersion": "metal3.io/v1alpha1"}`),
	)

	It("should ask for nothing but JSON, of metadata too", func(ctx SpecContext) {
		serve = func(w http.ResponseWriter, r *http.Request) {
			accept := r.Header.Get("Accept")
			if !strings.HasPrefix(accept, "application/json;as=PartialObjectMetadata;") || strings.Contains(accept, "protobuf") {
				w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
				return
			}
			answer(w, http.StatusOK, metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
				ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u"},
			})
		}
		metadata := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "m"}}
		metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		Expect(open(ctx).Client().Patch(ctx, metadata, client.RawPatch(types.MergePatchType, []byte(`{}`)))).To(Succeed())
		Expect(metadata.UID).To(BeEquivalentTo("u"))
	})

	It("should list what the API serves", func(ctx SpecContext) {
		serve = func(w http.ResponseWriter, r *http.Request) {
			Expect(r.URL.Path).To(Equal("/apis/metal3.io/v1alpha1"))
			answer(w, http.StatusOK, metav1.APIResourceList{
				TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
				APIResources: []metav1.APIResource{{Name: "baremetalhosts", Kind: "BareMetalHost"}},
			})
		}
		Expect(open(ctx).Resources(ctx, metal3v1alpha1.GroupVersion)).To(ConsistOf("baremetalhosts"))
	})

	DescribeTable("should tell a Kubernetes API from other servers", func(ctx SpecContext, code int, content string, is bool) {
		serve = func(w http.ResponseWriter, r *http.Request) {
			Expect(r.URL.Path).To(Equal("/version"))
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, content)
		}
		Expect(open(ctx).IsKubernetes(ctx)).To(Equal(is))
	},
		Entry("a version", http.StatusOK, `{"gitVersion": "v1.36.0"}`, true),
		Entry("another document", http.StatusOK, `{"version": "8.0"}`, false),
		Entry("a page", http.StatusOK, `<html>`, false),
		Entry("no page", http.StatusNotFound, `404 page not found`, false),
		Entry("a refusal", http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden"}`, true),
	)

	DescribeTable("should not wait for the time that the API asks for, but tell it",
		func(ctx SpecContext, code int) {
			requests := 0
			serve = func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(code)
			}
			var classified *platform.Error
			Expect(errors.As(get(ctx), &classified)).To(BeTrue())
			Expect(classified.Class).To(Equal(platform.ClassTransient))
			Expect(classified.RetryAfter).To(Equal(7 * time.Second))
			Expect(requests).To(Equal(1))
		},
		Entry("too many requests", http.StatusTooManyRequests),
		Entry("unavailable", http.StatusServiceUnavailable),
	)

	It("should end calls that get no answer, and not watches", func(ctx SpecContext) {
		connection.RequestTimeout = &metav1.Duration{Duration: 200 * time.Millisecond}
		stop := make(chan struct{})
		DeferCleanup(func() { close(stop) })
		serve = func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/h"):
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				<-stop
				return
			case r.URL.Query().Get("watch") != "true":
				answer(w, http.StatusOK, metal3v1alpha1.BareMetalHostList{
					TypeMeta: metav1.TypeMeta{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHostList"},
					ListMeta: metav1.ListMeta{ResourceVersion: "1"},
				})
				return
			}
			w.Header().Set("Content-Type", "application/json")
			encoder := json.NewEncoder(w)
			event := func(kind, name string) {
				host := metal3v1alpha1.BareMetalHost{
					TypeMeta:   metav1.TypeMeta{APIVersion: "metal3.io/v1alpha1", Kind: "BareMetalHost"},
					ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: name, ResourceVersion: "1"},
				}
				if kind == "BOOKMARK" {
					host.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
				}
				Expect(encoder.Encode(map[string]any{"type": kind, "object": host})).To(Succeed())
				w.(http.Flusher).Flush()
			}
			event("ADDED", "first")
			event("BOOKMARK", "")
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			<-timer.C
			event("ADDED", "late")
			<-stop
		}
		Expect(platform.ClassOf(get(ctx))).To(Equal(platform.ClassTransient))

		names := func(g Gomega) []string {
			hosts := open(ctx).Reader(ctx, "hosts", cache.Options{DefaultNamespaces: map[string]cache.Config{"hosts": {}}},
				&metal3v1alpha1.BareMetalHost{})
			var list metal3v1alpha1.BareMetalHostList
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			g.Expect(hosts.List(ctx, &list)).To(Succeed())
			var result []string
			for _, host := range list.Items {
				result = append(result, host.Name)
			}
			return result
		}
		Eventually(names, "5s").Should(ContainElement("first"))
		Eventually(names, "5s").Should(ContainElement("late"))
		Expect(platform.RequestDuration.DeleteLabelValues("racks", "metal3.io", "watch baremetalhosts", "200")).To(BeTrue())
	})

	It("should share one session and one cache", func(ctx SpecContext) {
		Expect(open(ctx)).To(BeIdenticalTo(open(ctx)))
		first := open(ctx).Reader(ctx, "hosts", cache.Options{})
		Expect(kubernetes.IsLive(first)).To(BeFalse())
		Expect(open(ctx).Reader(ctx, "hosts", cache.Options{})).To(BeIdenticalTo(first))
	})

	DescribeTable("should say what is wrong with the connection or the credentials",
		func(ctx SpecContext, change func(), credentials site.Credentials, message string) {
			change()
			_, err := sessions.Get(ctx, "racks", connection, credentials)
			Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
			Expect(err).To(MatchError(And(HavePrefix(`site "racks": `), ContainSubstring(message), Not(ContainSubstring("hidden")))))
		},
		Entry("no credentials", func() {}, site.Credentials{}, `key "clientCertificate" is missing`),
		Entry("no key", func() {}, site.Credentials{"clientCertificate": "hidden"}, `key "clientKey" is missing`),
		Entry("no certificate", func() {}, site.Credentials{"clientCertificate": "hidden", "clientKey": "hidden"},
			`clientCertificate and clientKey`),
		Entry("no address", func() { connection.Server = "racks" }, site.Credentials{"token": "hidden"}, `metal.server "racks"`),
		Entry("no CA", func() { connection.TLS = &v1alpha1.TLS{CACert: "x"} }, site.Credentials{"token": "hidden"}, `tls.caCert`),
	)

	It("should not trust a server that the configuration does not", func(ctx SpecContext) {
		connection.TLS = nil
		Expect(platform.ClassOf(get(ctx))).To(Equal(platform.ClassConfiguration))
	})

	It("should take a server that does not answer for transient", func(ctx SpecContext) {
		server.Close()
		Expect(platform.ClassOf(get(ctx))).To(Equal(platform.ClassTransient))
	})

	It("should keep a change of a Secret to the fields that it has", func(ctx SpecContext) {
		var sent map[string]any
		serve = func(w http.ResponseWriter, r *http.Request) {
			Expect(r.Header.Get("Content-Type")).To(Equal("application/merge-patch+json"))
			Expect(json.NewDecoder(r.Body).Decode(&sent)).To(Succeed())
			answer(w, http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}})
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hosts", Name: "s"}}
		Expect(open(ctx).Client().Patch(ctx, secret,
			client.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"YQ=="}}`)))).To(Succeed())
		Expect(sent).To(HaveLen(1))
	})
})
