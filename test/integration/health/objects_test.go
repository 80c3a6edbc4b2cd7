// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"encoding/json"
	"fmt"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	workerName = "worker"
	// hostSite and serverSite are the sites with Metal3 and with IronCore.
	hostSite   = "racks"
	serverSite = "servers"
)

func ownerOn(siteName string) owner.Owner {
	return owner.Owner{Shoot: namespace, Site: siteName}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func machineOf(i int) string {
	return fmt.Sprintf("%s-m-%d", namespace, i)
}

// createShoot creates what gardenlet creates for a shoot with one pool on the racks.
func createShoot(ctx context.Context) {
	credentials, err := inventory.Token(ctx)
	Expect(err).NotTo(HaveOccurred())
	profileSite := func(name, zone string, kind v1alpha1.MetalInventory) v1alpha1.CloudProfileSite {
		return v1alpha1.CloudProfileSite{
			Name: name, Region: "local", TLS: &v1alpha1.TLS{CACert: inventory.CA()},
			Metal: &v1alpha1.MetalProfile{Inventory: kind, Server: inventory.Server(), Namespace: metal.Namespace},
			Zones: []v1alpha1.SiteZone{{Name: zone, Metal: &v1alpha1.MetalZone{}}},
		}
	}
	profile := encode(&v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{
		profileSite(hostSite, "rack-1", v1alpha1.MetalInventoryMetal3), profileSite(serverSite, "server-1", v1alpha1.MetalInventoryIronCore),
	}})
	config := encode(&v1alpha1.InfrastructureConfig{
		Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
		Sites: []v1alpha1.InfrastructureSite{{Name: hostSite, Nodes: []string{"10.250.0.0/18"}},
			{Name: serverSite, Nodes: []string{"10.250.64.0/18"}}},
	})
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: gardencorev1beta1.SchemeGroupVersion.String(), Kind: name}
	}
	for _, object := range []client.Object{
		&extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: extensionsv1alpha1.ClusterSpec{
			CloudProfile: runtime.RawExtension{Object: &gardencorev1beta1.CloudProfile{TypeMeta: kind("CloudProfile"),
				Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: profile}}},
			Seed: &runtime.RawExtension{Object: &gardencorev1beta1.Seed{TypeMeta: kind("Seed")}},
			Shoot: runtime.RawExtension{Object: &gardencorev1beta1.Shoot{
				TypeMeta: kind("Shoot"),
				Spec:     gardencorev1beta1.ShootSpec{Provider: gardencorev1beta1.Provider{InfrastructureConfig: config}},
				Status:   gardencorev1beta1.ShootStatus{TechnicalID: namespace},
			}},
		}},
		newSecret(credentials.Token),
		&extensionsv1alpha1.Infrastructure{ObjectMeta: meta("infrastructure"), Spec: extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType, ProviderConfig: config},
			SecretRef:   corev1.SecretReference{Name: v1beta1constants.SecretNameCloudProvider, Namespace: namespace},
		}},
		&extensionsv1alpha1.Worker{ObjectMeta: meta(workerName), Spec: extensionsv1alpha1.WorkerSpec{
			DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
			SecretRef:   corev1.SecretReference{Name: v1beta1constants.SecretNameCloudProvider, Namespace: namespace},
			Pools: []extensionsv1alpha1.WorkerPool{{Name: "a", Zones: []string{"rack-1", "server-1"},
				UserDataSecretRef: corev1.SecretKeySelector{Key: "cloud_config"}}},
		}},
	} {
		Expect(seed.Client.Create(ctx, object)).To(Succeed())
	}
}

func createMachine(ctx context.Context, name string) {
	Expect(seed.Client.Create(ctx, &machinev1alpha1.Machine{ObjectMeta: meta(name)})).To(Succeed())
}

func newSecret(token string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: meta(v1beta1constants.SecretNameCloudProvider),
		Data:       map[string][]byte{hostSite + ".token": []byte(token), serverSite + ".token": []byte(token)},
	}
}

func rotate(ctx context.Context, token string) {
	Expect(seed.Client.Update(ctx, newSecret(token))).To(Succeed())
}

// claimHost makes the host the machine, as the driver does.
func claimHost(ctx context.Context, host, machine string) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metal.Namespace, Name: machine, Labels: map[string]string{"environment.metal3.io": "baremetal"}},
		StringData: map[string]string{"userData": "#cloud-config"},
	}
	Expect(inventory.Client.Create(ctx, secret)).To(Succeed())
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": ownerOn(hostSite).MachineLabels(machine)},
		"spec": map[string]any{
			"consumerRef": ownerOn(hostSite).Reference(machine),
			"image":       map[string]any{"url": "http://images/os.raw", "checksum": "d41d8cd98f00b204e9800998ecf8427e", "format": "raw"},
			"userData":    map[string]any{"name": machine, "namespace": metal.Namespace},
			"online":      true,
		},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(inventory.Client.Patch(ctx, newObject("metal3.io/v1alpha1", "BareMetalHost", host),
		client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// claimServer claims a server for the machine, as the driver does.
func claimServer(ctx context.Context, machine string) {
	claim := newObject("metal.ironcore.dev/v1alpha1", "ServerClaim", machine)
	claim.SetLabels(ownerOn(serverSite).MachineLabels(machine))
	claim.Object["spec"] = map[string]any{"power": "Off", "image": "registry/os:1",
		"serverSelector": map[string]any{"matchLabels": map[string]any{"row": "1"}}}
	Expect(inventory.Client.Create(ctx, claim)).To(Succeed())
}

func newObject(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(metal.Namespace)
	o.SetName(name)
	return o
}

func encode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	raw, err := codec.Encode[T, P](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}
