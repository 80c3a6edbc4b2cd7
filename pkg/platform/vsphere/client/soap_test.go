// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	content = `<returnval><rootFolder type="Folder">root</rootFolder><propertyCollector type="PropertyCollector">pc</propertyCollector>` +
		`<viewManager type="ViewManager">v</viewManager><about><name>n</name><fullName>f</fullName><vendor>v</vendor><version>8</version>` +
		`<build>1</build><osType>o</osType><productLineId>p</productLineId><apiType>VirtualCenter</apiType><apiVersion>8</apiVersion></about>` +
		`<sessionManager type="SessionManager">s</sessionManager><authorizationManager type="AuthorizationManager">a</authorizationManager>` +
		`<searchIndex type="SearchIndex">i</searchIndex></returnval>`
	login = `<returnval><key>k</key><userName>u</userName><fullName>u</fullName><loginTime>2026-01-01T00:00:00Z</loginTime>` +
		`<lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale><messageLocale>en</messageLocale></returnval>`
)

// vcenter answers the SOAP methods with what is in the map, and others as answer does.
func vcenter(answer func(method string) string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, _ := io.ReadAll(r.Body)
		_, method, _ := strings.Cut(string(request), "<Body><")
		method, _, _ = strings.Cut(method, " ")
		body := answer(method)
		if body == "" {
			body = map[string]string{"RetrieveServiceContent": content, "Login": login, "Logout": " "}[method]
		}
		if !strings.HasPrefix(body, "<Fault") && body != "none" {
			body = fmt.Sprintf(`<%sResponse xmlns="urn:vim25">%s</%sResponse>`, method, body, method)
		}
		if body == "none" {
			body = ""
		}
		fmt.Fprintf(w,
			`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`+
				`<Body>%s</Body></Envelope>`, body)
	}))
	DeferCleanup(server.Close)
	return server.URL
}

var _ = Describe("SOAP", func() {
	open := func(ctx context.Context, answer func(method string) string) (*Session, error) {
		sessions := NewSessions(Intervals{Idle: idleTimeout, KeepAlive: keepAliveInterval})
		DeferCleanup(sessions.Close)
		return sessions.Get(ctx, "vc", v1alpha1.VSphereConnection{Server: vcenter(answer)}, site.Credentials{"username": "u", "password": "p"})
	}
	only := func(method, body string) func(string) string {
		return func(asked string) string {
			if asked == method {
				return body
			}
			return ""
		}
	}
	beTransient := func(text string) OmegaMatcher {
		return SatisfyAll(MatchError(ContainSubstring(text)), WithTransform(platform.ClassOf, Equal(platform.ClassTransient)))
	}

	DescribeTable("should not log in at what does not answer",
		func(ctx SpecContext, method, body, reason string) {
			_, err := open(ctx, only(method, body))
			Expect(err).To(beTransient(reason))
		},
		Entry("that has an empty body", "RetrieveServiceContent", "none", "the answer to RetrieveServiceContent is missing"),
		Entry("that has no content", "RetrieveServiceContent", " ", "the answer to RetrieveServiceContent is empty"),
		Entry("that lacks services", "RetrieveServiceContent", strings.ReplaceAll(content, "searchIndex", "other"),
			"does not offer all required services"),
		Entry("that has an empty body after a login", "Login", "none", "the answer to Login is missing"),
		Entry("that has no session", "Login", " ", "the answer to Login is empty"),
	)

	It("should take no empty answer, and let methods that return nothing return nothing", func(ctx SpecContext) {
		session, err := open(ctx, only("CurrentTime", "none"))
		Expect(err).NotTo(HaveOccurred())
		_, err = methods.GetCurrentTime(ctx, session.VIM())
		Expect(err).To(beTransient("the answer to CurrentTime is missing"))
		session.logout()
	})

	It("should send nothing after the logout, and begin no other session", func(ctx SpecContext) {
		var asked atomic.Int32
		session, err := open(ctx, func(string) string {
			asked.Add(1)
			return ""
		})
		Expect(err).NotTo(HaveOccurred())
		session.logout()
		before := asked.Load()
		_, err = methods.GetCurrentTime(ctx, session.VIM())
		Expect(err).To(MatchError(errClosed))
		_, err = session.Tags().ListCategories(ctx)
		Expect(err).To(MatchError(errClosed))
		_, err = session.policies(ctx)
		Expect(err).To(MatchError(errClosed))
		Expect(session.mayLogIn()).To(MatchError(errClosed))
		Expect(asked.Load()).To(Equal(before))
	})

	It("should take no property for missing without a reason", func(ctx SpecContext) {
		session, err := open(ctx, only("RetrievePropertiesEx",
			`<returnval><objects><obj type="Folder">f</obj><missingSet><path>name</path></missingSet></objects></returnval>`))
		Expect(err).NotTo(HaveOccurred())
		Expect(session.CheckFolder(ctx, v1alpha1.VSphereConnection{}, "f")).To(beTransient("property name is missing without a reason"))
	})

	DescribeTable("should take no answer that tells nothing of a folder, or of something else",
		func(ctx SpecContext, answer, reason string, class platform.Class) {
			session, err := open(ctx, only("RetrievePropertiesEx", answer))
			Expect(err).NotTo(HaveOccurred())
			err = session.CheckFolder(ctx, v1alpha1.VSphereConnection{}, "f")
			Expect(err).To(MatchError(ContainSubstring(reason)))
			Expect(platform.ClassOf(err)).To(Equal(class))
		},
		Entry("without a returned value", " ", "returned nothing about Folder:f", platform.ClassForbidden),
		Entry("with an empty value", "<returnval></returnval>", "returned nothing about Folder:f", platform.ClassForbidden),
		Entry("with a page of nothing", "<returnval><token>0</token></returnval>", "returned nothing about Folder:f", platform.ClassForbidden),
		Entry("of another folder", `<returnval><objects><obj type="Folder">g</obj></objects></returnval>`, "returned Folder:g",
			platform.ClassTransient),
		Entry("of it twice", `<returnval>`+strings.Repeat(`<objects><obj type="Folder">f</obj></objects>`, 2)+`</returnval>`, "returned Folder:f",
			platform.ClassTransient),
	)

	DescribeTable("should find virtual machines only",
		func(ctx SpecContext, answer, reason string) {
			session, err := open(ctx, only("FindAllByUuid", answer))
			Expect(err).NotTo(HaveOccurred())
			found, err := session.findMachines(ctx, "u")
			if reason == "" {
				Expect(found, err).To(BeEmpty())
			} else {
				Expect(err).To(beTransient(reason))
			}
		},
		Entry("none", " ", ""),
		Entry("an empty value", "<returnval></returnval>", "the answer to FindAllByUuid contains an empty reference"),
		Entry("one without a type", "<returnval>vm-1</returnval>", "the answer to FindAllByUuid contains an empty reference"),
		Entry("something unknown", `<returnval type="Host">h</returnval>`, "returned Host:h, which is not a virtual machine"),
	)

	It("should follow no pages without end", func(ctx SpecContext) {
		var asked atomic.Int32
		session, err := open(ctx, func(method string) string {
			if !strings.Contains(method, "RetrievePropertiesEx") {
				return ""
			}
			asked.Add(1)
			return `<returnval><token>0</token><objects><obj type="Folder">f</obj></objects></returnval>`
		})
		Expect(err).NotTo(HaveOccurred())
		var contents []types.ObjectContent
		folder := types.ManagedObjectReference{Type: "Folder", Value: "f"}
		err = Classify(property.DefaultCollector(session.VIM()).Retrieve(ctx, []types.ManagedObjectReference{folder}, []string{"name"},
			&contents))
		Expect(err).To(beTransient("the list has more than 200 pages"))
		Expect(asked.Load()).To(BeEquivalentTo(200))
	})
})
