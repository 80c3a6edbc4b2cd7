// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)

// statusOptions are the flags of hybridctl status.
type statusOptions struct {
	*streamsAndInputs

	metricsURLs []string
	watch       bool
}

func newStatusCommand(o *streamsAndInputs) *cobra.Command {
	options := &statusOptions{streamsAndInputs: o}
	command := &cobra.Command{
		Use:   "status",
		Short: "Shows the state of a shoot and of its sites",
		Long: "Shows the sites of a shoot with their conditions, machines, room and requests, and the last errors. With a garden alone, it " +
			"shows what the Shoot says about its sites.\n\nExit codes: 0 if all is well, 1 if it is not, 2 if it is not known.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			from, err := o.inputs.open()
			if err != nil {
				return err
			}
			if options.watch {
				return options.follow(command.Context(), from)
			}
			return options.once(command.Context(), from)
		},
	}
	o.inputs.withoutSecret = true
	o.inputs.addFlags(command)
	o.output.addFlags(command)
	command.Flags().StringArrayVar(&options.metricsURLs, "metrics-url", nil, "URL of the metrics of the extension or of the driver. May be "+
		"repeated. Default: those of the pods in the seed.")
	command.Flags().BoolVarP(&options.watch, "watch", "w", false, "Show changes until interrupted.")
	return command
}

// once prints the report.
func (o *statusOptions) once(ctx context.Context, from *sources) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	report, err := o.report(ctx, from)
	if err != nil {
		return err
	}
	o.readMetrics(ctx, from, report.Shoot.TechnicalID).complete(report)
	if err := o.output.print(report, func(s *screen) { writeStatus(s, report, time.Now()) }); err != nil {
		return err
	}
	switch {
	case !isKnown(report):
		return errors.New("nothing is known about the sites of the shoot")
	case !isWell(report):
		return errFindings
	default:
		return nil
	}
}

// report returns what the objects in the garden and in the seed say.
func (o *statusOptions) report(ctx context.Context, from *sources) (*v1alpha1.StatusReport, error) {
	input, err := o.inputs.loadFrom(ctx, from)
	if err != nil {
		return nil, err
	}
	if input.Cluster.Shoot == nil {
		return nil, errors.New("the manifests have no Shoot")
	}
	known := &seen{shootInput: input, shootIsCurrent: from.garden != nil || from.seed == nil}
	if err := known.read(ctx); err != nil {
		return nil, err
	}
	return known.report(), nil
}

// isKnown returns whether the report says how anything is.
func isKnown(report *v1alpha1.StatusReport) bool {
	return len(report.Conditions) > 0 || len(report.Errors) > 0 ||
		slices.ContainsFunc(report.Sites, func(s v1alpha1.StatusSite) bool { return len(s.Conditions) > 0 })
}

// isWell returns whether nothing in the report needs attention. What is not known does not.
func isWell(report *v1alpha1.StatusReport) bool {
	well := len(report.Errors) == 0 && areWell(report.Conditions)
	for i := range report.Sites {
		well = well && areWell(report.Sites[i].Conditions)
	}
	return well
}

func areWell(conditions []v1alpha1.StatusCondition) bool {
	return !slices.ContainsFunc(conditions, func(c v1alpha1.StatusCondition) bool { return styleOf(c) != good })
}
