// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"net"
	"path/filepath"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/kubelet"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/garden/played"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/relay"
)

// tunnelImage is the image of the container of vpn-seed-server that connects a shoot's kube-apiserver with its nodes.
const (
	tunnelImage     = "envoy"
	tunnelContainer = "envoy-proxy"
	tunnelFolder    = "/srv/secrets/envoy-proxy/"
)

// apiServerImage is the image of shoots' kube-apiservers.
const apiServerImage = "kube-apiserver"

// own are our executables, which are named as their images.
var own = []string{
	extensionName, "machine-controller-manager-provider-hybrid", "cloud-controller-manager-hybrid", "cinder-csi-plugin-hybrid",
	admissionName,
}

// others are the executables of others in hack/bin by the names of their images. All other images are only reported to run.
var others = map[string]string{
	apiServerImage: "kube-apiserver", "kube-controller-manager": "kube-controller-manager", "kube-scheduler": "kube-scheduler",
	"resource-manager": "gardener-resource-manager", "machine-controller-manager": "machine-controller-manager",
	"snapshot-controller": "snapshot-controller", "local-path-provisioner": "local-path-provisioner",
	played.EtcdImage: "etcd", played.BackupRestoreImage: "etcd-backup-restore",
}

// sidecars are those of Cinder's driver. The driver for vSphere, which has them too, needs volumes that the simulated
// vCenter does not have.
var sidecars = []string{"csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter"}

// programs are what runs in the seed, by the names of images.
func (s *Seed) programs() (map[string]kubelet.Program, error) {
	result := map[string]kubelet.Program{tunnelImage: {Serve: s.serveTunnel}}
	for image, name := range others {
		result[image] = kubelet.Program{Path: filepath.Join(landscape.Root(), "hack", "bin", name)}
	}
	// The operator of VictoriaMetrics has an image of the same name.
	result["operator"] = kubelet.Program{Path: filepath.Join(landscape.Root(), "hack", "bin", gardenerOperator), Pods: gardenerOperator + "-"}
	for _, name := range sidecars {
		result[name] = kubelet.Program{Path: filepath.Join(landscape.Root(), "hack", "bin", name), Pods: "csi-cinder-controller-"}
	}
	for _, name := range own {
		result[name] = kubelet.Program{Path: filepath.Join(s.garden.options.Own, name)}
		if registry := s.garden.options.Registry; registry != nil {
			result[name] = kubelet.Program{Pull: registry.Pull}
		}
	}
	var err error
	result[apiServerImage], err = s.garden.shootAPIServer(result[apiServerImage].Path)
	return result, err
}

// serveTunnel plays the tunnel of a shoot.
func (s *Seed) serveTunnel(ctx context.Context, pod *kubelet.Pod) error {
	var files machines.TunnelFiles
	for path, file := range map[string]*string{"tls.crt": &files.Certificate, "tls.key": &files.Key, "ca.crt": &files.Authority} {
		var err error
		if *file, err = pod.File(tunnelContainer, tunnelFolder+path); err != nil {
			return err
		}
	}
	listener, err := pod.Listen("9443")
	if err != nil {
		return err
	}
	return machines.ServeTunnel(ctx, listener, files, func(ctx context.Context, address string) (func(net.Conn) error, error) {
		if dial := s.garden.options.DialNode; dial != nil {
			far, err := dial(ctx, "tcp", address)
			return func(near net.Conn) error { return relay.Pass(near, far) }, err
		}
		return s.machines(pod.Namespace()).Kubelet(ctx, address) // The machines may come later.
	})
}

// names returns the host names of shoots' APIs: their DNS records have the addresses of load balancers that are not there. The
// registry is in the network of the garden.
func (s *Seed) names(seed client.Client) func(context.Context) (map[string]string, error) {
	return func(ctx context.Context) (map[string]string, error) {
		result := map[string]string{}
		if registry := s.garden.options.Registry; registry != nil {
			result[registry.Host] = registryAddress
		}
		records := &extensionsv1alpha1.DNSRecordList{}
		if err := seed.List(ctx, records); err != nil {
			if meta.IsNoMatchError(err) {
				return result, nil
			}
			return nil, err
		}
		for _, record := range records.Items {
			if !strings.HasPrefix(record.Spec.Name, "api.") {
				continue
			}
			service := &corev1.Service{}
			err := seed.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: v1beta1constants.DeploymentNameKubeAPIServer}, service)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			result[record.Spec.Name] = service.Spec.ClusterIP
		}
		return result, nil
	}
}
