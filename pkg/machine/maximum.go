// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"strconv"
	"sync"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	machineclient "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/typed/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// countTimeout limits the list of the Machines of the shoot.
const countTimeout = 30 * time.Second

// Limit returns a driver that creates no more machines on a site than the machine class says. It counts Machines, which needs no request to
// the site.
func Limit(d driver.Driver, machines machineclient.MachinesGetter) driver.Driver {
	return &limiter{Driver: d, machines: machines, begun: sets.New[string]()}
}

type limiter struct {
	driver.Driver
	machines machineclient.MachinesGetter

	mutex sync.Mutex
	// begun are the names of the Machines whose creation this process has begun. They count like existing ones until they are gone, because
	// the site may have created them although no provider ID is known.
	begun sets.Set[string]
	// list are the Machines of the shoot at the time listedAt.
	list     []machinev1alpha1.Machine
	listedAt time.Time
}

// CreateMachine implements driver.Driver.
func (l *limiter) CreateMachine(ctx context.Context, req *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	if value, ok := req.MachineClass.Annotations[v1alpha1.AnnotationMaximumMachines]; ok {
		if err := l.admit(ctx, req.Machine, value); err != nil {
			return nil, toStatus(operationCreate, siteOf(req.Machine), err)
		}
	}
	return l.Driver.CreateMachine(ctx, req)
}

// admit returns an error if the site has no room for the new machine. Room is given to the oldest Machines first, so that the result is the
// same in any order of the calls, and after a restart.
func (l *limiter) admit(ctx context.Context, m *machinev1alpha1.Machine, value string) error {
	maximum, err := strconv.Atoi(value)
	if err != nil {
		return platform.NewError(platform.ClassConfiguration, "annotation %s of the machine class: %w", v1alpha1.AnnotationMaximumMachines, err)
	}
	called := time.Now()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.refresh(ctx, m.Namespace, called); err != nil {
		return platform.NewError(platform.ClassTransient, "cannot count the machines of the site: %w", err)
	}
	// A creation that is repeated has room already, so it does not wait for younger ones that have room, too.
	repeated := l.begun.Has(m.Name)
	ahead := 0
	for i := range l.list {
		other := &l.list[i]
		if other.Name == m.Name || siteOf(other) != siteOf(m) {
			continue
		}
		if other.Spec.ProviderID != "" || isOlder(other, m) || !repeated && l.begun.Has(other.Name) {
			ahead++
		}
	}
	if ahead >= maximum {
		return platform.NewError(platform.ClassExhausted, "the site's maximum of %d machines, which maximumMachines in the CloudProfile or "+
			"the InfrastructureConfig of the Shoot sets, is reached: %d machines exist or were requested before", maximum, ahead)
	}
	l.begun.Insert(m.Name)
	return nil
}

// refresh lists the Machines, unless another call has begun to do so after the given time.
func (l *limiter) refresh(ctx context.Context, namespace string, since time.Time) error {
	if l.listedAt.After(since) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	now := time.Now()
	list, err := l.machines.Machines(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	l.list, l.listedAt = list.Items, now
	names := sets.New[string]()
	for i := range l.list {
		names.Insert(l.list[i].Name)
	}
	l.begun = l.begun.Intersection(names)
	return nil
}

func isOlder(m, than *machinev1alpha1.Machine) bool {
	if m.CreationTimestamp.Equal(&than.CreationTimestamp) {
		return m.Name < than.Name
	}
	return m.CreationTimestamp.Before(&than.CreationTimestamp)
}

// siteOf returns the name of the machine's site.
func siteOf(m *machinev1alpha1.Machine) string {
	return m.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelSite]
}
