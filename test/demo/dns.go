// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/nameserver"
)

const (
	recordFile    = "30-dnsrecord-rfc2136.yaml"
	recordTimeout = time.Minute
)

// apiRecord is the record of the shoot's API in example/, on a BIND of its own.
type apiRecord struct {
	server *nameserver.Server
	record *extensionsv1alpha1.DNSRecord
}

// resolveAPI makes the record and asks the DNS server for it.
func (d *demo) resolveAPI(ctx context.Context) error {
	if !nameserver.Installed() {
		return fmt.Errorf("%w: BIND is not installed", errLeftOut)
	}
	file, err := os.Open(filepath.Join(landscape.Root(), "example", recordFile))
	if err != nil {
		return err
	}
	defer file.Close()
	secret, record := &unstructured.Unstructured{}, &extensionsv1alpha1.DNSRecord{}
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	if err := decoder.Decode(secret); err != nil {
		return err
	}
	if err := decoder.Decode(record); err != nil {
		return err
	}
	server, err := nameserver.Start(ctx, filepath.Join(filepath.Dir(d.landscape.Cluster.Kubeconfig), "named"), "example.test")
	if err != nil {
		return err
	}
	d.api = &apiRecord{server: server, record: record}
	keys := map[string]any{"server": server.Address, "tsigKeyName": nameserver.Writer.Name, "tsigSecret": nameserver.Writer.Secret}
	if err := unstructured.SetNestedMap(secret.Object, keys, "stringData"); err != nil {
		return err
	}
	for _, object := range []client.Object{secret, record} {
		if err := d.landscape.Client.Create(ctx, object); err != nil {
			return err
		}
	}
	if err := d.waitRecord(ctx); err != nil {
		return err
	}
	answer, err := nameserver.Ask(ctx, server.Address, record.Spec.Name, dns.TypeA)
	if err != nil {
		return err
	}
	if !slices.Equal(answer.Values, record.Spec.Values) {
		return fmt.Errorf("%s resolves to %q instead of %q", record.Spec.Name, answer.Values, record.Spec.Values)
	}
	d.screen.print(fmt.Sprintf("    %s. %d IN A %s   (asked of BIND at %s, zone %s)", record.Spec.Name, answer.TTL, answer.Values[0],
		server.Address, *record.Status.Zone))
	return nil
}

func (d *demo) waitRecord(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, recordTimeout, true, func(ctx context.Context) (bool, error) {
		record := d.api.record
		if err := d.landscape.Client.Get(ctx, client.ObjectKeyFromObject(record), record); err != nil {
			return false, err
		}
		operation := record.Status.LastOperation
		return operation != nil && operation.State == gardencorev1beta1.LastOperationStateSucceeded, nil
	})
}

// deleteAPI deletes the record and asks the DNS server again.
func (d *demo) deleteAPI(ctx context.Context) error {
	if d.api == nil {
		return nil
	}
	record := &extensionsv1alpha1.DNSRecord{ObjectMeta: metav1.ObjectMeta{Namespace: d.api.record.Namespace, Name: d.api.record.Name}}
	if err := client.IgnoreNotFound(d.landscape.Client.Delete(ctx, record)); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, recordTimeout, true, func(ctx context.Context) (bool, error) {
		err := d.landscape.Client.Get(ctx, client.ObjectKeyFromObject(record), record)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	answer, err := nameserver.Ask(ctx, d.api.server.Address, d.api.record.Spec.Name, dns.TypeA)
	if err == nil && len(answer.Values) > 0 {
		err = fmt.Errorf("%s still resolves to %q", d.api.record.Spec.Name, answer.Values)
	}
	return err
}

func (d *demo) stopDNS(ctx context.Context) {
	if d.api != nil {
		d.api.server.Process.Stop(ctx)
	}
}
