// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
)

// minProbeInterval keeps sites from being asked without a pause.
const minProbeInterval = time.Second

// siteOptions say how sites are looked after.
type siteOptions struct {
	probeInterval time.Duration
}

// AddFlags implements Flagger.
func (o *siteOptions) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.probeInterval, "probe-interval", sitehealth.DefaultProbeInterval,
		"How often each site is asked how it is. Credentials that were refused are tried again after five thirds of it.")
}

// Complete implements Completer.
func (o *siteOptions) Complete() error {
	if o.probeInterval < minProbeInterval {
		return fmt.Errorf("--site-probe-interval: %s is less than %s", o.probeInterval, minProbeInterval)
	}
	return nil
}
