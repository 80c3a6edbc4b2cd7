// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	metalv1alpha1 "github.com/ironcore-dev/metal-operator/api/v1alpha1"
	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	staticv1alpha1 "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/static/v1alpha1"
)

const (
	pathHosts       = "/apis/metal3.io/v1alpha1/namespaces/hosts/baremetalhosts"
	pathClaims      = "/apis/metal.ironcore.dev/v1alpha1/namespaces/hosts/serverclaims"
	pathServers     = "/apis/metal.ironcore.dev/v1alpha1/servers"
	pathStaticHosts = "/apis/static.hybrid.provider.extensions.gardener.cloud/v1alpha1/namespaces/hosts/statichosts"
	pathIPClaims    = "/apis/ipam.cluster.x-k8s.io/v1beta1/namespaces/hosts/ipaddressclaims"
	pathAddresses   = "/apis/ipam.cluster.x-k8s.io/v1beta1/namespaces/hosts/ipaddresses"
)

// api is the API of an inventory. It answers reads of objects by their path.
type api struct {
	server  *httptest.Server
	objects map[string]client.Object
	// answers replace the answers to paths that begin with the key.
	answers map[string]func(http.ResponseWriter)
	// pools is whether claims of addresses are served.
	pools    bool
	requests []string
}

func newAPI() *api {
	a := &api{objects: map[string]client.Object{}, answers: map[string]func(http.ResponseWriter){}}
	a.server = httptest.NewTLSServer(a)
	DeferCleanup(a.server.Close)
	return a
}

func (a *api) put(path string, objects ...client.Object) {
	for _, object := range objects {
		object.SetUID(types.UID(object.GetName()))
		a.objects[path+"/"+object.GetName()] = object
	}
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer GinkgoRecover()
	a.requests = append(a.requests, r.Method+" "+r.URL.Path)
	Expect(r.Method).To(Equal(http.MethodGet), "nothing is written")
	for path, answer := range a.answers {
		if strings.HasPrefix(r.URL.Path, path) {
			answer(w)
			return
		}
	}
	if object, ok := a.objects[r.URL.Path]; ok {
		send(w, http.StatusOK, object)
		return
	}
	switch r.URL.Path {
	case pathHosts:
		list := &metal3v1alpha1.BareMetalHostList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for _, object := range a.list(r) {
			list.Items = append(list.Items, *object.(*metal3v1alpha1.BareMetalHost))
		}
		send(w, http.StatusOK, list)
	case pathStaticHosts:
		list := &staticv1alpha1.StaticHostList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for _, object := range a.list(r) {
			list.Items = append(list.Items, *object.(*staticv1alpha1.StaticHost))
		}
		send(w, http.StatusOK, list)
	case pathClaims:
		list := &metalv1alpha1.ServerClaimList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for _, object := range a.list(r) {
			list.Items = append(list.Items, *object.(*metalv1alpha1.ServerClaim))
		}
		send(w, http.StatusOK, list)
	case pathServers:
		send(w, http.StatusOK, &metalv1alpha1.ServerList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	case "/api":
		send(w, http.StatusOK, &metav1.APIVersions{})
	case "/apis":
		groups := &metav1.APIGroupList{}
		if a.pools {
			groups.Groups = []metav1.APIGroup{poolGroup}
		}
		send(w, http.StatusOK, groups)
	case "/apis/ipam.cluster.x-k8s.io":
		a.sendIfPools(w, &poolGroup)
	case "/apis/ipam.cluster.x-k8s.io/v1beta1":
		a.sendIfPools(w, &metav1.APIResourceList{GroupVersion: "ipam.cluster.x-k8s.io/v1beta1", APIResources: []metav1.APIResource{
			{Name: "ipaddressclaims", Namespaced: true, Kind: "IPAddressClaim"}, {Name: "ipaddresses", Namespaced: true, Kind: "IPAddress"},
		}})
	default:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)(w)
	}
}

var poolGroup = metav1.APIGroup{
	Name:             "ipam.cluster.x-k8s.io",
	Versions:         []metav1.GroupVersionForDiscovery{{GroupVersion: "ipam.cluster.x-k8s.io/v1beta1", Version: "v1beta1"}},
	PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "ipam.cluster.x-k8s.io/v1beta1", Version: "v1beta1"},
}

func (a *api) sendIfPools(w http.ResponseWriter, body any) {
	if !a.pools {
		plain404(w)
		return
	}
	send(w, http.StatusOK, body)
}

func (a *api) list(r *http.Request) []client.Object {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	Expect(err).NotTo(HaveOccurred())
	var result []client.Object
	for path, object := range a.objects {
		if strings.HasPrefix(path, r.URL.Path+"/") && selector.Matches(labels.Set(object.GetLabels())) {
			result = append(result, object)
		}
	}
	return result
}

func send(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	Expect(json.NewEncoder(w).Encode(body)).To(Succeed())
}

func refuse(code int, reason metav1.StatusReason) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		send(w, code, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1",
				Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: "refused",
		})
	}
}

// plain404 is the answer for what is not served, and that of proxies.
func plain404(w http.ResponseWriter) {
	http.Error(w, "404 page not found", http.StatusNotFound)
}

// address puts the claim of a machine for an address of a pool, which it got unless the address is empty.
func (a *api) address(machine, address string, of map[string]string) {
	a.pools = true
	claim := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim"}}
	claim.SetName(machine)
	claim.SetLabels(of)
	if address != "" {
		claim.Object["status"] = map[string]any{"addressRef": map[string]any{"name": "given"}}
		given := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddress",
			"spec": map[string]any{"address": address, "prefix": int64(18), "claimRef": map[string]any{"name": machine}},
		}}
		given.SetName("given")
		a.put(pathAddresses, given)
	}
	a.put(pathIPClaims, claim)
}
