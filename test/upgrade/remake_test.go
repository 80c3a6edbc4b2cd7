// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/keypairs"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	vsphereobject "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

// reach lets the provider spec of a release name the sites of today.
func reach(before, now *v1alpha1.MachineProviderSpec) {
	switch {
	case before.OpenStack != nil:
		before.OpenStack.Connection, before.OpenStack.ProjectID = now.OpenStack.Connection, now.OpenStack.ProjectID
		before.OpenStack.NetworkID, before.OpenStack.SubnetID = now.OpenStack.NetworkID, now.OpenStack.SubnetID
		before.OpenStack.SecurityGroupIDs, before.OpenStack.ServerGroupID = now.OpenStack.SecurityGroupIDs, now.OpenStack.ServerGroupID
	case before.VSphere != nil:
		extraConfig := before.VSphere.ExtraConfig
		before.VSphere = now.VSphere.DeepCopy()
		before.VSphere.ExtraConfig = extraConfig
	case before.Metal != nil:
		before.Metal.Connection = now.Metal.Connection
	}
}

// remake makes the machine as the release has left it, and returns its provider ID.
func (w *world) remake(ctx context.Context, spec *v1alpha1.MachineProviderSpec, name string) string {
	GinkgoHelper()
	switch spec.Site {
	case "cloud":
		return w.remakeServer(ctx, spec, name)
	case "vc":
		return w.remakeVirtualMachine(ctx, spec, name)
	}
	return w.remakeHost(ctx, spec, name)
}

func (w *world) remakeServer(ctx context.Context, spec *v1alpha1.MachineProviderSpec, name string) string {
	GinkgoHelper()
	compute, network := w.openStackServices(ctx)
	recorded := read[map[string][]object]("openstack")
	port, server := named(recorded["ports"], name), named(recorded["servers"], name)
	portID := post(ctx, network, "ports", "port", object{
		"name": name, "description": port["description"], "network_id": spec.OpenStack.NetworkID,
		"fixed_ips": []object{{"subnet_id": spec.OpenStack.SubnetID}},
	})
	metadata := server["metadata"].(object)
	metadata["gardener-port"] = portID
	return "openstack:///" + post(ctx, compute, "servers", "server", object{
		"name": name, "metadata": metadata, "key_name": server["key_name"], "flavorRef": spec.OpenStack.FlavorID,
		"imageRef":          spec.OpenStack.ImageID,
		"availability_zone": spec.OpenStack.AvailabilityZone, "networks": []object{{"port": portID}},
	})
}

// remakeKeyPair makes the key pair as the release has named it, and returns the state that says so.
func (w *world) remakeKeyPair(ctx context.Context) *v1alpha1.SiteState {
	GinkgoHelper()
	state := read[v1alpha1.InfrastructureState]("infrastructure-state")
	i := slices.IndexFunc(state.Sites, func(s v1alpha1.SiteState) bool { return s.Name == "cloud" })
	Expect(i).To(BeNumerically(">=", 0))
	pair := state.Sites[i].OpenStack.KeyPair
	compute, _ := w.openStackServices(ctx)
	_, err := keypairs.Create(ctx, compute, keypairs.CreateOpts{Name: pair.ID, PublicKey: sshPublicKey}).Extract()
	Expect(err).NotTo(HaveOccurred())
	return &v1alpha1.SiteState{Name: "cloud", OpenStack: &v1alpha1.OpenStackState{KeyPair: pair}}
}

func named(objects []object, name string) object {
	GinkgoHelper()
	i := slices.IndexFunc(objects, func(o object) bool { return o["name"] == name })
	Expect(i).To(BeNumerically(">=", 0), name)
	return objects[i]
}

// post creates an object and returns its ID.
func post(ctx context.Context, service *gophercloud.ServiceClient, path, kind string, content object) string {
	GinkgoHelper()
	body, err := json.Marshal(object{kind: content})
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, service.ServiceURL(path), bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-Auth-Token", service.Token())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	Expect(response.StatusCode).To(BeNumerically("<", 300), string(answer))
	var created map[string]object
	Expect(json.Unmarshal(answer, &created)).To(Succeed())
	return created[kind]["id"].(string)
}

func (w *world) remakeVirtualMachine(ctx context.Context, spec *v1alpha1.MachineProviderSpec, name string) string {
	GinkgoHelper()
	inspector, err := vc.Client(ctx)
	Expect(err).NotTo(HaveOccurred())
	recorded := named(read[[]object]("vsphere"), name)
	config := &types.VirtualMachineConfigSpec{Uuid: recorded["uuid"].(string), NumCPUs: spec.VSphere.CPUs, MemoryMB: spec.VSphere.MemoryMiB}
	for key, value := range recorded["extraConfig"].(object) {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	reference := func(kind, value string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: value}
	}
	pool, datastore := reference("ResourcePool", spec.VSphere.ResourcePool), reference("Datastore", spec.VSphere.Datastore)
	task, err := vsphereobject.NewVirtualMachine(inspector, reference("VirtualMachine", spec.VSphere.Template)).Clone(ctx,
		vsphereobject.NewFolder(inspector, reference("Folder", spec.VSphere.Folder)), name,
		types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool, Datastore: &datastore}, Config: config,
			PowerOn: true})
	Expect(err).NotTo(HaveOccurred())
	Expect(task.Wait(ctx)).To(Succeed())
	return "vsphere://" + recorded["uuid"].(string)
}

// remakeHost gives the host of the release, or a claim, the marks and the Secret that it had.
func (w *world) remakeHost(ctx context.Context, spec *v1alpha1.MachineProviderSpec, name string) string {
	GinkgoHelper()
	var secret, claimed object
	for _, recorded := range read[[]object]("metal") {
		marked, _ := recorded["labels"].(object)["hybrid.provider.extensions.gardener.cloud/machine"].(string)
		switch {
		case marked != name:
		case recorded["kind"] == secretsKind.Kind:
			secret = recorded
		default:
			claimed = recorded
		}
	}
	kind := serverClaims
	holder := &unstructured.Unstructured{}
	if spec.Site == "racks" {
		kind = baremetalhosts
		Expect(racks.WaitForHosts(ctx, "available", claimed["name"].(string))).To(Succeed())
	} else {
		server := claimed["spec"].(object)["serverRef"].(object)["name"].(string)
		Expect(racks.Clean(ctx, server)).To(Succeed())
		Expect(racks.WaitForServers(ctx, "Available", server)).To(Succeed())
	}
	holder.SetGroupVersionKind(kind)
	holder.SetNamespace(metal.Namespace)
	holder.SetName(claimed["name"].(string))
	if kind == baremetalhosts {
		Expect(racks.Client.Get(ctx, client.ObjectKeyFromObject(holder), holder)).To(Succeed())
	}
	for field, value := range claimed["spec"].(object) {
		if field != "bmc" {
			Expect(unstructured.SetNestedField(holder.Object, value, "spec", field)).To(Succeed())
		}
	}
	holder.SetLabels(texts(claimed["labels"]))
	holder.SetAnnotations(texts(claimed["annotations"]))
	if kind == baremetalhosts {
		remakeSecret(ctx, secret, holder)
		Expect(racks.Client.Update(ctx, holder)).To(Succeed())
	} else {
		Expect(racks.Client.Create(ctx, holder)).To(Succeed())
		remakeSecret(ctx, secret, holder)
	}
	for deployment, id := range read[map[string]string]("provider-ids") {
		if strings.HasPrefix(name, deployment+"-") {
			return id
		}
	}
	return ""
}

func remakeSecret(ctx context.Context, recorded object, owner *unstructured.Unstructured) {
	GinkgoHelper()
	made := &unstructured.Unstructured{Object: object{"data": recorded["data"]}}
	made.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	made.SetNamespace(metal.Namespace)
	made.SetName(recorded["name"].(string))
	made.SetLabels(texts(recorded["labels"]))
	made.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(),
		UID: owner.GetUID()}})
	Expect(racks.Client.Create(ctx, made)).To(Succeed())
}

func texts(values any) map[string]string {
	found := map[string]string{}
	for key, value := range values.(object) {
		found[key] = value.(string)
	}
	return found
}
