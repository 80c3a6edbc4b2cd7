// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/hybridctl"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
)

// planCommand shows what the next reconciliation of a shoot changes.
type planCommand struct {
	*streamsAndInputs
	rehearse func() *rehearsal.Rehearsal
}

func newPlanCommand(o *streamsAndInputs) *cobra.Command {
	p := &planCommand{streamsAndInputs: o, rehearse: hybridctl.Rehearse}
	command := &cobra.Command{
		Use:   "plan",
		Short: "Shows what the next reconciliation of a shoot changes",
		Long: "Shows what the next reconciliation of a shoot, or its deletion if the Shoot is being deleted, creates (+), adopts (>), " +
			"changes (~) and deletes (-) at each site, and with --output wide also what it keeps (=). The reconciliation is rehearsed: reads " +
			"go to the sites, and requests that would change something are recorded instead of sent.\n\n" +
			"Access to the seed shows what exists already. " +
			"Without it, objects are found by their names and marks.\n\nExit codes: 0 if nothing changes, 1 if something does, 2 if a site could " +
			"not be looked at, or if its reconciliation would fail.",
		Example: "  hybridctl plan -f shoot.yaml -f cloudprofile.yaml -f secret.yaml\n" +
			"  hybridctl plan --shoot my-shoot -n garden-my-project --seed-kubeconfig seed.yaml -o wide",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return p.run(command.Context()) },
	}
	o.inputs.addFlags(command)
	o.output.addFlags(command)
	return command
}

func (p *planCommand) run(ctx context.Context) error {
	input, err := p.inputs.load(ctx)
	if err != nil {
		return err
	}
	if input.Cluster.Shoot == nil {
		return errors.New("a Shoot is required")
	}
	report := &v1alpha1.PlanReport{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "PlanReport"},
		Shoot:    input.Cluster.ObjectMeta.Name,
	}
	platforms := p.rehearse()
	defer platforms.Close()
	before, err := lastReconciled(ctx, input)
	if err != nil {
		return err
	}
	plan, err := planSites(ctx, input, before, platforms)
	if err != nil {
		return err
	}
	report.Sites = plan.Sites
	if plan.Err != nil {
		report.Errors = append(report.Errors, plan.Err.Error())
	}
	if err := planPools(ctx, input, before, plan, platforms, report); err != nil {
		report.Errors = append(report.Errors, fmt.Sprintf("pools: %s", err))
	}
	if err := p.output.print(report, func(s *screen) { s.plan(report) }); err != nil {
		return err
	}
	switch {
	case isIncomplete(report):
		return errors.New("the plan is incomplete")
	case changesAnything(report):
		return errFindings
	default:
		return nil
	}
}

// planSites plans the changes of all sites.
func planSites(ctx context.Context, input *shootInput, before *extensionscontroller.Cluster,
	platforms *rehearsal.Rehearsal) (*infrastructure.Plan, error) {
	request := infrastructure.PlanRequest{
		Cluster: input.Cluster, Before: before, Infrastructure: input.Infrastructure, Secret: input.Secret, Rehearsal: platforms,
	}
	if input.Seed != nil {
		request.Machines = client.Reader(input.Seed)
	}
	return infrastructure.NewPlan(ctx, request)
}

// isIncomplete returns whether something could not be looked at.
func isIncomplete(report *v1alpha1.PlanReport) bool {
	return len(report.Errors) > 0 || slices.ContainsFunc(report.Sites, func(s v1alpha1.SitePlan) bool { return s.Error != "" }) ||
		anyZone(report.Pools, func(z *v1alpha1.ZonePlan) bool {
			return z.Action == v1alpha1.ZoneActionWait || z.Action == v1alpha1.ZoneActionUnknown
		})
}

func changesAnything(report *v1alpha1.PlanReport) bool {
	return slices.ContainsFunc(report.Sites, func(s v1alpha1.SitePlan) bool {
		return slices.ContainsFunc(s.Changes, func(c v1alpha1.PlannedChange) bool { return c.Action != v1alpha1.PlannedActionKeep })
	}) || len(report.Services) > 0 || anyZone(report.Pools, func(z *v1alpha1.ZonePlan) bool { return z.Action != v1alpha1.ZoneActionKeep })
}

// signs show the actions in tables.
var signs = map[v1alpha1.PlannedAction]cell{
	v1alpha1.PlannedActionCreate: {"+ create", good},
	v1alpha1.PlannedActionAdopt:  {"> adopt", good},
	v1alpha1.PlannedActionChange: {"~ change", unsure},
	v1alpha1.PlannedActionDelete: {"- delete", bad},
	v1alpha1.PlannedActionKeep:   {"= keep", faint},
}

// plan writes the report.
func (s *screen) plan(report *v1alpha1.PlanReport) {
	s.planSites(report.Sites)
	s.section("", func(s *screen) { s.planPools(report.Pools) })
	s.section("", func(s *screen) { s.planQuotas(report.Sites) })
	s.section("", func(s *screen) { s.planServices(report.Services) })
	for _, message := range report.Errors {
		s.line(0, cell{"error:", bad}, cell{message, plain})
	}
}

func (s *screen) planSites(sites []v1alpha1.SitePlan) {
	var (
		counts = map[v1alpha1.PlannedAction]int{}
		rows   = &table{columns: []string{"ACTION", "SITE", "KIND", "NAME", "FIELDS", "+ID", "+REQUESTS"}}
	)
	for _, site := range sites {
		for _, change := range site.Changes {
			counts[change.Action]++
			if change.Action == v1alpha1.PlannedActionKeep && !s.wide {
				continue
			}
			rows.add(signs[change.Action], cell{text: site.Name}, cell{text: change.Kind}, cell{text: cmp.Or(change.Name, change.ID)},
				cell{text: fieldsOf(change)}, cell{text: change.ID}, cell{text: requestsOf(change)})
		}
	}
	s.table(rows)
	for _, site := range sites {
		for _, note := range site.Notes {
			s.line(0, cell{"note:", unsure}, cell{fmt.Sprintf("site %s: %s", site.Name, note), plain})
		}
		if site.Error != "" {
			s.line(0, cell{"error:", bad}, cell{site.Error, plain})
		}
	}
	s.line(0, cell{text: fmt.Sprintf("Objects at sites: %d to create, %d to adopt, %d to change, %d to delete, %d to keep.",
		counts[v1alpha1.PlannedActionCreate], counts[v1alpha1.PlannedActionAdopt], counts[v1alpha1.PlannedActionChange],
		counts[v1alpha1.PlannedActionDelete], counts[v1alpha1.PlannedActionKeep])})
}

// maxTexts is the maximum number of fields and of causes in a cell of a table.
const maxTexts = 3

// firstOf returns the texts of the first items, and how many more there are.
func firstOf[T any](items []T, text func(T) string) string {
	shown := lists.Map(items[:min(len(items), maxTexts)], text)
	if more := len(items) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, "; ")
}

// fieldsOf returns the changed fields of an object that exists.
func fieldsOf(change v1alpha1.PlannedChange) string {
	if change.Action == v1alpha1.PlannedActionCreate || change.Action == v1alpha1.PlannedActionDelete {
		return ""
	}
	return firstOf(change.Fields, func(field v1alpha1.PlannedField) string {
		switch {
		case field.From == "":
			return fmt.Sprintf("%s: + %s", field.Name, field.To)
		case field.To == "":
			return fmt.Sprintf("%s: - %s", field.Name, field.From)
		default:
			return fmt.Sprintf("%s: %s -> %s", field.Name, field.From, field.To)
		}
	})
}

func requestsOf(change v1alpha1.PlannedChange) string {
	return strings.Join(lists.Map(change.Requests, func(r v1alpha1.PlannedRequest) string { return r.Method + " " + r.Path }), ", ")
}
