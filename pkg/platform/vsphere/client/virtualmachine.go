// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

const extraConfigPrefix = "config.extraConfig["

// ExtraConfigProperty is the property with one entry of the extra configuration of a virtual machine.
func ExtraConfigProperty(key string) string {
	return fmt.Sprintf("%s%q]", extraConfigPrefix, key)
}

// LoadVirtualMachine returns the properties of a virtual machine, and the single entries of its extra configuration, which are no
// fields of a virtual machine. Errors are classified.
func LoadVirtualMachine(content types.ObjectContent) (vm mo.VirtualMachine, extraConfig map[string]string, err error) {
	extraConfig = map[string]string{}
	var fields []types.DynamicProperty
	for _, p := range content.PropSet {
		if !strings.HasPrefix(p.Name, extraConfigPrefix) {
			fields = append(fields, p)
			continue
		}
		if option, ok := p.Val.(types.OptionValue); ok {
			extraConfig[option.Key] = fmt.Sprint(option.Value)
		}
	}
	content.PropSet = fields
	content.MissingSet = nil // what a virtual machine does not have yet is no error
	err = Classify(mo.LoadObjectContent([]types.ObjectContent{content}, &vm))
	return vm, extraConfig, err
}
