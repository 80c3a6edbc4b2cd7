// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"slices"
	"strings"

	extensionscmdcontroller "github.com/gardener/gardener/extensions/pkg/controller/cmd"
	extensionswebhook "github.com/gardener/gardener/extensions/pkg/webhook"
	webhookcmd "github.com/gardener/gardener/extensions/pkg/webhook/cmd"
	"github.com/spf13/pflag"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/mutator"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/admission/validator"
)

const (
	// clientQPS and clientBurst limit the requests to the garden: Secrets are read for each Shoot that is validated.
	clientQPS   = 100
	clientBurst = 130

	defaultWebhookPort    = 10250
	defaultWebhookCertDir = "/tmp/admission-hybrid-cert"
)

var webhookModes = []string{extensionswebhook.ModeService, extensionswebhook.ModeURL, extensionswebhook.ModeURLWithServiceName}

// options are the flags of the command.
type options struct {
	rest     *extensionscmdcontroller.RESTOptions
	manager  *extensionscmdcontroller.ManagerOptions
	webhooks *webhookcmd.AddToManagerOptions
	// profilesAddress is where profiles are served, empty for nowhere.
	profilesAddress string

	all extensionscmdcontroller.OptionAggregator
}

func newOptions() *options {
	o := &options{
		rest: &extensionscmdcontroller.RESTOptions{},
		manager: &extensionscmdcontroller.ManagerOptions{
			LeaderElection:          true,
			LeaderElectionID:        extensionscmdcontroller.LeaderElectionNameID(Name),
			LeaderElectionNamespace: os.Getenv("LEADER_ELECTION_NAMESPACE"),
			MetricsBindAddress:      ":8080",
			HealthBindAddress:       ":8081",
			WebhookServerPort:       defaultWebhookPort,
			WebhookCertDir:          defaultWebhookCertDir,
		},
		webhooks: webhookcmd.NewAddToManagerOptions(Name, "", nil, nil,
			&webhookcmd.ServerOptions{Mode: extensionswebhook.ModeService, Namespace: os.Getenv("WEBHOOK_CONFIG_NAMESPACE")},
			webhookcmd.NewSwitchOptions(
				webhookcmd.Switch(mutator.Name, mutator.New),
				webhookcmd.Switch(validator.Name, validator.New),
				webhookcmd.Switch(validator.BindingsValidatorName, validator.NewBindingsWebhook),
				webhookcmd.Switch(validator.ManagedSeedsValidatorName, validator.NewManagedSeedsWebhook),
				webhookcmd.Switch(validator.SecretsValidatorName, validator.NewSecretsWebhook),
			),
		),
	}
	o.all = extensionscmdcontroller.NewOptionAggregator(o.rest, o.manager, o.webhooks)
	return o
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.all.AddFlags(flags)
	flags.StringVar(&o.profilesAddress, "pprof-bind-address", "",
		"The address of the server for profiles of net/http/pprof, for example 127.0.0.1:6060. Disabled if empty.")
}

func (o *options) complete() error {
	if kubeconfig := os.Getenv("GARDEN_KUBECONFIG"); kubeconfig != "" {
		o.rest.Kubeconfig = kubeconfig
	}
	if err := o.validate(); err != nil {
		return err
	}
	if err := o.all.Complete(); err != nil {
		return err
	}
	config := o.rest.Completed().Config
	config.QPS, config.Burst = clientQPS, clientBurst
	return nil
}

// validate checks flags whose mistakes would otherwise only show when the API server calls the webhooks.
func (o *options) validate() error {
	server := o.webhooks.Server
	switch {
	case !slices.Contains(webhookModes, server.Mode):
		return fmt.Errorf("--%s is %q, must be one of %q", webhookcmd.ModeFlag, server.Mode, webhookModes)
	case server.Mode == extensionswebhook.ModeURL && server.URL == "":
		return fmt.Errorf("--%s is required with --%s=%s: the host and port where the API server reaches the webhooks", webhookcmd.URLFlag,
			webhookcmd.ModeFlag, server.Mode)
	case strings.Contains(server.URL, "/"):
		return fmt.Errorf("--%s is %q, must be a host and port without scheme and path", webhookcmd.URLFlag, server.URL)
	case server.Mode != extensionswebhook.ModeURL && server.Namespace == "":
		return fmt.Errorf("--%s is required with --%s=%s: the namespace of the Service", webhookcmd.NamespaceFlag, webhookcmd.ModeFlag,
			server.Mode)
	case !isPort(o.manager.WebhookServerPort):
		return fmt.Errorf("--%s is %d, must be between 1 and 65535", extensionscmdcontroller.WebhookServerPortFlag,
			o.manager.WebhookServerPort)
	case server.ServicePort != 0 && !isPort(server.ServicePort):
		return fmt.Errorf("--%s is %d, must be between 1 and 65535", webhookcmd.ServicePortFlag, server.ServicePort)
	}
	return nil
}

func isPort(port int) bool {
	return port > 0 && port <= 65535
}
