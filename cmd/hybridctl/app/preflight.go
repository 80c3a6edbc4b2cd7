// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/preflight"
)

// preflightCommand checks what a shoot wants from its sites.
type preflightCommand struct {
	*streamsAndInputs
	platforms platform.Registry[platform.Infrastructure]

	skip    []string
	list    bool
	timeout time.Duration
	probe   probeFlags
}

func newPreflightCommand(o *streamsAndInputs) *cobra.Command {
	p := &preflightCommand{streamsAndInputs: o, platforms: extension.Infrastructures()}
	command := &cobra.Command{
		Use:   "preflight",
		Short: "Checks whether sites have what a shoot needs",
		Long: "Checks whether the sites of a shoot have what it needs, with the credentials in its Secret. The checks are those that the " +
			"extension makes. Each has an ID, see docs/operations/preflight.md. A check is fine, has failed, warns, could not be made, or was " +
			"skipped. A site that does not answer delays and hides no other one.\n\nExit codes: 0 if there are no findings, 1 if there are, " +
			"2 if a site could not be asked.\n\n" + probeHelp,
		Example: "  hybridctl preflight -f shoot.yaml -f cloudprofile.yaml -f secret.yaml\n" +
			"  hybridctl preflight --shoot my-shoot -n garden-my-project -o json\n" +
			"  hybridctl preflight --checks\n" +
			"  hybridctl preflight -f shoot.yaml -f cloudprofile.yaml -f secret.yaml --probe one >one.sh\n" +
			"  hybridctl preflight -f shoot.yaml -f cloudprofile.yaml -f secret.yaml --probe-report one.json --probe-report two.json",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return p.run(command.Context()) },
	}
	o.inputs.addFlags(command)
	withInputs := command.PreRunE
	command.PreRunE = func(command *cobra.Command, arguments []string) error {
		if p.list {
			return nil
		}
		return withInputs(command, arguments)
	}
	o.output.addFlags(command)
	command.Flags().StringSliceVar(&p.skip, "skip", nil, "IDs of checks that are not made.")
	command.Flags().BoolVar(&p.list, "checks", false, "List all checks, and make none.")
	p.probe.addFlags(command)
	command.Flags().DurationVar(&p.timeout, "timeout", infrastructure.PreflightTimeout, "Time that each site has to answer.")
	_ = command.RegisterFlagCompletionFunc("skip", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return lists.Map(p.checks(), func(c platform.Check) cobra.Completion { return cobra.CompletionWithDesc(c.ID, c.Title) }),
			cobra.ShellCompDirectiveNoFileComp
	})
	validated(command, p.validate)
	return command
}

// checks returns all checks that exist.
func (p *preflightCommand) checks() []platform.Check {
	all := slices.Concat(preflight.SiteChecks(), preflight.PairChecks(), preflight.ProbeChecks())
	for _, name := range slices.Sorted(maps.Keys(p.platforms)) {
		all = append(all, p.platforms[name].Checks()...)
	}
	return all
}

func (p *preflightCommand) validate() error {
	for _, id := range p.skip {
		if !slices.ContainsFunc(p.checks(), func(c platform.Check) bool { return c.ID == id }) {
			return fmt.Errorf("--skip: there is no check %q, see --checks", id)
		}
	}
	return nil
}

func (p *preflightCommand) run(ctx context.Context) error {
	report := &v1alpha1.PreflightReport{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "PreflightReport"},
	}
	if p.list {
		for _, c := range p.checks() {
			report.Checks = append(report.Checks, v1alpha1.PreflightCheck{ID: c.ID, Title: c.Title, Remedy: c.Remedy, Needs: c.Needs})
		}
		return p.output.print(report, func(s *screen) { s.checks(report.Checks) })
	}
	input, err := p.inputs.load(ctx)
	if err != nil {
		return err
	}
	if input.Cluster.Shoot == nil {
		return errors.New("a Shoot is required")
	}
	request := infrastructure.PreflightRequest{
		Cluster: input.Cluster, Infrastructure: input.Infrastructure, Secret: input.Secret, Platforms: p.platforms, Skip: p.skip,
		Timeout: p.timeout,
	}
	if p.probe.site != "" {
		return p.probe.print(ctx, p.Out, request)
	}
	if request.Reports, err = p.probe.read(); err != nil {
		return err
	}
	found, err := infrastructure.NewPreflight(ctx, request)
	if err != nil {
		return err
	}
	if err := p.probe.unused(found); err != nil {
		return err
	}
	report.Shoot = input.Cluster.ObjectMeta.Name
	if found.Err != nil {
		report.Errors = append(report.Errors, found.Err.Error())
	}
	failed := found.Err != nil
	for i := range found.Sites {
		s := &found.Sites[i]
		failed = failed || isUnanswered(s.Findings)
		report.Sites = append(report.Sites,
			v1alpha1.SitePreflight{Name: s.Name, Platform: s.Platform, PreflightResult: preflightResult(s.Findings)})
	}
	for i := range found.Pairs {
		failed = failed || isUnanswered(found.Pairs[i].Findings)
		report.Pairs = append(report.Pairs,
			v1alpha1.PairPreflight{Sites: found.Pairs[i].Sites[:], PreflightResult: preflightResult(found.Pairs[i].Findings)})
	}
	slices.SortStableFunc(report.Sites, func(a, b v1alpha1.SitePreflight) int { return strings.Compare(a.Name, b.Name) })
	if err := p.output.print(report, func(s *screen) { s.preflight(report) }); err != nil {
		return err
	}
	switch {
	case failed:
		return errors.New("not all checks could be made")
	case hasFindings(report):
		return errFindings
	default:
		return nil
	}
}

// isUnanswered returns whether a check could not be made, because of the site and not because of another check.
func isUnanswered(findings platform.Findings) bool {
	return slices.ContainsFunc(findings.Found, func(f platform.Finding) bool { return f.State == platform.Unknown && f.Err != nil })
}

// preflightResult returns the result for the report, with the remedies of what is to be done.
func preflightResult(findings platform.Findings) v1alpha1.PreflightResult {
	result := v1alpha1.PreflightResult{Fine: findings.Fine()}
	for _, found := range findings.Found {
		result.Findings = append(result.Findings, v1alpha1.PreflightFinding{
			ID: found.Check.ID, State: v1alpha1.PreflightState(found.State), Field: found.Field, Is: platform.Printable(found.Is), Want: found.Want,
			Remedy: found.Advice(), Cause: found.Cause,
		})
	}
	return result
}

// results returns the results of all sites and pairs.
func results(report *v1alpha1.PreflightReport) []v1alpha1.PreflightResult {
	all := lists.Map(report.Sites, func(s v1alpha1.SitePreflight) v1alpha1.PreflightResult { return s.PreflightResult })
	return append(all, lists.Map(report.Pairs, func(p v1alpha1.PairPreflight) v1alpha1.PreflightResult { return p.PreflightResult })...)
}

func hasFindings(report *v1alpha1.PreflightReport) bool {
	return slices.ContainsFunc(results(report), func(r v1alpha1.PreflightResult) bool {
		return slices.ContainsFunc(r.Findings, func(f v1alpha1.PreflightFinding) bool { return f.State != stateSkipped })
	})
}

const (
	stateFailed  = v1alpha1.PreflightState(platform.Failed)
	stateWarning = v1alpha1.PreflightState(platform.Warning)
	stateUnknown = v1alpha1.PreflightState(platform.Unknown)
	stateSkipped = v1alpha1.PreflightState(platform.Skipped)
)

var stateStyles = map[v1alpha1.PreflightState]style{
	stateFailed: bad, stateWarning: unsure, stateUnknown: unsure, stateSkipped: faint, v1alpha1.PreflightState(platform.Fine): good,
}

// preflight writes the report: what was found, what to do about it, and a count.
func (s *screen) preflight(report *v1alpha1.PreflightReport) {
	var (
		rows     = &table{columns: []string{"SITE", "STATE", "CHECK", "FIELD", "FINDING"}}
		remedies []v1alpha1.PreflightFinding
	)
	add := func(name string, result v1alpha1.PreflightResult) {
		for _, f := range result.Findings {
			// What follows from another finding is counted below.
			if f.Cause != "" && !s.wide {
				continue
			}
			rows.add(cell{text: name}, cell{string(f.State), stateStyles[f.State]}, cell{text: f.ID}, cell{text: f.Field}, cell{text: isAndWant(f)})
			told := func(other v1alpha1.PreflightFinding) bool { return other.ID == f.ID && other.Remedy == f.Remedy }
			if f.Remedy != "" && f.Cause == "" && !slices.ContainsFunc(remedies, told) {
				remedies = append(remedies, f)
			}
		}
		for _, id := range result.Fine {
			if s.wide {
				rows.add(cell{text: name}, cell{string(platform.Fine), good}, cell{text: id})
			}
		}
	}
	counts := &table{columns: []string{"SITE", "FAILED", "WARNINGS", "UNKNOWN", "SKIPPED", "FINE"}}
	count := func(name string, result v1alpha1.PreflightResult) {
		cells := []cell{{text: name}}
		for _, state := range []v1alpha1.PreflightState{stateFailed, stateWarning, stateUnknown, stateSkipped} {
			n := len(checksIn(result, state))
			c := cell{text: strconv.Itoa(n)}
			if n > 0 {
				c.style = stateStyles[state]
			}
			cells = append(cells, c)
		}
		counts.add(append(cells, cell{text: strconv.Itoa(len(result.Fine))})...)
	}
	for _, site := range report.Sites {
		add(site.Name, site.PreflightResult)
		count(site.Name, site.PreflightResult)
	}
	for _, pair := range report.Pairs {
		name := strings.Join(pair.Sites, " - ")
		add(name, pair.PreflightResult)
		count(name, pair.PreflightResult)
	}
	s.table(rows)
	s.section("Remedies", func(s *screen) {
		for _, f := range remedies {
			s.line(2, cell{f.ID + ":", stateStyles[f.State]}, cell{text: f.Remedy})
		}
	})
	s.section("", func(s *screen) { s.table(counts) })
	for _, message := range report.Errors {
		s.line(0, cell{"error:", bad}, cell{text: message})
	}
}

func isAndWant(f v1alpha1.PreflightFinding) string {
	if f.Want == "" {
		return f.Is
	}
	return f.Is + ", want " + f.Want
}

// checksIn returns the IDs of the checks with findings of the state.
func checksIn(result v1alpha1.PreflightResult, state v1alpha1.PreflightState) []string {
	var ids []string
	for _, f := range result.Findings {
		if f.State == state && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// checks writes a list of checks.
func (s *screen) checks(checks []v1alpha1.PreflightCheck) {
	rows := &table{columns: []string{"CHECK", "TITLE", "+REMEDY"}}
	for _, c := range checks {
		rows.add(cell{text: c.ID}, cell{text: c.Title}, cell{text: c.Remedy})
	}
	s.table(rows)
}
