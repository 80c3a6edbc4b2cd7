// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"text/template"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/flannel"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/images"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/registry"
	"github.com/gardener/gardener-extension-provider-hybrid/test/rendering"
)

const (
	// dnsAddress is the address of the Service of CoreDNS.
	dnsAddress = "10.0.0.10"
	// registryHost is the name of the registry of images for nodes.
	registryHost = "registry.example.com"
	// peers is the DaemonSet with a pod on each node that says from which address it was reached.
	peers = "peers"
)

// Images of pods, which are made here.
const (
	sandboxImage    = "registry.k8s.io/pause:3.10.2" // containerd's default
	proxyImage      = "registry.k8s.io/kube-proxy:v1.36.3"
	coreDNSImage    = "registry.k8s.io/coredns/coredns:v1.14.6"
	toolsImage      = "example.com/tools:1"
	controllerImage = "quay.io/metallb/controller:v0.16.1"
	speakerImage    = "quay.io/metallb/speaker:v0.16.1"
	cinderImage     = "example.com/cinder-csi-plugin-hybrid:1"
	registrarImage  = "example.com/csi-registrar:1"
	helperImage     = "example.com/local-volumes-helper:1"
)

// systemObjects are the pods of a shoot's system.
//
//go:embed system.yaml.tmpl
var systemObjects string

// contents are what images consist of. executables is the folder with ours.
func contents(executables string) map[string]images.Contents {
	bin := filepath.Join(landscape.Root(), "hack", "bin")
	sleep := []string{"/usr/bin/sleep", "infinity"}
	return map[string]images.Contents{
		sandboxImage:    {Programs: images.Base, Entrypoint: sleep},
		flannel.Image:   flannel.Contents(),
		proxyImage:      images.Of(filepath.Join(bin, "machine-programs", "kube-proxy"), images.Base...),
		coreDNSImage:    images.Of(filepath.Join(bin, "coredns")),
		controllerImage: images.Of(filepath.Join(bin, "metallb-controller")),
		speakerImage:    images.Of(filepath.Join(bin, "metallb-speaker")),
		cinderImage:     images.Of(filepath.Join(executables, volumeDriver), images.Disks...),
		registrarImage:  images.Of(filepath.Join(bin, "csi-registrar")),
		helperImage:     {Programs: append([]string{"/usr/bin/mkdir", "/usr/bin/rm"}, images.Base...), Entrypoint: sleep},
		toolsImage:      {Programs: images.Base, Entrypoint: sleep},
	}
}

// serveImages starts the registry with all images.
func (l *machineLab) serveImages(ctx context.Context, executables string) (err error) {
	if l.images, err = registry.New(filepath.Join(l.dir, "registry"), registryHost); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(l.rack.Network.Gateway.String(), "443"))
	if err != nil {
		return err
	}
	l.images.Serve(listener, (&net.Dialer{}).DialContext)
	return images.Put(ctx, l.images, contents(executables))
}

// createSystem creates the pods of the shoot's system.
func (l *machineLab) createSystem(ctx context.Context) error {
	host, port, err := net.SplitHostPort(l.relay.Addr().String())
	if err != nil {
		return err
	}
	objects, err := flannel.Objects(podRange, host, port)
	if err != nil {
		return err
	}
	parsed, err := template.New("system").Parse(systemObjects)
	if err != nil {
		return err
	}
	var rendered bytes.Buffer
	if err := parsed.Execute(&rendered, map[string]any{"Pods": podRange, "DNS": dnsAddress, "Host": host, "Port": port, "Peers": peers,
		"PeerPort": otherPort, "Images": map[string]string{"proxy": proxyImage, "coredns": coreDNSImage, "tools": toolsImage}}); err != nil {
		return err
	}
	further, err := rendering.Objects(rendered.String())
	if err != nil {
		return err
	}
	objects = append(objects, further...)
	for _, object := range objects {
		if err := l.shoot.Seed.Client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

// applyChart applies a chart of the extension for shoots, as gardener-resource-manager does.
func applyChart(ctx context.Context, chart string, values any) {
	GinkgoHelper()
	rendered, err := rendering.Chart(chart, metav1.NamespaceSystem, values)
	Expect(err).NotTo(HaveOccurred())
	objects, err := rendering.Objects(rendered)
	Expect(err).NotTo(HaveOccurred())
	// The namespaces and the kinds of some objects are there a moment after others were created.
	Eventually(ctx, func() error {
		var errs []error
		for _, object := range objects {
			if err := lab.shoot.Seed.Client.Create(ctx, object.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
				errs = append(errs, err)
			}
		}
		return errors.Join(errs...)
	}, flowTime, time.Second).Should(Succeed())
}

// peerAt is the address of the peer on a node, empty if it is not ready.
func peerAt(ctx context.Context, node string) (string, error) {
	pods := &corev1.PodList{}
	if err := lab.shoot.Seed.Client.List(ctx, pods, client.MatchingLabels{"app": peers}); err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
			return pod.Status.PodIP, nil
		}
	}
	return "", nil
}
