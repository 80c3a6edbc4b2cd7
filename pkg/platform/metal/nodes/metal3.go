// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"cmp"
	"context"
	"net/netip"
	"strings"

	metal3v1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/owner"
)

// metal3 are BareMetalHosts.
type metal3 struct {
	session *metalclient.Session
	owner   owner.Owner
}

func (m *metal3) check(ctx context.Context) error {
	return metalclient.Classify(m.session.Client().List(ctx, &metal3v1alpha1.BareMetalHostList{},
		client.InNamespace(m.session.Namespace), client.MatchingLabels(m.owner.Labels()), client.Limit(1)))
}

// byProviderID implements hosts. The machine has no host any more if the host of the ID is gone or is not that machine.
func (m *metal3) byProviderID(ctx context.Context, providerID string) (*host, error) {
	name, machine, _ := strings.Cut(strings.TrimPrefix(providerID, owner.Metal3Prefix+m.session.Namespace+"/"), "/")
	object, err := m.get(ctx, name)
	if object == nil || err != nil || !m.is(object, machine) {
		return nil, err
	}
	if site := object.Labels[owner.LabelSite]; site != "" && site != m.owner.Site {
		return nil, platform.NewError(platform.ClassConflict, "host %q of machine %q belongs to site %q", name, machine, site)
	}
	return m.host(object, machine), nil
}

// byNodeName implements hosts. Nodes are named after their machines or after their hosts.
func (m *metal3) byNodeName(ctx context.Context, name string) ([]host, error) {
	var result []host
	if len(validation.IsValidLabelValue(name)) == 0 {
		list := &metal3v1alpha1.BareMetalHostList{}
		err := m.session.Client().List(ctx, list, client.InNamespace(m.session.Namespace), client.MatchingLabels(m.owner.MachineLabels(name)))
		if err != nil {
			return nil, metalclient.Classify(err)
		}
		for i := range list.Items {
			if m.is(&list.Items[i], name) {
				result = append(result, *m.host(&list.Items[i], name))
			}
		}
	}
	object, err := m.get(ctx, name)
	if object == nil || err != nil {
		return result, err
	}
	if machine := object.Labels[owner.LabelMachine]; m.owner.Owns(object.Labels) && m.is(object, machine) {
		result = append(result, *m.host(object, machine))
	}
	return result, nil
}

// get returns the host of the name, nil if there is none.
func (m *metal3) get(ctx context.Context, name string) (*metal3v1alpha1.BareMetalHost, error) {
	object := &metal3v1alpha1.BareMetalHost{}
	if err := m.session.Client().Get(ctx, client.ObjectKey{Namespace: m.session.Namespace, Name: name}, object); err != nil {
		return nil, metalclient.IgnoreNotFound(err)
	}
	return object, nil
}

// is reports whether the host is the machine. Its consumer says so, or its labels if somebody took the consumer away and has not given it
// an image since.
func (m *metal3) is(object *metal3v1alpha1.BareMetalHost, machine string) bool {
	if object.Spec.ConsumerRef == nil {
		data := object.Spec.UserData
		return m.owner.OwnsMachine(object.Labels, machine) && (object.Spec.Image == nil || data != nil && data.Name == machine)
	}
	return m.owner.IsReference(object.Spec.ConsumerRef, machine)
}

func (m *metal3) host(object *metal3v1alpha1.BareMetalHost, machine string) *host {
	result := &host{
		name:       object.Name,
		machine:    machine,
		providerID: owner.Metal3ID(object.Namespace, object.Name, machine),
		nodeName:   cmp.Or(object.Annotations[owner.AnnotationNode], machine),
		labels:     object.Labels,
		off:        metal3Off(object),
	}
	if hardware := object.Status.HardwareDetails; hardware != nil {
		result.vendor, result.model = hardware.SystemVendor.Manufacturer, hardware.SystemVendor.ProductName
		for _, nic := range hardware.NIC {
			if address, err := netip.ParseAddr(nic.IP); err == nil {
				result.discovered = append(result.discovered, address)
			}
		}
	}
	return result
}

// metal3Off reports whether the host has no power. What baremetal-operator says about power is not true any more while it leaves the
// host alone or cannot reach its BMC, and says nothing about the machine before it is there.
func metal3Off(object *metal3v1alpha1.BareMetalHost) bool {
	_, paused := object.Annotations[metal3v1alpha1.PausedAnnotation]
	_, detached := object.Annotations[metal3v1alpha1.DetachedAnnotation]
	return !object.Status.PoweredOn && !paused && !detached && object.Status.ErrorType == "" &&
		object.Status.OperationalStatus == metal3v1alpha1.OperationalStatusOK &&
		object.Status.Provisioning.State == metal3v1alpha1.StateProvisioned
}
