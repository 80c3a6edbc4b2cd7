// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/helper"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const fieldManager = client.FieldOwner("demo")

// example is a shoot in example/.
type example struct {
	// folder has what is special about its sites.
	folder string
	// object is the name of the Infrastructure, the ControlPlane and the Worker.
	object string
}

var (
	onAllPlatforms = example{folder: "openstack-vsphere-metal/", object: "hybrid"}
	onOwnHosts     = example{folder: "static/", object: "own"}
)

// apply starts the controllers and applies what gardenlet would, from example/.
func (d *demo) apply(ctx context.Context) error {
	if err := d.startControllers(); err != nil {
		return err
	}
	if err := applyFile[corev1.Namespace](ctx, d, "10-namespace.yaml", nil); err != nil {
		return err
	}
	if err := applyFile(ctx, d, d.example.folder+"30-cluster.yaml", d.prepareCluster); err != nil {
		return err
	}
	if err := applyFile[corev1.Secret](ctx, d, "30-secret-userdata.yaml", nil); err != nil {
		return err
	}
	if err := d.applyCredentials(ctx); err != nil {
		return err
	}
	return applyFile(ctx, d, d.example.folder+"30-infrastructure.yaml", d.selection.infrastructure)
}

// prepareCluster says where the sites are and keeps those that run.
func (d *demo) prepareCluster(cluster *extensionsv1alpha1.Cluster) error {
	profile := &gardencorev1beta1.CloudProfile{}
	if err := json.Unmarshal(cluster.Spec.CloudProfile.Raw, profile); err != nil {
		return err
	}
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return err
	}
	for _, s := range d.sites {
		s.locate(helper.FindSite(config, s.name()))
	}
	if profile.Spec.ProviderConfig, err = codec.Encode(config); err != nil {
		return err
	}
	if cluster.Spec.CloudProfile.Raw, err = json.Marshal(profile); err != nil {
		return err
	}
	d.selection = newSelection(config, siteNames(d.sites))
	for _, s := range d.sites {
		if o, ok := s.(*ownSite); ok {
			d.selection.nodes = map[string][]string{own: {o.room.Network.Prefix.String()}}
		}
	}
	return d.selection.cluster(cluster)
}

// applyFile applies the objects of a file in example/, changed by change if that is not nil.
func applyFile[T any](ctx context.Context, d *demo, name string, change func(*T) error) error {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", name)) // #nosec G304 -- constant names
	if err != nil {
		return err
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)); ; {
		typed := new(T)
		if err := decoder.Decode(typed); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("example/%s: %w", name, err)
		}
		if change != nil {
			if err := change(typed); err != nil {
				return fmt.Errorf("example/%s: %w", name, err)
			}
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
		if err != nil {
			return fmt.Errorf("example/%s: %w", name, err)
		}
		delete(fields, "status")
		object := &unstructured.Unstructured{Object: fields}
		if err := d.landscape.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldManager,
			client.ForceOwnership); err != nil {
			return fmt.Errorf("example/%s: %w", name, err)
		}
		d.screen.print(fmt.Sprintf("    applied %s %s", object.GetKind(), object.GetName()))
	}
}

// applyCredentials writes the shoot's Secret with the credentials of all sites.
func (d *demo) applyCredentials(ctx context.Context) error {
	data := map[string]string{}
	for _, s := range d.sites {
		for key, value := range s.credentials() {
			data[s.name()+"."+key] = value
		}
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: namespace,
			Labels: map[string]string{"gardener.cloud/purpose": "cloudprovider"}},
		StringData: data,
	}
	return client.IgnoreAlreadyExists(d.landscape.Client.Create(ctx, secret))
}
