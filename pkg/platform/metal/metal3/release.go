// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"strings"
	"time"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/bootdata"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

const (
	// releaseTimeout is how long to wait for a host, so that a fast inventory needs only one call.
	releaseTimeout = 2 * time.Second
	// watchedInterval and requestInterval are how often a host is polled, with and without a watch.
	watchedInterval = 50 * time.Millisecond
	requestInterval = 500 * time.Millisecond
)

// Release implements inventory.Inventory. The host keeps its consumer until it is clean, so that nothing else claims it before.
func (i *Inventory) Release(ctx context.Context, machine, providerID, cleaning string) (bool, error) {
	host, err := i.find(ctx, machine, providerID)
	if err != nil {
		return false, err
	}
	if host != nil {
		if err := i.releaseHost(ctx, host.Name, machine, cleaning); err != nil {
			return false, err
		}
	}
	if shared, err := i.isShared(ctx, machine, providerID); shared || err != nil {
		return shared, err
	}
	return false, bootdata.DeleteSecret(ctx, i.Client(), i.Session.Namespace, i.Owner, machine)
}

func (i *Inventory) releaseHost(ctx context.Context, name, machine, cleaning string) error {
	usable := isMachine(i.Owner, machine)
	host, err := i.read(ctx, i.Client(), name)
	if host == nil || err != nil || !usable(host) {
		return err
	}
	if how := maintenance(host); how != "" {
		return platform.NewError(platform.ClassTransient, "host %q is in maintenance (%s), and is released after that", name, how)
	}
	if isWanted(host, machine, cleaning) {
		host, err = i.change(ctx, host, usable,
			func(host *metal3v1alpha1.BareMetalHost) any { return newDeprovisionPatch(host, machine, cleaning) })
		if host == nil || err != nil {
			return err
		}
	}
	host, err = i.waitUntilClean(ctx, host, machine)
	if host == nil || err != nil {
		return err
	}
	freed, err := i.change(ctx, host, func(host *metal3v1alpha1.BareMetalHost) bool {
		return usable(host) && isReleasable(host)
	}, func(host *metal3v1alpha1.BareMetalHost) any {
		taken := map[string]*string{}
		for label := range i.Owner.MachineLabels(machine) {
			taken[label] = nil
		}
		return patch[freeSpec]{Metadata: metadata{
			ResourceVersion: host.ResourceVersion,
			Labels:          taken,
			Annotations:     map[string]*string{owner.AnnotationNode: nil, owner.AnnotationNetworkData: nil},
		}}
	})
	if freed != nil || err != nil {
		return err
	}
	host, err = i.lateHost(ctx, name, machine)
	if host != nil {
		return platform.NewError(platform.ClassTransient, "host %q changed while it was released", name)
	}
	return err
}

// newDeprovisionPatch returns the patch that removes the machine from the host. baremetal-operator refuses to power off a host with
// disablePowerOff.
func newDeprovisionPatch(host *metal3v1alpha1.BareMetalHost, machine, cleaning string) patch[deprovisionSpec] {
	return patch[deprovisionSpec]{
		Metadata: metadata{ResourceVersion: host.ResourceVersion},
		Spec: deprovisionSpec{
			NetworkData:           formerNetworkData(host, machine),
			AutomatedCleaningMode: metal3v1alpha1.AutomatedCleaningMode(cleaning),
			Online:                host.Spec.DisablePowerOff,
		},
	}
}

// isWanted reports whether the spec of the host still has anything of the machine.
func isWanted(host *metal3v1alpha1.BareMetalHost, machine, cleaning string) bool {
	spec := &host.Spec
	return spec.Image != nil || spec.UserData != nil || spec.MetaData != nil ||
		!ptr.Equal(spec.NetworkData, formerNetworkData(host, machine)) || spec.Online != spec.DisablePowerOff ||
		spec.AutomatedCleaningMode != metal3v1alpha1.AutomatedCleaningMode(cleaning)
}

// formerNetworkData returns the network data of the host without the machine, which its operator wrote.
func formerNetworkData(host *metal3v1alpha1.BareMetalHost, machine string) *corev1.SecretReference {
	if !isData(host.Spec.NetworkData, machine) {
		return host.Spec.NetworkData
	}
	namespace, name, found := strings.Cut(host.Annotations[owner.AnnotationNetworkData], "/")
	if !found {
		return nil
	}
	return &corev1.SecretReference{Namespace: namespace, Name: name}
}

// isReleasable reports whether nothing of the machine is left on the host.
func isReleasable(host *metal3v1alpha1.BareMetalHost) bool {
	return host.Spec.Image == nil && isClean(host) && (!host.Status.PoweredOn || host.Spec.DisablePowerOff)
}

// waitUntilClean returns the host when nothing of the machine is left on it, nil if it is gone. If that takes
// long it returns a transient error that reports the progress.
func (i *Inventory) waitUntilClean(ctx context.Context, host *metal3v1alpha1.BareMetalHost, machine string) (*metal3v1alpha1.BareMetalHost,
	error) {
	reader := i.reader(ctx)
	interval := requestInterval
	if !metalclient.IsLive(reader) {
		interval = watchedInterval
	}
	name := host.Name
	err := wait.PollUntilContextTimeout(ctx, interval, releaseTimeout, true, func(ctx context.Context) (bool, error) {
		if isReleasable(host) {
			return true, nil
		}
		current, err := i.read(ctx, reader, name)
		if current == nil || err != nil {
			return false, err
		}
		if isOf(current, i.Owner, machine) && current.Spec.Image == nil {
			host = current
		}
		return isReleasable(host), nil
	})
	switch {
	case err == nil:
		return host, nil
	case wait.Interrupted(err) && ctx.Err() == nil:
		return i.lateHost(ctx, name, machine)
	default:
		return nil, metalclient.Classify(err)
	}
}

// lateHost returns the host if nothing of the machine is left on it, and nil if the machine no longer has it. Otherwise it returns a
// transient error that reports the progress.
func (i *Inventory) lateHost(ctx context.Context, name, machine string) (*metal3v1alpha1.BareMetalHost, error) {
	host, err := i.read(ctx, i.Client(), name)
	switch {
	case host == nil || err != nil || !isOf(host, i.Owner, machine):
		return nil, err
	case isReleasable(host):
		return host, nil
	case fault(host) != "":
		return nil, platform.NewError(platform.ClassTransient, "host %q cannot be cleaned, and is not released before that: %s",
			name, fault(host))
	case isClean(host):
		return nil, platform.NewProgress("host %q is switched off", name)
	default:
		return nil, platform.NewProgress("host %q is %s", name, progress(host))
	}
}

// progress returns the progress of the host's cleaning.
func progress(host *metal3v1alpha1.BareMetalHost) string {
	if state := host.Status.Provisioning.State; state != metal3v1alpha1.StateProvisioned && state != metal3v1alpha1.StateProvisioning {
		return string(state)
	}
	return "waiting to be deprovisioned"
}
