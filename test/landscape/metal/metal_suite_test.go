// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestMetal(t *testing.T) {
	suite.Run(t, "Test Landscape Metal Suite")
}

const (
	shoot = "shoot--test--metal"
	other = "shoot--test--servers"
	soon  = 20 * time.Second
)

var inventory *metal.Inventory

var _ = BeforeSuite(func(ctx context.Context) {
	var err error
	inventory, err = metal.Start(ctx, metal.Options{Dir: GinkgoT().TempDir(), Metal3: true, IronCore: true, IPAM: true})
	DeferCleanup(func() {
		Expect(inventory.Check()).To(Succeed())
		inventory.Stop()
		for _, p := range inventory.Processes() {
			Expect(p.Running()).To(BeFalse(), p.Name)
		}
	})
	Expect(err).NotTo(HaveOccurred(), "hack/landscape/build.sh builds what is missing")
	Expect(inventory.Grant(ctx)).To(Succeed())
}, NodeTimeout(5*time.Minute))

// newObject makes an object of an API that has no types here.
func newObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func patchHost(ctx context.Context, name string, spec map[string]any) {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"spec": spec})
	Expect(err).NotTo(HaveOccurred())
	host := newObject("metal3.io/v1alpha1", "BareMetalHost", metal.Namespace, name)
	Expect(inventory.Client.Patch(ctx, host, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

func makeSecret(ctx context.Context, name, key, value string) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metal.Namespace}, StringData: map[string]string{key: value}}
	Expect(inventory.Client.Create(ctx, secret)).To(Succeed())
}

// provision makes a host a machine with user data and metadata, as a driver does.
func provision(ctx context.Context, host, machine string) {
	GinkgoHelper()
	makeSecret(ctx, machine+"-metadata", "metaData", `{"local-hostname":"`+machine+`","providerid":"metal3://hosts/`+host+"/"+machine+`"}`)
	makeSecret(ctx, machine+"-userdata", "userData", "#cloud-config")
	patchHost(ctx, host, image(machine))
}

func image(machine string) map[string]any {
	return map[string]any{
		"consumerRef": map[string]any{"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "namespace": shoot, "name": machine},
		"image":       map[string]any{"url": "http://images/os.raw", "checksum": "d41d8cd98f00b204e9800998ecf8427e", "format": "raw"},
		"userData":    map[string]any{"name": machine + "-userdata", "namespace": metal.Namespace},
		"metaData":    map[string]any{"name": machine + "-metadata", "namespace": metal.Namespace},
		"online":      true,
	}
}

// clean takes what the machine was from a host.
func clean(ctx context.Context, host string) {
	GinkgoHelper()
	patchHost(ctx, host, map[string]any{"image": nil, "userData": nil, "metaData": nil, "online": false})
}

// free lets a host that is clean go.
func free(ctx context.Context, host string) {
	GinkgoHelper()
	patchHost(ctx, host, map[string]any{"consumerRef": nil})
}

func hostOf(ctx context.Context, name string) func(Gomega) metal.Host {
	return func(g Gomega) metal.Host {
		hosts, err := inventory.Hosts(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		return hosts[name]
	}
}
