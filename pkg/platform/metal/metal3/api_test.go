// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const pathHosts = "/apis/metal3.io/v1alpha1/namespaces/hosts/baremetalhosts"

// api is the API of an inventory. It has hosts and nothing else.
type api struct{ client client.Client }

// newInventory returns an inventory with the hosts, which is not watched.
func newInventory(ctx context.Context, hosts ...client.Object) (inventory.Inventory, client.Client) {
	GinkgoHelper()
	scheme := runtime.NewScheme()
	Expect(metal3v1alpha1.AddToScheme(scheme)).To(Succeed())
	for _, host := range hosts {
		host.SetUID(types.UID(host.GetName()))
	}
	a := &api{client: fakeclient.NewClientBuilder().WithScheme(scheme).WithObjects(hosts...).Build()}
	server := httptest.NewTLSServer(a)
	DeferCleanup(server.Close)
	sessions := metalclient.NewSessions()
	DeferCleanup(sessions.Close)
	connection := v1alpha1.MetalConnection{Server: server.URL, Namespace: "hosts", TLS: &v1alpha1.TLS{InsecureSkipVerify: true}}
	session, err := sessions.Get(ctx, shoot.Site, connection, site.Credentials{"token": "t"})
	Expect(err).NotTo(HaveOccurred())
	return New(session, inventory.Options{Owner: shoot}), a.client
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer GinkgoRecover()
	body, err := a.answer(r)
	status := http.StatusOK
	if err != nil {
		var refused *apierrors.StatusError
		Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
		refused.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		body, status = refused.ErrStatus, int(refused.ErrStatus.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	Expect(json.NewEncoder(w).Encode(body)).To(Succeed())
}

// answer refuses what baremetal-operator refuses.
func (a *api) answer(r *http.Request) (any, error) {
	dir, name := path.Split(r.URL.Path)
	switch {
	case r.URL.Path == pathHosts:
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		Expect(err).NotTo(HaveOccurred())
		list := &metal3v1alpha1.BareMetalHostList{}
		err = a.client.List(r.Context(), list, client.MatchingLabelsSelector{Selector: selector})
		list.ResourceVersion = "1"
		return list, err
	case dir != pathHosts+"/":
		return nil, apierrors.NewNotFound(corev1.Resource("secrets"), name)
	}
	host := &metal3v1alpha1.BareMetalHost{}
	if err := a.client.Get(r.Context(), client.ObjectKey{Namespace: "hosts", Name: name}, host); err != nil || r.Method != http.MethodPatch {
		return host, err
	}
	patch, err := io.ReadAll(r.Body)
	Expect(err).NotTo(HaveOccurred())
	patched := host.DeepCopy()
	Expect(json.Unmarshal(patch, patched)).To(Succeed())
	if patched.Spec.DisablePowerOff && !patched.Spec.Online {
		return nil, apierrors.NewForbidden(metal3v1alpha1.GroupVersion.WithResource(resourceHosts).GroupResource(), name,
			errors.New("node can't simultaneously have online set to false and have power off disabled"))
	}
	return host, a.client.Patch(r.Context(), host, client.RawPatch(types.MergePatchType, patch))
}
