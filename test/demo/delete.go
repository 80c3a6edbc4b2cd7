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

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
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
	object.SetName(objectName)
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

// objects returns what is there of the shoot in both projects.
func (d *demo) objects(ctx context.Context) ([]openstack.Object, error) {
	var all []openstack.Object
	for _, c := range d.clients {
		objects, err := c.Objects(ctx, namespace)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

// printObjects prints how many objects of the shoot of which kind are in each project.
func (d *demo) printObjects(ctx context.Context) error {
	objects, err := d.objects(ctx)
	if err != nil {
		return err
	}
	counts := map[string]map[string]int{}
	for _, o := range objects {
		if counts[o.Project] == nil {
			counts[o.Project] = map[string]int{}
		}
		counts[o.Project][o.Kind]++
	}
	for _, project := range slices.Sorted(maps.Keys(counts)) {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(counts[project])) {
			kinds = append(kinds, fmt.Sprintf("%d %s", counts[project][kind], kind))
		}
		d.screen.print(fmt.Sprintf("    project %s has of %s: %s", project, namespace, strings.Join(kinds, ", ")))
	}
	return nil
}

// nothingLeft fails if anything of the shoot is left in OpenStack, and names it.
func (d *demo) nothingLeft(ctx context.Context) error {
	objects, err := d.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range objects {
		d.screen.print("    left: " + o.String())
	}
	if len(objects) > 0 {
		return fmt.Errorf("%d objects of %s are left in OpenStack", len(objects), namespace)
	}
	for i, c := range d.credentials {
		d.screen.print(fmt.Sprintf("    site %s, project %s: no server, port, network, subnet, router, security group, key pair, server group, floating IP or volume of %s",
			sites[i], c.Project, namespace))
	}
	return nil
}
