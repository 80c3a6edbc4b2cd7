// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/discovery"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// discoverCommand lists what sites offer.
type discoverCommand struct {
	*streamsAndInputs
	platforms platform.Registry[platform.Discovery]

	sites   []string
	against string
	timeout time.Duration
}

func newDiscoverCommand(o *streamsAndInputs) *cobra.Command {
	d := &discoverCommand{streamsAndInputs: o, platforms: extension.Discoveries()}
	command := &cobra.Command{
		Use:   "discover",
		Short: "Writes a CloudProfile of what sites offer, or compares one with it",
		Long: "Lists what sites offer to the credentials in a Secret, and writes a CloudProfile that offers it. Admission accepts the " +
			"CloudProfile; comments say what it does not have, and why.\n\n" +
			"The sites are those of the CloudProfile that is given, of which only the connection is needed, or those of --site. With " +
			"--against, nothing is written: it shows what the sites no longer have, what has changed, what is deprecated, and what is not " +
			"used.\n\nExit codes: 0 if the CloudProfile is written or has no drift, 1 if it has drift, 2 if a site could not be asked.",
		Example: "  # of one site; the Secret has the keys cloud.username, cloud.password and so on\n" +
			"  hybridctl discover --site 'name: cloud, <platform>: {<settings of its connection>}' -f secret.yaml\n" +
			"  # of all sites of a CloudProfile\n" +
			"  hybridctl discover -f cloudprofile.yaml -f secret.yaml > new.yaml\n" +
			"  # drift\n" +
			"  hybridctl discover --against cloudprofile.yaml -f secret.yaml",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return d.run(command.Context()) },
	}
	command.Flags().StringArrayVar(&d.sites, "site", nil,
		"Site that is not in a CloudProfile, with the fields of one in YAML. May be repeated.")
	command.Flags().StringVar(&d.against, "against", "", "File with a CloudProfile that is compared with its sites, - for the standard input.")
	command.Flags().DurationVar(&d.timeout, "timeout", discovery.Timeout, "Time that each site has to answer.")
	command.MarkFlagsMutuallyExclusive("site", "against")
	o.inputs.addFlags(command)
	o.output.addFlags(command)
	return command
}

func (d *discoverCommand) run(ctx context.Context) error {
	profile, secret, err := d.given(ctx)
	if err != nil {
		return err
	}
	config, err := configOf(profile)
	if err != nil {
		return err
	}
	if secret == nil {
		return errors.New("the Secret with the credentials of the sites is missing: add it with --filename")
	}
	sites, err := sitesOf(config, secret)
	if err != nil {
		return err
	}
	found := discovery.OfSites(ctx, d.platforms, sites, d.timeout)
	var failed []error
	for i := range found {
		if found[i].Err != nil {
			failed = append(failed, found[i].Err)
		}
	}
	switch {
	case d.against != "":
		err = d.compare(profile, config, found)
	case len(failed) < len(found):
		err = d.propose(profile, found)
	}
	// That a site could not be asked is more than drift of others.
	if len(failed) > 0 && (err == nil || errors.Is(err, errFindings)) {
		return errors.Join(failed...)
	}
	return err
}

// given returns the CloudProfile and the Secret that the user gives. The Secret may be nil.
func (d *discoverCommand) given(ctx context.Context) (*gardencorev1beta1.CloudProfile, *corev1.Secret, error) {
	if len(d.sites) == 0 {
		if d.against != "" {
			d.inputs.files = append(d.inputs.files, d.against)
		}
		input, err := d.inputs.load(ctx)
		if err != nil {
			return nil, nil, err
		}
		return input.Cluster.CloudProfile, input.Secret, nil
	}
	config := &v1alpha1.CloudProfileConfig{}
	for _, text := range d.sites {
		s := v1alpha1.CloudProfileSite{}
		if err := yaml.UnmarshalStrict([]byte("{"+text+"}"), &s); err != nil {
			return nil, nil, fmt.Errorf("--site is not a site of a CloudProfile in YAML: %s", platform.Printable(err.Error()))
		}
		config.Sites = append(config.Sites, s)
	}
	raw, err := codec.Encode(config)
	if err != nil {
		return nil, nil, err
	}
	from, err := d.inputs.open()
	if err != nil {
		return nil, nil, err
	}
	secret, err := d.inputs.secret(ctx, from, &extensionscontroller.Cluster{})
	return &gardencorev1beta1.CloudProfile{Spec: gardencorev1beta1.CloudProfileSpec{ProviderConfig: raw}}, secret, err
}

// configOf returns the configuration of the CloudProfile, whose sites need nothing but their connections.
func configOf(profile *gardencorev1beta1.CloudProfile) (*v1alpha1.CloudProfileConfig, error) {
	config, err := codec.Decode[v1alpha1.CloudProfileConfig](profile.Spec.ProviderConfig)
	if err != nil {
		return nil, fmt.Errorf("CloudProfile: providerConfig: %w", err)
	}
	if len(config.Sites) == 0 {
		return nil, errors.New("the CloudProfile has no sites")
	}
	var errs field.ErrorList
	for i := range config.Sites {
		errs = append(errs, validation.ValidateAccess(&config.Sites[i], field.NewPath("sites").Index(i))...)
	}
	return config, errs.ToAggregate()
}

// sitesOf returns the sites of the CloudProfile with their credentials.
func sitesOf(config *v1alpha1.CloudProfileConfig, secret *corev1.Secret) ([]site.Site, error) {
	var sites []site.Site
	for i := range config.Sites {
		profile := &config.Sites[i]
		kind, ok := profile.Platform()
		if !ok {
			return nil, fmt.Errorf("site %q must have the settings of exactly one platform", profile.Name)
		}
		if slices.ContainsFunc(sites, func(s site.Site) bool { return s.Name == profile.Name }) || profile.Name == "" {
			return nil, fmt.Errorf("sites must have different names, but %q is one of several", profile.Name)
		}
		sites = append(sites, site.Site{Name: profile.Name, Platform: kind, Profile: profile,
			Credentials: site.CredentialsOf(profile.Name, secret.Data)})
	}
	return sites, nil
}

// manifest is a CloudProfile without a status.
type manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec gardencorev1beta1.CloudProfileSpec `json:"spec"`
}

// propose prints a CloudProfile that offers what the sites offer.
func (d *discoverCommand) propose(base *gardencorev1beta1.CloudProfile, found []discovery.Discovered) error {
	profile, err := discovery.Propose(base, found)
	if err != nil {
		return fmt.Errorf("the CloudProfile would not be accepted: %w", err)
	}
	raw, err := yaml.Marshal(&manifest{TypeMeta: profile.TypeMeta, ObjectMeta: profile.ObjectMeta, Spec: profile.Spec})
	if err != nil {
		return err
	}
	report := discovery.NewReport(found)
	document, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return err
	}
	report.CloudProfile = &runtime.RawExtension{Raw: document}
	return d.output.print(report, func(s *screen) {
		for i := range report.Sites {
			comment(s, &report.Sites[i])
		}
		if len(profile.Spec.Kubernetes.Versions) == 0 {
			s.line(0, cell{"# no site knows the versions of Kubernetes: add them to spec.kubernetes.versions", faint})
		}
		s.Write(raw)
	})
}

// comment writes what a site has that the CloudProfile does not, and why.
func comment(s *screen, of *v1alpha1.DiscoveredSite) {
	if of.Error != "" {
		s.line(0, cell{fmt.Sprintf("# site %s was left out:", of.Name), bad}, cell{of.Error, bad})
		return
	}
	for _, left := range of.LeftOut {
		what := left.Kind
		if left.Name != "" {
			what = fmt.Sprintf("%s %q", left.Kind, left.Name)
		}
		s.line(0, cell{fmt.Sprintf("# site %s: %s:", of.Name, what), faint}, cell{left.Reason, faint})
	}
}

// compare prints the differences between the CloudProfile and the sites.
func (d *discoverCommand) compare(profile *gardencorev1beta1.CloudProfile, config *v1alpha1.CloudProfileConfig,
	found []discovery.Discovered) error {
	report := discovery.NewReport(found)
	for i := range found {
		if found[i].Err == nil {
			report.Differences = append(report.Differences, discovery.Compare(found[i].Discovery.References, &profile.Spec, config,
				found[i].Site.Name, &found[i].Offer)...)
		}
	}
	err := d.output.print(report, func(s *screen) { differences(s, report) })
	if err == nil && discovery.HasDrift(report.Differences) {
		return errFindings
	}
	return err
}

// marks are what stands before a difference, as in a diff.
var marks = map[v1alpha1.DifferenceState]cell{
	v1alpha1.DifferenceMissing:    {"-", bad},
	v1alpha1.DifferenceChanged:    {"~", unsure},
	v1alpha1.DifferenceDeprecated: {"!", unsure},
	v1alpha1.DifferenceUnknown:    {"?", faint},
	v1alpha1.DifferenceUnused:     {"+", good},
}

func differences(s *screen, report *v1alpha1.DiscoveryReport) {
	t := &table{columns: []string{"DIFF", "SITE", "STATE", "KIND", "NAME", "SITE HAS", "CLOUDPROFILE HAS", "+FIELD"}}
	for _, difference := range report.Differences {
		want := strings.TrimSpace(difference.Want)
		if difference.Entry != "" {
			want = strings.TrimSuffix(difference.Entry+": "+want, ": ")
		}
		t.add(marks[difference.State], cell{text: difference.Site}, cell{text: string(difference.State)}, cell{text: difference.Kind},
			cell{text: difference.Name}, cell{text: difference.Is}, cell{text: want}, cell{text: difference.Field})
	}
	s.table(t)
	for i := range report.Sites {
		if report.Sites[i].Error == "" && !slices.ContainsFunc(report.Differences, func(d v1alpha1.CloudProfileDifference) bool {
			return d.Site == report.Sites[i].Name
		}) {
			s.line(0, cell{fmt.Sprintf("Site %s has what the CloudProfile says.", report.Sites[i].Name), good})
		}
	}
}
