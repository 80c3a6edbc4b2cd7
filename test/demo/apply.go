// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const fieldManager = client.FieldOwner("demo")

// exampleAuthURL and exampleRegion are where the OpenStack of the landscape is; example/ has them.
const exampleAuthURL, exampleRegion = "http://127.0.0.1:5000/v3", "RegionOne"

// apply starts the controllers and applies what gardenlet would, from example/.
func (d *demo) apply(ctx context.Context) error {
	if err := d.startControllers(); err != nil {
		return err
	}
	for _, file := range []string{"10-namespace.yaml", "30-cluster.yaml", "30-secret-userdata.yaml", "30-infrastructure.yaml"} {
		if err := d.applyFile(ctx, file, nil); err != nil {
			return err
		}
	}
	return d.applyCredentials(ctx)
}

// applyFile applies the objects of a file in example/, changed by change if that is not nil.
func (d *demo) applyFile(ctx context.Context, name string, change func(*unstructured.Unstructured) error) error {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", name)) // #nosec G304 -- constant names
	if err != nil {
		return err
	}
	content = bytes.ReplaceAll(content, []byte(exampleAuthURL), []byte(d.credentials[0].AuthURL))
	content = bytes.ReplaceAll(content, []byte(exampleRegion), []byte(d.credentials[0].Region))
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("example/%s: %w", name, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if change != nil {
			if err := change(object); err != nil {
				return err
			}
		}
		if err := d.landscape.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldManager, client.ForceOwnership); err != nil {
			return fmt.Errorf("example/%s: %w", name, err)
		}
		d.screen.print(fmt.Sprintf("    applied %s %s", object.GetKind(), object.GetName()))
	}
}

// applyCredentials writes the shoot's Secret with the credentials of both projects.
func (d *demo) applyCredentials(ctx context.Context) error {
	data := map[string]string{}
	for i, site := range sites {
		for key, value := range d.credentials[i].SiteCredentials() {
			data[site+"."+key] = value
		}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: namespace, Labels: map[string]string{"gardener.cloud/purpose": "cloudprovider"}},
		StringData: data,
	}
	return client.IgnoreAlreadyExists(d.landscape.Client.Create(ctx, secret))
}
