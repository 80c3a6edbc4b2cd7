// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	gardencorev1 "github.com/gardener/gardener/pkg/apis/core/v1"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	systemType  = "gardenlinux"
	networkType = "cilium"

	// NodeSystem is the type of the operating system of nodes that are real.
	NodeSystem = "suse-chost"
)

// playedTypes are the types of extensions of others.
func (g *Garden) playedTypes() []string {
	if g.options.DialNode != nil {
		return []string{networkType, foreignType}
	}
	return []string{systemType, networkType, foreignType}
}

// Register registers our extension as example/controller-registration.yaml says, and the played ones.
func (g *Garden) Register(ctx context.Context) error {
	objects, err := Example[*unstructured.Unstructured]("controller-registration.yaml")
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "ControllerDeployment" {
			// The DNS servers are on this machine.
			if err := unstructured.SetNestedSlice(object.Object, []any{"127.0.0.0/8"}, "helm", "values", "dns", "allowedNetworks"); err != nil {
				return err
			}
		}
		if err := g.Client.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	return g.RegisterPlayed(ctx)
}

// RegisterPlayed registers the played extensions alone.
func (g *Garden) RegisterPlayed(ctx context.Context) error {
	chart, err := emptyChart()
	if err != nil {
		return err
	}
	name := metav1.ObjectMeta{Name: "played"}
	return create(ctx, g.Client, []client.Object{
		&gardencorev1.ControllerDeployment{ObjectMeta: name, Helm: &gardencorev1.HelmControllerDeployment{RawChart: chart}},
		&gardencorev1beta1.ControllerRegistration{ObjectMeta: name, Spec: gardencorev1beta1.ControllerRegistrationSpec{
			Deployment: &gardencorev1beta1.ControllerRegistrationDeployment{DeploymentRefs: []gardencorev1beta1.DeploymentRef{{Name: name.Name}}},
			Resources: []gardencorev1beta1.ControllerResource{
				{Kind: extensionsv1alpha1.OperatingSystemConfigResource, Type: systemType},
				{Kind: extensionsv1alpha1.OperatingSystemConfigResource, Type: NodeSystem},
				{Kind: extensionsv1alpha1.NetworkResource, Type: networkType},
				{Kind: extensionsv1alpha1.DNSRecordResource, Type: foreignType}, {Kind: extensionsv1alpha1.ControlPlaneResource, Type: foreignType},
				{Kind: extensionsv1alpha1.InfrastructureResource, Type: foreignType}, {Kind: extensionsv1alpha1.WorkerResource, Type: foreignType},
			},
		}},
	})
}

// emptyChart is a chart of a ConfigMap, for extensions that are played.
func emptyChart() ([]byte, error) {
	var content bytes.Buffer
	zip := gzip.NewWriter(&content)
	archive := tar.NewWriter(zip)
	for _, file := range [][2]string{
		{"played/Chart.yaml", "apiVersion: v2\nname: played\nversion: 0.1.0\n"},
		{"played/templates/configmap.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: played\n  namespace: {{ .Release.Namespace }}\n"},
	} {
		header := &tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1])), ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := io.WriteString(archive, file[1]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := zip.Close()
	return content.Bytes(), err
}

// Example reads the objects of a file in example/.
func Example[T client.Object](path string) ([]T, error) {
	file, err := os.Open(filepath.Join(landscape.Root(), "example", path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	var objects []T
	for {
		var object T
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		}
		objects = append(objects, object)
	}
}
