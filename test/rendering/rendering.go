// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rendering renders the charts that the extension deploys for shoots and those that Gardener installs, and lets them be applied,
// for tests.
package rendering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gardener/gardener/pkg/chartrenderer"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/gardener/gardener-extension-provider-hybrid/charts"
	"github.com/gardener/gardener-extension-provider-hybrid/hack/registration/pack"
)

// kubernetesVersion is that of the cluster for which charts are rendered.
const kubernetesVersion = "v1.36.1"

// Chart renders a chart below charts/internal into one document after the other, in the order in which they are applied. The values are
// encoded as JSON.
func Chart(name, namespace string, values any) (string, error) {
	content, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	decoded := map[string]any{}
	if err := json.Unmarshal(content, &decoded); err != nil {
		return "", err
	}
	rendered, err := renderer().RenderEmbeddedFS(charts.Internal, path.Join(charts.InternalPath, name), name, namespace, decoded)
	if err != nil {
		return "", err
	}
	return documents(rendered), nil
}

// Packed renders the chart in a folder of the sources as Gardener and Helm do that install it: it is packed, and its values are checked.
func Packed(dir, release, namespace string, values map[string]any) (string, error) {
	rendered, err := renderPacked(dir, release, namespace, values)
	if err != nil {
		return "", err
	}
	return documents(rendered), nil
}

// Installed is Packed for a chart that Gardener installs. Unlike Helm, Gardener can lose objects, which is an error.
func Installed(dir, release, namespace string, values map[string]any) (string, error) {
	rendered, err := renderPacked(dir, release, namespace, values)
	if err != nil {
		return "", err
	}
	return documents(rendered), lost(rendered)
}

func renderPacked(dir, release, namespace string, values map[string]any) (*chartrenderer.RenderedChart, error) {
	chart, err := pack.Read(dir)
	if err != nil {
		return nil, err
	}
	archive, err := chart.Archive()
	if err != nil {
		return nil, err
	}
	return renderer().RenderArchive(archive, release, namespace, values)
}

// lost is an error if Gardener loses an object of a chart: it keeps one of a kind and a name in each file, whatever their namespaces are.
func lost(rendered *chartrenderer.RenderedChart) error {
	objects := 0
	for _, manifest := range rendered.Manifests {
		if manifest.Head != nil && manifest.Head.Metadata != nil {
			objects++
		}
	}
	if kept := len(rendered.AsSecretData()); kept != objects {
		return fmt.Errorf("of the %d objects of chart %s, Gardener installs %d", objects, rendered.ChartName, kept)
	}
	return nil
}

func renderer() chartrenderer.Interface {
	return chartrenderer.NewWithServerVersion(&version.Info{GitVersion: kubernetesVersion})
}

// documents are the manifests of a chart, one after the other.
func documents(rendered *chartrenderer.RenderedChart) string {
	var result strings.Builder
	for _, manifest := range rendered.Manifests {
		if text := strings.TrimSpace(manifest.Content); text != "" {
			fmt.Fprintf(&result, "---\n# %s\n%s\n", manifest.Name, strings.TrimPrefix(text, "---\n"))
		}
	}
	return result.String()
}

// Objects decodes what Chart returned.
func Objects(rendered string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(rendered), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// ControlPlane renders the chart of control planes with the values of its parts, and decodes objects of it into those of the same kinds and
// names.
func ControlPlane(namespace string, values map[string]any, into ...client.Object) error {
	rendered, err := Chart(charts.SeedControlPlane, namespace, values)
	if err != nil {
		return err
	}
	all, err := Objects(rendered)
	if err != nil {
		return err
	}
	for _, object := range into {
		kind, err := apiutil.GVKForObject(object, scheme.Scheme)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind() == kind && o.GetName() == object.GetName()
		})
		if i < 0 {
			return fmt.Errorf("the control plane has no %s %s", kind.Kind, object.GetName())
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(all[i].Object, object); err != nil {
			return err
		}
	}
	return nil
}

// Golden returns what the file holds. With UPDATE_GOLDEN=1 it is rendered that is written to the file before.
func Golden(file, rendered string) (string, error) {
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(rendered), 0o600); err != nil {
			return "", err
		}
	}
	content, err := os.ReadFile(file)
	return string(content), err
}

// Merge returns values, encoded as JSON, together with others.
func Merge(values any, others map[string]any) (map[string]any, error) {
	content, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	if err := json.Unmarshal(content, &merged); err != nil {
		return nil, err
	}
	maps.Copy(merged, others)
	return merged, nil
}
