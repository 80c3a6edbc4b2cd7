// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deleteWorker deletes the Worker and waits until it and all machines are gone.
func (d *demo) deleteWorker(ctx context.Context) error {
	return d.delete(ctx, &extensionsv1alpha1.Worker{})
}

// deleteInfrastructure deletes the Infrastructure and waits until it is gone.
func (d *demo) deleteInfrastructure(ctx context.Context) error {
	return d.delete(ctx, &extensionsv1alpha1.Infrastructure{})
}

func (d *demo) delete(ctx context.Context, object extensionsv1alpha1.Object) error {
	object.SetName(d.example.object)
	object.SetNamespace(namespace)
	if err := client.IgnoreNotFound(d.landscape.Client.Delete(ctx, object)); err != nil {
		return err
	}
	return d.wait(ctx, func(ctx context.Context) (bool, string, error) {
		err := d.get(ctx, object)
		if apierrors.IsNotFound(err) {
			return true, "", nil
		} else if err != nil {
			return false, err.Error(), nil
		}
		if lastError := object.GetExtensionStatus().GetLastError(); lastError != nil {
			return false, lastError.Description, nil
		}
		return false, "waiting for the extension", nil
	})
}

// printObjects prints how many objects of the shoot of which kind are on each site.
func (d *demo) printObjects(ctx context.Context) error {
	for _, s := range d.sites {
		objects, err := s.objects(ctx)
		if err != nil {
			return err
		}
		counts := map[string]int{}
		for _, o := range objects {
			counts[o.kind]++
		}
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			kinds = append(kinds, counted(counts[kind], kind))
		}
		d.screen.print(fmt.Sprintf("    site %s has of %s: %s", s.name(), namespace, strings.Join(kinds, ", ")))
	}
	return nil
}

// nothingLeft fails if anything of the shoot is left on a site, and names it.
func (d *demo) nothingLeft(ctx context.Context) error {
	left := 0
	for _, s := range d.sites {
		objects, err := s.objects(ctx)
		if err != nil {
			return err
		}
		for _, o := range objects {
			d.screen.print("    left: " + o.text)
		}
		left += len(objects)
		if len(objects) == 0 {
			d.screen.print(fmt.Sprintf("    site %s, %s: no %s of %s", s.name(), s.platform(), s.kinds(), namespace))
		}
	}
	if left > 0 {
		return fmt.Errorf("%d objects of %s are left", left, namespace)
	}
	return nil
}

func counted(n int, kind string) string {
	if n == 1 {
		return "1 " + kind
	}
	return fmt.Sprintf("%d %ss", n, kind)
}
