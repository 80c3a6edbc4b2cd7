// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	sharedtransport "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// concurrently calls do n times at once and returns the errors.
func concurrently(n int, do func() error) []error {
	var (
		group sync.WaitGroup
		errs  = make([]error, n)
	)
	for i := range n {
		group.Go(func() { errs[i] = do() })
	}
	group.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

func listPorts(ctx context.Context, session *Session) error {
	network, err := session.Network(ctx)
	if err != nil {
		return err
	}
	_, err = network.Get(ctx, network.ServiceURL("ports"), nil, nil)
	return Classify(err)
}

var _ = Describe("Sessions", func() {
	var (
		c        *cloud
		sessions *Sessions
	)

	BeforeEach(func() {
		c = newCloud(ok)
		sessions = NewSessions()
	})

	get := func(ctx context.Context) (*Session, error) {
		return sessions.Get(ctx, "cloud", c.connection(), credentials())
	}

	It("should log in once for many callers and serve them all", func(ctx SpecContext) {
		var found sync.Map
		Expect(concurrently(50, func() error {
			session, err := get(ctx)
			found.Store(session, nil)
			if err != nil {
				return err
			}
			return listPorts(ctx, session)
		})).To(BeEmpty())
		Expect(c.countLogins()).To(Equal(1))
		count := 0
		found.Range(func(any, any) bool { count++; return true })
		Expect(count).To(Equal(1))
	})

	It("should tell the services the name of the binary", func(ctx SpecContext) {
		agents := make(chan string, 1)
		c.serve = func(w http.ResponseWriter, r *http.Request) {
			agents <- r.UserAgent()
			ok(w, r)
		}
		session, err := get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(listPorts(ctx, session)).To(Succeed())
		Expect(agents).To(Receive(HavePrefix(filepath.Base(os.Args[0]) + " gophercloud/")))
	})

	It("should not remember a failed login", func(ctx SpecContext) {
		c.onLogin = func(w http.ResponseWriter, _ *http.Request) bool {
			if c.countLogins() > 1 {
				return false
			}
			answer(w, http.StatusUnauthorized, `{"error": {"code": 401, "message": "no"}}`)
			return true
		}
		_, err := get(ctx)
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
		Expect(err).To(MatchError(HavePrefix(`site "cloud": `)))
		Expect(get(ctx)).NotTo(BeNil())
		Expect(c.countLogins()).To(Equal(2))
	})

	It("should not log in again before the time that Keystone asked for is over", func(ctx SpecContext) {
		now := time.Now()
		sessions.retry.now = func() time.Time { return now }
		c.onLogin = func(w http.ResponseWriter, _ *http.Request) bool {
			if c.countLogins() > 1 {
				return false
			}
			w.Header().Set("Retry-After", "600")
			answer(w, http.StatusServiceUnavailable, ``)
			return true
		}
		for range 3 {
			_, err := get(ctx)
			var classified *platform.Error
			Expect(errors.As(err, &classified)).To(BeTrue())
			Expect(classified.Class).To(Equal(platform.ClassTransient))
			Expect(classified.RetryAfter).To(BeNumerically(">", 9*time.Minute))
		}
		Expect(c.countLogins()).To(Equal(1))

		now = now.Add(10 * time.Minute)
		Expect(get(ctx)).NotTo(BeNil())
		Expect(c.countLogins()).To(Equal(2))
	})

	It("should share a failed login between those who wait for it", func(ctx SpecContext) {
		const callers = 20
		began, waiting := make(chan struct{}), make(chan struct{})
		c.onLogin = func(w http.ResponseWriter, _ *http.Request) bool {
			close(began)
			<-waiting
			answer(w, http.StatusUnauthorized, ``)
			return true
		}
		first := make(chan error, 1)
		go func() {
			_, err := get(ctx)
			first <- err
		}()
		<-began

		var group sync.WaitGroup
		contexts := make(chan struct{}, callers)
		for range callers {
			group.Go(func() {
				defer GinkgoRecover()
				_, err := get(observed{ctx, contexts})
				Expect(platform.ClassOf(err)).To(Equal(platform.ClassUnauthenticated))
			})
		}
		for range callers {
			<-contexts
		}
		close(waiting)
		group.Wait()
		Expect(<-first).To(HaveOccurred())
		Expect(c.countLogins()).To(Equal(1))
	})

	It("should not end a login that others wait for when the first caller gives up", func(ctx SpecContext) {
		began, proceed := make(chan struct{}), make(chan struct{})
		c.onLogin = func(http.ResponseWriter, *http.Request) bool {
			close(began)
			<-proceed
			return false
		}
		impatient, cancel := context.WithCancel(ctx)
		gaveUp := make(chan error, 1)
		go func() {
			_, err := get(impatient)
			gaveUp <- err
		}()
		<-began
		cancel()
		err := <-gaveUp
		Expect(err).To(MatchError(context.Canceled))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))

		close(proceed)
		Expect(get(ctx)).NotTo(BeNil())
		Expect(c.countLogins()).To(Equal(1))
	})

	It("should log in anew with rotated credentials, and for another site or connection", func(ctx SpecContext) {
		old, err := get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(get(ctx)).To(BeIdenticalTo(old))

		rotated := site.Credentials{"applicationCredentialID": "id", "applicationCredentialSecret": secret}
		Expect(sessions.Get(ctx, "cloud", c.connection(), rotated)).NotTo(BeIdenticalTo(old))
		Expect(sessions.Get(ctx, "other", c.connection(), credentials())).NotTo(BeIdenticalTo(old))
		connection := c.connection()
		connection.TLS = tlsOf("", "", true)
		Expect(sessions.Get(ctx, "cloud", connection, credentials())).NotTo(BeIdenticalTo(old))
		Expect(c.countLogins()).To(Equal(4))
	})

	It("should let go of sessions that nobody used for long", func(ctx SpecContext) {
		sessions = newSessions(500*time.Millisecond, 20*time.Millisecond)
		idle, err := get(ctx)
		Expect(err).NotTo(HaveOccurred())
		kept, err := sessions.Get(ctx, "used", c.connection(), credentials())
		Expect(err).NotTo(HaveOccurred())
		Eventually(func(g Gomega) {
			g.Expect(sessions.Get(ctx, "used", c.connection(), credentials())).To(BeIdenticalTo(kept))
			g.Expect(c.closed.Load()).To(BeEquivalentTo(1))
		}, "5s", "20ms").Should(Succeed())

		Expect(get(ctx)).NotTo(BeIdenticalTo(idle))
		Expect(c.countLogins()).To(Equal(3))
	})

	Describe("an expired token", func() {
		It("should be renewed once for many callers", func(ctx SpecContext) {
			session, err := get(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(listPorts(ctx, session)).To(Succeed())

			// All are refused before the first of them can renew the token.
			var refused sync.WaitGroup
			refused.Add(sharedtransport.MaxConnectionsPerHost)
			c.onRefused = func() {
				refused.Done()
				refused.Wait()
			}
			c.expire()
			Expect(concurrently(sharedtransport.MaxConnectionsPerHost, func() error { return listPorts(ctx, session) })).To(BeEmpty())
			Expect(c.countLogins()).To(Equal(2))
		})

		It("should be renewed even if the caller that began it gives up", func(ctx SpecContext) {
			session, err := get(ctx)
			Expect(err).NotTo(HaveOccurred())
			token := session.provider.Token()
			c.expire()
			gaveUp, cancel := context.WithCancel(ctx)
			cancel()
			Expect(session.provider.Reauthenticate(gaveUp, token)).To(Succeed())
			Expect(session.provider.Token()).To(Equal("token-2"))
		})

		DescribeTable("that cannot be renewed",
			func(ctx SpecContext, code int, body string, class platform.Class) {
				session, err := get(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(listPorts(ctx, session)).To(Succeed())
				c.expire()
				c.onLogin = func(w http.ResponseWriter, _ *http.Request) bool {
					answer(w, code, body)
					return true
				}
				err = listPorts(ctx, session)
				Expect(platform.ClassOf(err)).To(Equal(class))
				Expect(IsNotFound(err)).To(BeFalse())
				Expect(c.countLogins()).To(Equal(2))
			},
			Entry("because the credentials are refused", 401, `{"error": {"code": 401, "message": "no"}}`, platform.ClassUnauthenticated),
			Entry("because Keystone is away", 503, ``, platform.ClassTransient),
			Entry("because a proxy does not find Keystone", 404, ``, platform.ClassTransient),
			Entry("because Keystone does not find the API", 404, `{"error": {"code": 404, "message": "Not found."}}`, platform.ClassConfiguration),
		)
	})

	DescribeTable("what is wrong with a login",
		func(ctx SpecContext, change func(site.Credentials), code int, body string, class platform.Class, message string) {
			if code > 0 {
				c.onLogin = func(w http.ResponseWriter, _ *http.Request) bool {
					answer(w, code, body)
					return true
				}
			}
			given := credentials()
			change(given)
			_, err := sessions.Get(ctx, "cloud", c.connection(), given)
			Expect(platform.ClassOf(err)).To(Equal(class))
			Expect(IsNotFound(err)).To(BeFalse())
			Expect(err).To(MatchError(And(HavePrefix(`site "cloud": `), ContainSubstring(message))))
		},
		Entry("wrong password", func(s site.Credentials) { s["password"] = "wrong" }, 0, "", platform.ClassUnauthenticated,
			"401 The request you have made requires authentication."),
		Entry("no password", func(s site.Credentials) { delete(s, "password") }, 0, "", platform.ClassConfiguration,
			`credentials: key "password" is missing`),
		Entry("no domain", func(s site.Credentials) { delete(s, "domainName") }, 0, "", platform.ClassConfiguration,
			`credentials: key "domainName" is missing`),
		Entry("no project", func(s site.Credentials) { delete(s, "tenantName") }, 0, "", platform.ClassConfiguration,
			`credentials: key "tenantName" is missing`),
		Entry("wrong URL", func(site.Credentials) {}, 404, `{"error": {"code": 404, "message": "Not found."}}`, platform.ClassConfiguration,
			"authURL: "),
		Entry("application credential that is gone", func(s site.Credentials) {
			s["applicationCredentialID"], s["applicationCredentialSecret"] = "ac-1", secret
		}, 404,
			`{"error": {"code": 404, "message": "Could not find Application Credential: ac-1.", "title": "Not Found"}}`,
			platform.ClassUnauthenticated,
			"the application credential does not exist: "),
		Entry("proxy without Keystone", func(site.Credentials) {}, 404, "nothing here", platform.ClassTransient, "404 Not Found"),
		Entry("Keystone's fault", func(site.Credentials) {}, 500, "", platform.ClassTransient, "500 Internal Server Error"),
	)

	It("should say which service the catalog lacks", func(ctx SpecContext) {
		connection := c.connection()
		connection.Region = "east"
		session, err := sessions.Get(ctx, "cloud", connection, credentials())
		Expect(err).NotTo(HaveOccurred())
		_, err = session.Compute(ctx)
		Expect(err).To(MatchError(HavePrefix(`site "cloud": openstack.region: the compute API has no usable public endpoint in region "east"`)))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
	})

	It("should return the same client of a service and the same value each time", func(ctx SpecContext) {
		session, err := get(ctx)
		Expect(err).NotTo(HaveOccurred())
		image, err := session.Image(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(session.Image(ctx)).To(BeIdenticalTo(image))
		Expect(session.Value("key", func() any { return 1 })).To(Equal(1))
		Expect(session.Value("key", func() any { return 2 })).To(Equal(1))
	})

	DescribeTable("should never show credentials in errors",
		func(ctx SpecContext, given site.Credentials, tokenExpires bool) {
			echo := func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				answer(w, http.StatusBadRequest, fmt.Sprintf(`{"error": {"code": 400, "message": %q}}`, strings.ReplaceAll(string(body), `"`, "'")))
			}
			var err error
			if tokenExpires {
				session, getErr := sessions.Get(ctx, "cloud", c.connection(), given)
				Expect(getErr).NotTo(HaveOccurred())
				Expect(listPorts(ctx, session)).To(Succeed())
				c.expire()
				c.onLogin = func(w http.ResponseWriter, r *http.Request) bool { echo(w, r); return true }
				err = listPorts(ctx, session)
			} else {
				c.onLogin = func(w http.ResponseWriter, r *http.Request) bool { echo(w, r); return true }
				_, err = sessions.Get(ctx, "cloud", c.connection(), given)
			}
			Expect(err).To(MatchError(ContainSubstring("***")))
			Expect(err).NotTo(MatchError(ContainSubstring("s3cret")))
		},
		Entry("password", credentials(), false),
		Entry("application credential", site.Credentials{"applicationCredentialID": "id", "applicationCredentialSecret": secret}, false),
		Entry("password, when the token is renewed", credentials(), true),
	)

	It("should never show a token in errors", func(ctx SpecContext) {
		c.serve = func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusForbidden, `{}`) }
		session, err := get(ctx)
		Expect(err).NotTo(HaveOccurred())
		err = listPorts(ctx, session)
		Expect(err).To(MatchError(HaveSuffix("/network/v2.0/ports: 403 Forbidden")))
		Expect(err).NotTo(MatchError(ContainSubstring(c.token())))
	})
})

// observed tells when somebody begins to wait for the context.
type observed struct {
	context.Context
	waits chan<- struct{}
}

func (o observed) Done() <-chan struct{} {
	o.waits <- struct{}{}
	return o.Context.Done()
}
