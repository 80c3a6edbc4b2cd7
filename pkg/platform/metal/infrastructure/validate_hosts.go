// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventory"
)

const (
	// maxNames is how many names of hosts a message has.
	maxNames = 5
	gibibyte = 1 << 30
)

// wantedHosts are the hosts that a demand selects.
type wantedHosts struct {
	*want
	hosts []inventory.Host
}

// architectures are the names that inventories have for architectures of Gardener.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// checkInventory compares the inventory with that of the state.
func (v *validation) checkInventory(ctx context.Context, result *platform.Result) error {
	if v.site.State == nil {
		return nil
	}
	id, err := kubernetes.Identity(ctx, v.api, v.namespace)
	if err != nil {
		return err
	}
	err = v.checkPlace(ctx, id)
	if err != nil && platform.ClassOf(err) == platform.ClassConfiguration {
		result.Invalid(v.profile("namespace"), v.namespace, "%v", err)
		return nil
	}
	return err
}

// checkFaults warns about hosts that the inventory does not hand out, or whose machines will be replaced.
func (v *validation) checkFaults(_ context.Context, result *platform.Result) error {
	for _, wanted := range v.wanted {
		var faulty []string
		for _, host := range wanted.hosts {
			if host.Fault != "" && len(faulty) < maxNames {
				faulty = append(faulty, fmt.Sprintf("%s (%s)", platform.Printable(host.Name), platform.Printable(host.Fault)))
			}
		}
		if len(faulty) > 0 {
			result.Warn(wanted.path, "hosts %s have faults: %s", wanted.describe(), strings.Join(faulty, "; "))
		}
	}
	return nil
}

// checkHardware warns about hosts that have less than the machine type says. Firmware takes some of the memory.
func (v *validation) checkHardware(ctx context.Context, result *platform.Result) error {
	if len(v.wanted) == 0 {
		return nil
	}
	hosts, err := v.inventory.Survey(ctx, v.cleaning)
	if err != nil {
		return err
	}
	for _, wanted := range v.wanted {
		var (
			known  int
			others []string
		)
		for _, host := range hosts {
			if !wanted.selection.Matches(host.Labels) || host.CPUs == 0 && host.Memory == 0 && host.Architecture == "" {
				continue
			}
			known++
			if difference := wanted.differs(host); difference != "" {
				others = append(others, platform.Printable(host.Name)+" has "+difference)
			}
		}
		if len(others) == 0 {
			continue
		}
		which := "some hosts"
		if len(others) == known {
			which = "all hosts"
		}
		result.Warn(wanted.path.Child("machine", "type"), "%s %s have less than the machine type says: %s", which, wanted.describe(),
			strings.Join(others[:min(len(others), maxNames)], ", ")).Want = wanted.hardware()
	}
	return nil
}

// differs returns what the host has that is not enough, empty if all is.
func (w *want) differs(host inventory.Surveyed) string {
	var (
		parts        []string
		cpus, memory = w.capacity.Cpu().Value(), w.capacity.Memory().Value()
		architecture = cmp.Or(architectures[host.Architecture], host.Architecture)
	)
	if host.CPUs > 0 && host.CPUs < cpus {
		parts = append(parts, fmt.Sprintf("%d CPUs", host.CPUs))
	}
	if host.Memory > 0 && host.Memory < memory/10*9 {
		parts = append(parts, fmt.Sprintf("%.4g GiB memory", float64(host.Memory)/gibibyte))
	}
	if architecture != "" && w.architecture != "" && architecture != w.architecture {
		parts = append(parts, "architecture "+platform.Printable(architecture))
	}
	return strings.Join(parts, ", ")
}

// hardware returns what the machine type says.
func (w *want) hardware() string {
	return fmt.Sprintf("%d CPUs, %.4g GiB memory, architecture %s", w.capacity.Cpu().Value(),
		w.capacity.Memory().AsApproximateFloat64()/gibibyte, cmp.Or(w.architecture, "any"))
}
