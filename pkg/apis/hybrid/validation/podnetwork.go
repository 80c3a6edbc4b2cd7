// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"slices"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/podnetwork"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

const needsRoutes = "pods of other nodes need routes in the node network, which are not created at all sites"

// ValidatePodNetwork validates the pod network of a Shoot with the infrastructure. carried is the smallest MTU of the
// sites' node networks in bytes, zero if unknown. The configuration of unknown network types
// is ignored. fldPath is the path of the networking.
func ValidatePodNetwork(networking *gardencorev1beta1.Networking, infrastructure *v1alpha1.InfrastructureConfig, carried int32,
	fldPath *field.Path) field.ErrorList {
	if networking == nil || networking.Type == nil {
		return nil
	}
	v := podNetworkValidator{
		ipv4:    len(networking.IPFamilies) == 0 || slices.Contains(networking.IPFamilies, gardencorev1beta1.IPFamilyIPv4),
		ipv6:    slices.Contains(networking.IPFamilies, gardencorev1beta1.IPFamilyIPv6),
		carried: carried,
		fldPath: fldPath.Child("providerConfig"),
	}
	if infrastructure != nil {
		v.several = len(infrastructure.Sites) > 1
		v.routed = infrastructure.Networks.Topology == v1alpha1.TopologyRouted
	}
	if v.ipv4 && v.ipv6 {
		v.errs = append(v.errs, field.Forbidden(fldPath.Child("ipFamilies"),
			"must be one IP family: Gardener supports two only without the overlay, but "+needsRoutes))
	}
	var validate func()
	switch *networking.Type {
	case podnetwork.TypeCalico:
		validate = v.validateCalico
	case podnetwork.TypeCilium:
		validate = v.validateCilium
	default:
		return v.errs
	}

	fields, err := podnetwork.Read(networking.ProviderConfig)
	if err != nil {
		return field.ErrorList{field.Invalid(v.fldPath, "(hidden)", err.Error())}
	}
	v.fields = fields
	v.validateOverlay()
	validate()
	return v.errs
}

type podNetworkValidator struct {
	fields podnetwork.Fields
	// several is true if the shoot has more than one site, and routed if each has a subnet of its own.
	several, routed bool
	ipv4, ipv6      bool
	carried         int32

	fldPath *field.Path
	errs    field.ErrorList
}

// failed adds an error of reading a field.
func (v *podNetworkValidator) failed(err error) bool {
	if fieldErr := (*podnetwork.FieldError)(nil); errors.As(err, &fieldErr) {
		v.errs = append(v.errs, field.Invalid(v.path(fieldErr.Path...), "(hidden)", "must be "+fieldErr.Allowed))
	}
	return err != nil
}

func (v *podNetworkValidator) forbid(reason string, path ...string) {
	v.errs = append(v.errs, field.Forbidden(v.path(path...), reason))
}

func (v *podNetworkValidator) path(path ...string) *field.Path {
	if len(path) == 0 {
		return v.fldPath
	}
	return v.fldPath.Child(path[0], path[1:]...)
}

// validateOverlay refuses a disabled overlay. An overlay object that does not enable it disables it.
func (v *podNetworkValidator) validateOverlay() {
	if !v.fields.Has("overlay") {
		return
	}
	enabled, err := v.fields.Flag("overlay", "enabled")
	if v.failed(err) {
		return
	}
	if !enabled {
		v.forbid("must be true: without the overlay "+needsRoutes, "overlay", "enabled")
	}
	podRoutes, err := v.fields.Flag("overlay", "createPodRoutes")
	if !v.failed(err) && podRoutes && v.several && v.routed {
		v.forbid("must not be true with topology Routed: nodes of different sites share no L2 network", "overlay", "createPodRoutes")
	}
}

func (v *podNetworkValidator) validateCalico() {
	backend, err := v.fields.Text("backend")
	if !v.failed(err) && backend == "none" {
		v.forbid(`must not be "none": `+needsRoutes, "backend")
	}

	modePath := []string{"ipv4", "mode"}
	if !v.fields.Has("ipv4") {
		modePath = []string{"ipip"}
	}
	mode, err := v.fields.Text(modePath...)
	if !v.failed(err) && (mode == "Never" || mode == "Off") {
		v.forbid(fmt.Sprintf("must not be %q: without encapsulation %s", mode, needsRoutes), modePath...)
		mode = ""
	}

	encapsulation, err := v.fields.CalicoEncapsulation(v.ipv6)
	if v.failed(err) {
		return
	}
	if encapsulation == podnetwork.EncapsulationIPIP && v.several && v.ipv4 && backend != "none" {
		reason := `must be true over several sites: firewalls and routers between them pass TCP and UDP, but not IP in IP, Calico's default`
		if mode != "" {
			v.forbid(fmt.Sprintf("must not be %q for a pool of IP in IP over several sites: firewalls and routers between them pass TCP and UDP "+
				"only; use vxlan.enabled", mode), modePath...)
		} else if !v.overlayOff() {
			v.errs = append(v.errs, field.Required(v.path("vxlan", "enabled"), reason))
		}
	}

	asked, err := v.fields.CalicoMTU()
	if !v.failed(err) {
		v.validateMTU(asked, encapsulation.Overhead(v.ipv6), podnetwork.FieldVethMTU)
	}
}

func (v *podNetworkValidator) overlayOff() bool {
	enabled, err := v.fields.Flag("overlay", "enabled")
	return v.fields.Has("overlay") && (err != nil || !enabled)
}

func (v *podNetworkValidator) validateCilium() {
	tunnel, err := v.fields.Text("tunnel")
	if !v.failed(err) && tunnel == "disabled" {
		v.forbid(`must not be "disabled": without a tunnel `+needsRoutes, "tunnel")
	}
	asked, err := v.fields.CiliumMTU()
	if !v.failed(err) {
		v.validateMTU(asked, 0, podnetwork.FieldMTU)
	}
}

func (v *podNetworkValidator) validateMTU(asked, overhead int32, name string) {
	if v.carried == 0 || asked <= v.carried-overhead {
		return
	}
	reason := fmt.Sprintf("must not be greater than %d, the MTU of the node networks of all sites", v.carried-overhead)
	if overhead > 0 {
		reason += fmt.Sprintf(", %d, less %d for the encapsulation", v.carried, overhead)
	}
	v.errs = append(v.errs, field.Invalid(v.path(name), asked, reason))
}
