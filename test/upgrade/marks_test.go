// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	gopheropenstack "github.com/gophercloud/gophercloud/v2/openstack"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

// object is what an object says of itself, without what the site says of it.
type object = map[string]any

var (
	baremetalhosts = schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "BareMetalHost"}
	serverClaims   = schema.GroupVersionKind{Group: "metal.ironcore.dev", Version: "v1alpha1", Kind: "ServerClaim"}
	secretsKind    = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

// written is all that the code writes for the world, by the names of the files that it is recorded in.
func (w *world) written(ctx context.Context) map[string]any {
	GinkgoHelper()
	controlPlaneState := &v1alpha1.ControlPlaneState{}
	for i := range w.sites {
		controlPlaneState.Sites = append(controlPlaneState.Sites, v1alpha1.ControlPlaneSiteState{
			Name: w.sites[i].Name, Profile: *w.sites[i].Profile, Config: *w.sites[i].Config,
			Settings: v1alpha1.ControlPlaneSite{Name: w.sites[i].Name}, Status: w.status.Sites[i], Nodes: true,
		})
	}
	classes := []object{}
	for _, class := range w.classes {
		secret := w.secrets[class.SecretRef.Name]
		classes = append(classes, object{
			"name": class.Name, "labels": class.Labels, "provider": class.Provider, "nodeTemplate": class.NodeTemplate,
			"providerSpec": class.ProviderSpec,
			"secretRef":    class.SecretRef, "credentialsSecretRef": class.CredentialsSecretRef, "secretLabels": secret.Labels,
			"secretData": secret.Data,
		})
	}
	slices.SortFunc(classes, func(a, b object) int { return strings.Compare(a["name"].(string), b["name"].(string)) })
	ids := map[string]string{}
	for deployment, machine := range w.made {
		ids[deployment] = machine.ProviderID
	}
	return map[string]any{
		"class-names": w.classNames(), "infrastructure-state": raw(w.state), "infrastructure-status": raw(w.status),
		"controlplane-state": raw(controlPlaneState),
		"machine-classes":    classes, "provider-ids": ids, "control-plane": w.controlPlanes(),
		"openstack": w.openStack(ctx), "vsphere": w.vSphere(ctx), "metal": w.metal(ctx),
	}
}

func (w *world) openStackServices(ctx context.Context) (compute, network *gophercloud.ServiceClient) {
	GinkgoHelper()
	provider, err := gopheropenstack.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: cloud.AuthURL(), Username: "upgrade", Password: "stub", DomainName: "Default", TenantName: w.shoot,
	})
	Expect(err).NotTo(HaveOccurred())
	compute, err = gopheropenstack.NewComputeV2(provider, gophercloud.EndpointOpts{Region: openstackstub.Region})
	Expect(err).NotTo(HaveOccurred())
	network, err = gopheropenstack.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: openstackstub.Region})
	Expect(err).NotTo(HaveOccurred())
	return compute, network
}

// openStack are the objects of the shoot's project, by their kinds.
func (w *world) openStack(ctx context.Context) map[string][]object {
	GinkgoHelper()
	compute, network := w.openStackServices(ctx)
	found := map[string][]object{}
	for _, list := range []struct {
		service    *gophercloud.ServiceClient
		path, name string
	}{
		{compute, "servers/detail", "servers"},
		{compute, "os-server-groups", "server_groups"},
		{network, "networks", "networks"},
		{network, "subnets", "subnets"},
		{network, "routers", "routers"},
		{network, "ports", "ports"},
		{network, "security-groups", "security_groups"},
	} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, list.service.ServiceURL(list.path), nil)
		Expect(err).NotTo(HaveOccurred())
		request.Header.Set("X-Auth-Token", list.service.Token())
		response, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(response.Body)
		Expect(response.Body.Close()).To(Succeed())
		Expect(err).NotTo(HaveOccurred())
		var page map[string]any
		Expect(json.Unmarshal(body, &page)).To(Succeed(), "%s: %s", list.path, body)
		found[list.name] = []object{}
		for _, item := range page[list.name].([]any) {
			said := object{}
			for _, field := range []string{"name", "description", "tags", "metadata", "key_name", "policy"} {
				if value, ok := item.(map[string]any)[field]; ok {
					said[field] = value
				}
			}
			found[list.name] = append(found[list.name], said)
		}
	}
	return found
}

// virtualMachines are those whose names begin with the shoot's.
func (w *world) virtualMachines(ctx context.Context, inspector *vim25.Client) []mo.VirtualMachine {
	GinkgoHelper()
	container, err := view.NewManager(inspector).CreateContainerView(ctx, inspector.ServiceContent.RootFolder,
		[]string{"VirtualMachine"}, true)
	Expect(err).NotTo(HaveOccurred())
	var all []mo.VirtualMachine
	Expect(container.Retrieve(ctx, []string{"VirtualMachine"},
		[]string{"name", "config.extraConfig", "config.uuid", "config.annotation", "parent"}, &all)).To(Succeed())
	return slices.DeleteFunc(all, func(vm mo.VirtualMachine) bool { return !strings.HasPrefix(vm.Name, w.shoot) })
}

func (w *world) vSphere(ctx context.Context) []object {
	GinkgoHelper()
	inspector, err := vc.Client(ctx)
	Expect(err).NotTo(HaveOccurred())
	found := []object{}
	for _, vm := range w.virtualMachines(ctx, inspector) {
		options := map[string]any{}
		for _, option := range vm.Config.ExtraConfig {
			value := option.GetOptionValue()
			if strings.HasPrefix(value.Key, "gardener") || strings.HasPrefix(value.Key, "guestinfo") || strings.HasPrefix(value.Key, "sched") {
				options[value.Key] = value.Value
			}
		}
		found = append(found, object{"name": vm.Name, "uuid": vm.Config.Uuid, "annotation": vm.Config.Annotation, "extraConfig": options})
	}
	return found
}

// metal are the hosts, claims and Secrets that bear marks of the shoot.
func (w *world) metal(ctx context.Context) []object {
	GinkgoHelper()
	found := []object{}
	for _, kind := range []schema.GroupVersionKind{baremetalhosts, serverClaims, secretsKind} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		Expect(racks.Client.List(ctx, list, client.InNamespace(metal.Namespace))).To(Succeed())
		for _, item := range list.Items {
			encoded, err := json.Marshal(item.Object)
			Expect(err).NotTo(HaveOccurred())
			if !strings.Contains(string(encoded), w.shoot) {
				continue
			}
			said := object{"kind": kind.Kind, "name": item.GetName(), "labels": item.GetLabels(), "annotations": item.GetAnnotations(),
				"finalizers": item.GetFinalizers()}
			for _, field := range []string{"spec", "data"} {
				if value, ok := item.Object[field]; ok {
					said[field] = value
				}
			}
			var owners []string
			for _, owner := range item.GetOwnerReferences() {
				owners = append(owners, owner.Kind+" "+owner.Name)
			}
			said["owners"] = owners
			found = append(found, said)
		}
	}
	return found
}

// differing are what is another one with each run: addresses, certificates, and IDs that sites give.
var differing = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`https?://(127\.0\.0\.1|localhost):\d+`), "https://site"},
	{regexp.MustCompile(`-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----`), "certificate"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+|127\.0\.0\.1\b`), "site"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b`), "id"},
	{regexp.MustCompile(`"[a-z]+-[a-z]?\d+"`), `"reference"`},
	{regexp.MustCompile(`"free":\d+`), `"free":0`},
}

// same is a document without what differs with each run.
func same(document any) any {
	GinkgoHelper()
	encoded, err := json.Marshal(document)
	Expect(err).NotTo(HaveOccurred())
	text := string(encoded)
	for _, d := range differing {
		text = d.pattern.ReplaceAllString(text, d.text)
	}
	var decoded any
	Expect(json.Unmarshal([]byte(text), &decoded)).To(Succeed())
	return decoded
}
