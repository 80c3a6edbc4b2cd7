// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cmd has the options of the command that serves the admission webhooks.
package cmd

import (
	webhookcmd "github.com/gardener/gardener/extensions/pkg/webhook/cmd"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
)

// GardenWebhookSwitchOptions are the webhooks that can be switched off.
func GardenWebhookSwitchOptions() *webhookcmd.SwitchOptions {
	return webhookcmd.NewSwitchOptions(
		webhookcmd.Switch(mutator.Name, mutator.New),
		webhookcmd.Switch(validator.Name, validator.New),
		webhookcmd.Switch(validator.BindingsValidatorName, validator.NewBindingsWebhook),
		webhookcmd.Switch(validator.SecretsValidatorName, validator.NewSecretsWebhook),
	)
}
