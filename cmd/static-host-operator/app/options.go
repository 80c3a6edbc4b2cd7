// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gardener/gardener/pkg/logger"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/statichost/host"
)

// options are the flags of the command.
type options struct {
	namespaces                    []string
	leaderElection                bool
	metricsAddress, healthAddress string
	profilesAddress               string
	logLevel, logFormat           string
	reconciler                    statichost.Options
}

func newOptions() *options {
	return &options{
		leaderElection: true,
		metricsAddress: ":8080",
		healthAddress:  ":8081",
		logLevel:       logger.InfoLevel,
		logFormat:      logger.FormatJSON,
		reconciler: statichost.Options{
			SecretNamespace:    os.Getenv("POD_NAMESPACE"),
			MaxConcurrentHosts: 10,
			RefreshInterval:    5 * time.Minute,
			MinBackOff:         5 * time.Second,
			MaxBackOff:         5 * time.Minute,
			Limits: host.Limits{
				Command: time.Minute, Baseline: 15 * time.Minute, Provision: time.Hour, Release: 45 * time.Minute, Proof: 15 * time.Minute,
			},
		},
	}
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	r := &o.reconciler
	kubeconfig := flag.NewFlagSet("", flag.ContinueOnError)
	config.RegisterFlags(kubeconfig)
	flags.AddGoFlagSet(kubeconfig)
	flags.StringSliceVar(&o.namespaces, "namespaces", nil, "The namespaces of the StaticHosts.")
	flags.StringVar(&r.SecretNamespace, "secret-namespace", r.SecretNamespace,
		"The namespace of the Secrets for SSH and of the lease. Shoots must not reach it. Default: the environment variable POD_NAMESPACE.")
	flags.BoolVar(&o.leaderElection, "leader-election", o.leaderElection, "Whether one of several operators works, and the others wait.")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "The address of the server for metrics; 0 for none.")
	flags.StringVar(&o.healthAddress, "health-bind-address", o.healthAddress, "The address of the server for probes.")
	flags.StringVar(&o.profilesAddress, "pprof-bind-address", o.profilesAddress,
		"The address of the server for profiles of net/http/pprof, for example 127.0.0.1:6060. Disabled if empty.")
	flags.StringVar(&o.logLevel, "log-level", o.logLevel, "The level of logs: debug, info or error.")
	flags.StringVar(&o.logFormat, "log-format", o.logFormat, "The format of logs: json or text.")
	flags.IntVar(&r.MaxConcurrentHosts, "max-concurrent-hosts", r.MaxConcurrentHosts,
		"How many hosts are connected to at the same time. Hosts that do not answer may be half of them.")
	flags.DurationVar(&r.RefreshInterval, "refresh-interval", r.RefreshInterval,
		"How often a host on which nothing is to be done is observed. Up to a fifth is added at random.")
	flags.DurationVar(&r.MinBackOff, "min-back-off", r.MinBackOff, "After which time a host that does not answer is tried again. It doubles.")
	flags.DurationVar(&r.MaxBackOff, "max-back-off", r.MaxBackOff, "The maximum of that time.")
	flags.DurationVar(&r.Limits.Command, "command-timeout", r.Limits.Command, "The limit of a command on a host.")
	flags.DurationVar(&r.Limits.Baseline, "baseline-timeout", r.Limits.Baseline, "The limit of the copy of what a host is.")
	flags.DurationVar(&r.Limits.Provision, "provision-timeout", r.Limits.Provision, "The limit of user data.")
	flags.DurationVar(&r.Limits.Release, "release-timeout", r.Limits.Release, "The limit of a release until the reboot.")
	flags.DurationVar(&r.Limits.Proof, "proof-timeout", r.Limits.Proof, "The limit of the comparison after the reboot.")
}

func (o *options) validate() error {
	r := o.reconciler
	switch {
	case len(o.namespaces) == 0:
		return errors.New("--namespaces is required")
	case r.SecretNamespace == "":
		return errors.New("--secret-namespace is required")
	case slices.Contains(o.namespaces, r.SecretNamespace):
		return fmt.Errorf("--secret-namespace is %q, must not be one of --namespaces, because shoots can write Secrets there", r.SecretNamespace)
	case r.MaxConcurrentHosts < 1:
		return fmt.Errorf("--max-concurrent-hosts is %d, must be at least 1", r.MaxConcurrentHosts)
	case r.MinBackOff > r.MaxBackOff:
		return fmt.Errorf("--min-back-off is %s, must be at most --max-back-off", r.MinBackOff)
	}
	for name, value := range map[string]time.Duration{
		"refresh-interval": r.RefreshInterval, "min-back-off": r.MinBackOff, "command-timeout": r.Limits.Command,
		"baseline-timeout": r.Limits.Baseline, "provision-timeout": r.Limits.Provision, "release-timeout": r.Limits.Release,
		"proof-timeout": r.Limits.Proof,
	} {
		if value < time.Second {
			return fmt.Errorf("--%s is %s, must be at least 1s", name, value)
		}
	}
	return nil
}
