// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package openstack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/sharenetworks"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

var _ = suite.Nightly("Share network", func() {
	var (
		shoot  string
		s      *site.Site
		part   platform.Infrastructure
		shares *gophercloud.ServiceClient
	)

	BeforeEach(func(ctx SpecContext) {
		shoot = shootName()
		s = newSite(shoot)
		s.SSHPublicKey = nil
		s.Config.OpenStack.ShareNetwork = &v1alpha1.OpenStackShareNetwork{Enabled: true}
		part = infrastructure.New(newSessions())
		DeferCleanup(func(ctx SpecContext) {
			Expect(proxy.SetFaults()).To(Succeed())
			Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		})
		var err error
		shares, err = gopheropenstack.NewSharedFileSystemV2(signedIn(ctx), gophercloud.EndpointOpts{Region: credentials.Region})
		Expect(err).NotTo(HaveOccurred())
	})

	named := func(ctx SpecContext) []sharenetworks.ShareNetwork {
		GinkgoHelper()
		page, err := sharenetworks.ListDetail(shares, sharenetworks.ListOpts{Name: owner.Owner{Shoot: shoot, Site: s.Name}.Name()}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := sharenetworks.ExtractShareNetworks(page)
		Expect(err).NotTo(HaveOccurred())
		return found
	}

	It("should be in the subnet of the nodes, cost one read, and go with the infrastructure", func(ctx SpecContext) {
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(named(ctx)).To(ConsistOf(And(
			HaveField("ID", status.OpenStack.ShareNetworkID),
			HaveField("NeutronNetID", status.OpenStack.NetworkID),
			HaveField("NeutronSubnetID", status.OpenStack.SubnetID),
			HaveField("Description", owner.Owner{Shoot: shoot, Site: s.Name}.Description()),
		)))
		Expect(s.State.OpenStack.ShareNetwork).To(Equal(&v1alpha1.OpenStackObject{ID: status.OpenStack.ShareNetworkID, Managed: true}))

		requests := label("share network no-op")
		Expect(part.Reconcile(ctx, s,
			func(context.Context, *v1alpha1.SiteState) error { return errors.New("nothing is to be persisted") })).To(Equal(status))
		Expect(requests()).To(HaveEach(HaveField("Kind", countproxy.KindRead)))
		Expect(slices.DeleteFunc(requests(), func(r countproxy.Request) bool { return r.Service != "manila" })).To(HaveLen(1))
		Expect(len(requests())).To(BeNumerically("<=", 7))

		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(named(ctx)).To(BeEmpty())
		Expect(s.State.OpenStack.ShareNetwork).To(BeNil())
	})

	It("should go when it is not wanted any more, and then not be asked for", func(ctx SpecContext) {
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		s.Config.OpenStack.ShareNetwork.Enabled = false
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(status.OpenStack.ShareNetworkID).To(BeEmpty())
		Expect(named(ctx)).To(BeEmpty())
		Expect(s.State.OpenStack.ShareNetwork).To(BeNil())

		requests := label("no share network")
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(requests()).NotTo(ContainElement(HaveField("Service", "manila")))
	})

	It("should find again the one whose answer was lost, and leave one that is not ours", func(ctx SpecContext) {
		foreign, err := sharenetworks.Create(ctx, shares, sharenetworks.CreateOpts{
			Name: owner.Owner{Shoot: shoot, Site: s.Name}.Name(), NeutronNetID: missing, NeutronSubnetID: missing,
		}).Extract()
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(sharenetworks.Delete(ctx, shares, foreign.ID).ExtractErr()).To(Succeed())
		})

		Expect(proxy.SetFaults(countproxy.Fault{Service: "manila", Method: http.MethodPost, Path: "/share-networks$", Times: 1, After: true,
			Action: countproxy.ActionReset})).To(Succeed())
		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassTransient))
		Expect(err).To(MatchError(ContainSubstring("openstack.shareNetwork")))
		Expect(s.State.OpenStack.ShareNetwork).To(BeNil())

		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(named(ctx)).To(ConsistOf(HaveField("ID", foreign.ID), HaveField("ID", status.OpenStack.ShareNetworkID)))
		Expect(status.OpenStack.ShareNetworkID).NotTo(Equal(foreign.ID))

		s.State = nil
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(named(ctx)).To(ConsistOf(HaveField("ID", foreign.ID)))
	})

	It("should move to the subnet of the nodes if that was made anew", func(ctx SpecContext) {
		status, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		_, err = sharenetworks.Update(ctx, shares, status.OpenStack.ShareNetworkID,
			sharenetworks.UpdateOpts{NeutronNetID: missing, NeutronSubnetID: missing}).Extract()
		Expect(err).NotTo(HaveOccurred())
		Expect(part.Reconcile(ctx, s, keep(s))).To(Equal(status))
		Expect(named(ctx)).To(ConsistOf(And(
			HaveField("ID", status.OpenStack.ShareNetworkID),
			HaveField("NeutronNetID", status.OpenStack.NetworkID),
			HaveField("NeutronSubnetID", status.OpenStack.SubnetID),
		)))
	})

	It("should name field and site if the catalog has no such service, and delete the site nevertheless", func(ctx SpecContext) {
		s.Profile.OpenStack.AuthURL = keystoneWithout("sharev2")
		findings, err := part.Validate(ctx, s, platform.ValidationRequest{Path: field.NewPath("sites").Index(0)})
		Expect(err).NotTo(HaveOccurred())
		Expect(findings.Found).To(ConsistOf(HaveField("Field", "sites[0].openstack.shareNetwork")))

		_, err = part.Reconcile(ctx, s, keep(s))
		Expect(err).To(MatchError(And(ContainSubstring(`site "cloud"`), ContainSubstring("openstack.shareNetwork"))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConfiguration))
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
		Expect(inspector.Objects(ctx, shoot)).To(BeEmpty())
	})

	It("should not be in the way of a site that has none when its service is not allowed", func(ctx SpecContext) {
		s.Config.OpenStack.ShareNetwork = nil
		_, err := part.Reconcile(ctx, s, keep(s))
		Expect(err).NotTo(HaveOccurred())
		Expect(proxy.SetFaults(countproxy.Fault{Service: "manila", Times: 100, Action: countproxy.ActionStatus,
			Status: http.StatusForbidden})).To(Succeed())
		Expect(part.Delete(ctx, s, keep(s))).To(Succeed())
	})
})

// keystoneWithout is the address of the landscape's Keystone whose catalog lacks the services of a type.
func keystoneWithout(serviceType string) string {
	upstream, err := url.Parse(credentials.AuthURL)
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: upstream.Scheme, Host: upstream.Host})
			r.Out.Header.Del("Accept-Encoding")
		},
		ModifyResponse: func(response *http.Response) error { return withoutService(response, serviceType) },
	})
	DeferCleanup(server.Close)
	return server.URL + upstream.Path
}

// withoutService removes a service from the catalog of a token.
func withoutService(response *http.Response, serviceType string) error {
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var body struct {
		Token map[string]json.RawMessage `json:"token"`
	}
	if json.Unmarshal(content, &body) == nil && body.Token["catalog"] != nil {
		var catalog []map[string]json.RawMessage
		if err := json.Unmarshal(body.Token["catalog"], &catalog); err != nil {
			return err
		}
		catalog = slices.DeleteFunc(catalog, func(service map[string]json.RawMessage) bool {
			return string(service["type"]) == strconv.Quote(serviceType)
		})
		if body.Token["catalog"], err = json.Marshal(catalog); err != nil {
			return err
		}
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	response.ContentLength = int64(len(content))
	response.Header.Set("Content-Length", strconv.Itoa(len(content)))
	return nil
}
