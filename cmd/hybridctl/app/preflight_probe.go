// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

const probeHelp = "With --probe, it prints a script instead, which reports what a host in the network of a site sees. The arguments of " +
	"the script are <site>=<address> of the hosts that run the scripts of other sites. What the scripts print is judged with --probe-report."

// probeFlags are the flags of probes.
type probeFlags struct {
	site       string
	registries []string
	files      []string

	// reports are the reports of the files by the names of their sites.
	reports map[string]*preflight.Report
}

func (f *probeFlags) addFlags(command *cobra.Command) {
	command.Flags().StringVar(&f.site, "probe", "", "Print the script that reports what a host in the network of this site sees.")
	command.Flags().StringSliceVar(&f.registries, "probe-registry", preflight.DefaultRegistries,
		"Registries, as <host>:<port>, that the script connects to.")
	command.Flags().StringArrayVar(&f.files, "probe-report", nil, "File with the report of a script. Can be given once for each site.")
	command.MarkFlagsMutuallyExclusive("probe", "probe-report", "checks")
}

// print writes the script.
func (f *probeFlags) print(ctx context.Context, out io.Writer, request infrastructure.PreflightRequest) error {
	script, err := infrastructure.ProbeScript(ctx, request, f.site, f.registries)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, script)
	return err
}

// read returns the reports by the names of their sites.
func (f *probeFlags) read() (map[string]*preflight.Report, error) {
	f.reports = map[string]*preflight.Report{}
	for _, name := range f.files {
		report, err := readReport(name)
		if err != nil {
			return nil, fmt.Errorf("--probe-report %s: %w", name, err)
		}
		if f.reports[report.Site] != nil {
			return nil, fmt.Errorf("--probe-report %s: there is another report of site %q", name, report.Site)
		}
		f.reports[report.Site] = report
	}
	return f.reports, nil
}

func readReport(name string) (*preflight.Report, error) {
	file, err := os.Open(name) // #nosec G304 -- the user names it
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return preflight.ReadReport(file)
}

// unused returns an error if there is a report of a site that the shoot does not use.
func (f *probeFlags) unused(found *infrastructure.Preflight) error {
	for _, name := range slices.Sorted(maps.Keys(f.reports)) {
		if !slices.ContainsFunc(found.Sites, func(s infrastructure.SitePreflight) bool { return s.Name == name }) {
			return fmt.Errorf("--probe-report: the shoot does not use site %q", name)
		}
	}
	return nil
}
