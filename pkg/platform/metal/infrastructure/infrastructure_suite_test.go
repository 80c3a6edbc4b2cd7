// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

func TestInfrastructure(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Metal Infrastructure Suite")
}

var (
	hostsVersion = schema.GroupVersion{Group: "hosts.example.com", Version: "v1"}
	poolVersion  = schema.GroupVersion{Group: ipam.Group, Version: "v1alpha2"}
	claimVersion = schema.GroupVersion{Group: ipam.Group, Version: "v1beta1"}
)

// host is a host of the fake inventory with its labels.
type host struct {
	inventory.Host
	labels   labels.Set
	hardware inventory.Surveyed
}

// fakeInventory has hosts in memory.
type fakeInventory struct {
	inventory.Inventory
	hosts []host
	// err is that of all reads.
	err error
	// release is the error of releases by machine.
	release map[string]error

	mutex    sync.Mutex
	lists    int
	released map[string]string
}

func (f *fakeInventory) Resources() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{hostsVersion.WithResource("hosts"), hostsVersion.WithResource("claims")}
}

func (f *fakeInventory) Permissions() []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{
		{Group: "hosts.example.com", Resource: "hosts", Verb: "list"},
		{Namespace: "hosts", Resource: "secrets", Verb: "create"},
		{Namespace: "hosts", Resource: "secrets", Verb: "delete"},
	}
}

func (f *fakeInventory) Hosts(_ context.Context, selections ...inventory.Selection) ([][]inventory.Host, error) {
	f.lists++
	result := make([][]inventory.Host, len(selections))
	for i, selection := range selections {
		for _, h := range f.hosts {
			if selection.Selector.Matches(h.labels) {
				result[i] = append(result[i], h.Host)
			}
		}
	}
	return result, f.err
}

func (f *fakeInventory) Survey(context.Context, string) ([]inventory.Surveyed, error) {
	var result []inventory.Surveyed
	for _, h := range f.hosts {
		surveyed := h.hardware
		surveyed.Name, surveyed.Labels = h.Name, h.labels
		result = append(result, surveyed)
	}
	return result, f.err
}

func (f *fakeInventory) Machines(context.Context) ([]inventory.Host, error) {
	var result []inventory.Host
	for _, h := range f.hosts {
		if h.Machine != "" {
			result = append(result, h.Host)
		}
	}
	return result, f.err
}

func (f *fakeInventory) Release(_ context.Context, machine, _, cleaning string) (bool, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.released[machine] = cleaning
	return false, f.release[machine]
}

// fixture is a site with an inventory.
type fixture struct {
	site      *site.Site
	inventory *fakeInventory
	objects   []ctrlclient.Object
	served    map[schema.GroupVersion][]string
	servedErr error
	// other is whether the server is none of Kubernetes.
	other bool
	// controlPlane are the settings for the site in the ControlPlaneConfig.
	controlPlane v1alpha1.ControlPlaneSite
	// denied are the verbs and resources that the credentials may not use.
	denied []string
	// get is the error of reads by kind.
	get map[string]error
	// list is the error of lists.
	list error
	// former are what the shoot has where the state says.
	former    leftovers
	persisted []*v1alpha1.SiteState
}

func newFixture() *fixture {
	selector := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	return &fixture{
		site: &site.Site{
			Name: "racks", Shoot: "shoot--local--a",
			Profile: &v1alpha1.CloudProfileSite{
				Name: "racks",
				Metal: &v1alpha1.MetalProfile{Inventory: v1alpha1.MetalInventoryMetal3, Server: "https://api", Namespace: "hosts",
					Cleaning: "metadata"},
				Zones: []v1alpha1.SiteZone{
					{Name: "rack-1", Metal: &v1alpha1.MetalZone{HostSelector: selector("rack", "r1")}},
					{Name: "rack-2", Metal: &v1alpha1.MetalZone{HostSelector: selector("rack", "r2")}},
				},
			},
			MachineTypes: map[string]*v1alpha1.SiteMachineType{
				"small": {Metal: &v1alpha1.MetalMachineType{HostSelector: selector("size", "s")}},
				"large": {Metal: &v1alpha1.MetalMachineType{HostSelector: selector("size", "xl")}},
			},
			Config: &v1alpha1.InfrastructureSite{Name: "racks"},
		},
		inventory: &fakeInventory{release: map[string]error{}, released: map[string]string{}},
		served:    map[schema.GroupVersion][]string{hostsVersion: {"hosts", "claims"}},
		get:       map[string]error{},
		objects:   []ctrlclient.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hosts", UID: "uid-1"}}},
	}
}

// add adds hosts of a state.
func (f *fixture) add(number int, state inventory.State, rack, size string) {
	for range number {
		f.inventory.hosts = append(f.inventory.hosts, host{Host: inventory.Host{State: state}, labels: labels.Set{"rack": rack, "size": size}})
	}
}

func (f *fixture) persist(_ context.Context, state *v1alpha1.SiteState) error {
	f.persisted = append(f.persisted, state)
	return nil
}

func (f *fixture) api() ctrlclient.Client {
	scheme := runtime.NewScheme()
	Expect(corev1.AddToScheme(scheme)).To(Succeed())
	Expect(authorizationv1.AddToScheme(scheme)).To(Succeed())
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{poolVersion, claimVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(poolVersion.WithKind("InClusterIPPool"), meta.RESTScopeNamespace)
	mapper.Add(poolVersion.WithKind("GlobalInClusterIPPool"), meta.RESTScopeRoot)
	mapper.Add(claimVersion.WithKind("IPAddressClaim"), meta.RESTScopeNamespace)
	builder := fakeclient.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(f.objects...)
	return builder.WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c ctrlclient.WithWatch, object ctrlclient.Object, options ...ctrlclient.CreateOption) error {
			review, ok := object.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return c.Create(ctx, object, options...)
			}
			review.Status.Allowed = true
			for _, denied := range f.denied {
				if denied == review.Spec.ResourceAttributes.Verb+" "+review.Spec.ResourceAttributes.Resource {
					review.Status.Allowed = false
				}
			}
			return f.get["SelfSubjectAccessReview"]
		},
		Get: func(ctx context.Context, c ctrlclient.WithWatch, key ctrlclient.ObjectKey, object ctrlclient.Object,
			options ...ctrlclient.GetOption) error {
			kind := object.GetObjectKind().GroupVersionKind().Kind
			if _, ok := object.(*corev1.Namespace); ok {
				kind = "Namespace"
			}
			if err := f.get[kind]; err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c ctrlclient.WithWatch, list ctrlclient.ObjectList, options ...ctrlclient.ListOption) error {
			if f.list != nil {
				return f.list
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
}

// flow is an operation on the site.
func (f *fixture) flow() *flow {
	var (
		api        = f.api()
		connection = client.ConnectionOf(f.site.Profile)
		o          = owner.Owner{Shoot: f.site.Shoot, Site: f.site.Name}
	)
	return &flow{
		recorder: newRecorder(f.site, connection, "metadata", f.persist), site: f.site, owner: o, namespace: "hosts", cleaning: "metadata",
		inventory: f.inventory, addresses: ipam.New(api, "hosts", o), api: api,
		served: func(_ context.Context, version schema.GroupVersion) ([]string, error) {
			return f.served[version], f.servedErr
		},
		isKubernetes: func(context.Context) (bool, error) { return !f.other, nil },
		former:       func(context.Context) (leftovers, error) { return f.former, nil },
	}
}

// pool returns an address pool.
func pool(kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(poolVersion.WithKind(kind))
	object.SetName(name)
	if kind == "InClusterIPPool" {
		object.SetNamespace("hosts")
	}
	return object
}

var errForbidden = apierrors.NewForbidden(corev1.Resource("namespaces"), "hosts", nil)

var errAway = platform.NewError(platform.ClassTransient, "away")
