// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

var _ = Describe("Key pair", func() {
	flowOf := func(shoot, siteName, key string) *flow {
		s := &site.Site{Name: siteName, SSHPublicKey: []byte(key)}
		persist := func(context.Context, *v1alpha1.SiteState) error { return nil }
		return &flow{recorder: newRecorder(s, v1alpha1.OpenStackConnection{}, persist), owner: owner.Owner{Shoot: shoot, Site: siteName}, site: s}
	}
	f := flowOf("shoot--local--a", "cloud", "ssh-rsa AAAA\n")

	It("should be named after its owner and its public key without white space around it", func() {
		Expect(f.publicKey()).To(Equal("ssh-rsa AAAA"))
		Expect(f.keyPairName(f.publicKey())).To(MatchRegexp(`^shoot--local--a-cloud-[0-9a-f]{16}$`))
		Expect(f.keyPairName("ssh-rsa AAAA")).To(Equal(f.keyPairName(f.publicKey())))
		Expect(f.keyPairName("ssh-rsa BBBB")).NotTo(Equal(f.keyPairName(f.publicKey())))
	})

	DescribeTable("ownsKeyPair",
		func(name, key string, expected bool) {
			Expect(f.ownsKeyPair(keypairs.KeyPair{Name: name, PublicKey: key})).To(Equal(expected))
		},
		Entry("ours", f.keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA", true),
		Entry("ours, with the line end that the API keeps", f.keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA\n", true),
		Entry("ours, of an earlier key", f.keyPairName("ssh-rsa OLD"), "ssh-rsa OLD", true),
		Entry("our name with another key", f.keyPairName("ssh-rsa AAAA"), "ssh-rsa BBBB", false),
		Entry("our key under another name", "mine", "ssh-rsa AAAA", false),
		Entry("that of a shoot whose name begins with ours", flowOf("shoot--local--a-cloud", "cloud", "").keyPairName("ssh-rsa AAAA"),
			"ssh-rsa AAAA", false),
		Entry("that of a shoot and a site whose names make the same name", flowOf("shoot--local", "a-cloud", "").keyPairName("ssh-rsa AAAA"),
			"ssh-rsa AAAA", false),
		Entry("one of version 0.1 that the state does not know", f.formerKeyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA", false),
		Entry("that of another site", flowOf("shoot--local--a", "cloud2", "").keyPairName("ssh-rsa AAAA"), "ssh-rsa AAAA", false),
	)

	Describe("on a site", func() {
		var (
			f     *flow
			api   *httptest.Server
			pairs map[string]keypairs.KeyPair
			state *v1alpha1.OpenStackState
		)

		BeforeEach(func() {
			pairs, state = map[string]keypairs.KeyPair{}, &v1alpha1.OpenStackState{}
			api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				name := path.Base(r.URL.Path)
				switch _, exists := pairs[name]; {
				case r.Method == http.MethodPost:
					var body struct {
						KeyPair keypairs.KeyPair `json:"keypair"`
					}
					_ = json.NewDecoder(r.Body).Decode(&body)
					pairs[body.KeyPair.Name] = body.KeyPair
					_ = json.NewEncoder(w).Encode(map[string]any{"keypair": body.KeyPair})
				case r.Method == http.MethodDelete:
					delete(pairs, name)
					w.WriteHeader(http.StatusAccepted)
				case r.URL.Path == "/os-keypairs":
					found := []any{}
					for _, pair := range pairs {
						found = append(found, map[string]any{"keypair": pair})
					}
					_ = json.NewEncoder(w).Encode(map[string]any{"keypairs": found})
				case exists:
					_ = json.NewEncoder(w).Encode(map[string]any{"keypair": pairs[name]})
				default:
					w.WriteHeader(http.StatusNotFound)
					_, _ = w.Write([]byte(`{"itemNotFound": {"code": 404, "message": "Keypair not found"}}`))
				}
			}))
			DeferCleanup(api.Close)
		})

		// reconcile is the part of a reconciliation of a shoot that is about its key pair.
		reconcile := func(ctx context.Context, shoot, siteName, key string) *flow {
			GinkgoHelper()
			s := &site.Site{Name: siteName, SSHPublicKey: []byte(key), State: &v1alpha1.SiteState{OpenStack: state}}
			persist := func(_ context.Context, saved *v1alpha1.SiteState) error {
				state = saved.OpenStack
				return nil
			}
			f = &flow{
				recorder: newRecorder(s, v1alpha1.OpenStackConnection{}, persist), owner: owner.Owner{Shoot: shoot, Site: siteName}, site: s,
				compute: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: api.URL + "/"},
			}
			Expect(observeKeyPair(ctx, f)).To(Succeed())
			Expect(ensureKeyPair(ctx, f)).To(Succeed())
			return f
		}
		namesOf := func() []string { return slices.Sorted(maps.Keys(pairs)) }

		It("should not be deleted with that of another shoot and site whose names make the same name", func(ctx SpecContext) {
			prod := reconcile(ctx, "shoot--p--prod", "eu-west", "ssh-rsa AAAA")
			state = &v1alpha1.OpenStackState{}
			prodEU := reconcile(ctx, "shoot--p--prod-eu", "west", "ssh-rsa BBBB")
			Expect(pairs).To(HaveLen(2))
			Expect(deleteKeyPairs(ctx, prod)).To(Succeed())
			Expect(namesOf()).To(ConsistOf(prodEU.keyPairName("ssh-rsa BBBB")))
		})

		It("should stay the one of version 0.1 until it is rotated, and be deleted by the rotation after that", func(ctx SpecContext) {
			old := flowOf("shoot--p--a", "cloud", "").formerKeyPairName("ssh-rsa AAAA")
			foreign := flowOf("shoot--p--a", "cloud", "").formerKeyPairName("ssh-rsa FFFF")
			pairs[old] = keypairs.KeyPair{Name: old, PublicKey: "ssh-rsa AAAA"}
			pairs[foreign] = keypairs.KeyPair{Name: foreign, PublicKey: "ssh-rsa FFFF"}
			state.KeyPair = &v1alpha1.OpenStackObject{ID: old, Managed: true}

			reconcile(ctx, "shoot--p--a", "cloud", "ssh-rsa AAAA")
			Expect(namesOf()).To(ConsistOf(old, foreign))
			Expect(state.KeyPair.ID).To(Equal(old))

			reconcile(ctx, "shoot--p--a", "cloud", "ssh-rsa BBBB")
			second := f.keyPairName("ssh-rsa BBBB")
			Expect(namesOf()).To(ConsistOf(old, second, foreign), "machine classes may still name the old one")

			reconcile(ctx, "shoot--p--a", "cloud", "ssh-rsa CCCC")
			Expect(namesOf()).To(ConsistOf(second, f.keyPairName("ssh-rsa CCCC"), foreign))
			Expect(deleteKeyPairs(ctx, f)).To(Succeed())
			Expect(namesOf()).To(ConsistOf(foreign))
		})
	})
})
