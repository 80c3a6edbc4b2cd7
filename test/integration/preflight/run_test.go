// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package preflight_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/sitefaults"
)

const (
	failed  = string(platform.Failed)
	warning = string(platform.Warning)
	unknown = string(platform.Unknown)

	// anything is for rows that leave nothing to look at.
	anything = "."

	// connection are the checks of a platform that fail, too, if a connection fails.
	connection = "-authentication$|-connection$|^site-"

	// runTimeout is above what any run may take.
	runTimeout = 3 * time.Minute
)

// row is something that is wrong.
type row struct {
	// wrong says what it is.
	wrong string
	// id is the check that names it.
	id string
	// field is a pattern of the fields that it may name, states the states that the finding may have, Failed if empty.
	field  string
	states []string
	// documents changes what the user gives, and make the landscape. It returns what documents gets.
	documents func(d *documents, made string)
	make      func(SpecContext) string
	// site is whether the finding may be about the site as a whole, or about its credentials.
	site bool
	// also is a pattern of the IDs of other checks that may not be fine.
	also string
	// unnamed is why no check names it, and it is not played, empty for others.
	unnamed string
}

// finding is a finding of a site, or of all or several sites.
type finding struct {
	Sites []string
	v1alpha1.PreflightFinding
}

func (f finding) String() string {
	return fmt.Sprintf("%s %s %v %s: is %q, want %q, remedy %q", f.State, f.ID, f.Sites, f.Field, f.Is, f.Want, f.Remedy)
}

// result is a run of hybridctl preflight.
type result struct {
	report         *v1alpha1.PreflightReport
	stdout, stderr string
	code           int
	took           time.Duration
	// cloud and others are the requests that arrived meanwhile.
	cloud, others []countproxy.Request
}

// preflight runs hybridctl preflight with documents.
func preflight(ctx context.Context, d *documents, arguments ...string) *result {
	GinkgoHelper()
	dir, label := GinkgoT().TempDir(), rand.String(8)
	d.write(dir)
	for _, proxy := range []*countproxy.Proxy{bed.Cloud, bed.Others} {
		proxy.SetLabel(label)
		defer proxy.SetLabel("")
	}
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	arguments = append([]string{"preflight", "-f", dir, "-o", "json"}, arguments...)
	command := exec.CommandContext(ctx, bed.hybridctl, arguments...) // #nosec G204 -- ours
	command.Env = []string{"HOME=" + dir, "NO_COLOR=1"}
	command.Stdout, command.Stderr = &stdout, &stderr
	start := time.Now()
	err := command.Run()
	r := &result{stdout: stdout.String(), stderr: stderr.String(), code: command.ProcessState.ExitCode(), took: time.Since(start)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		Fail(err.Error())
	}
	Expect(ctx.Err()).NotTo(HaveOccurred(), "the run took longer than %s", runTimeout)
	r.cloud, r.others = bed.Cloud.Requests(label), bed.Others.Requests(label)
	for key, value := range d.secret.StringData {
		if !strings.HasSuffix(key, "ame") { // usernames, and names of projects and domains, are none
			Expect(r.stdout+r.stderr).NotTo(ContainSubstring(value), "the value of %s", key)
		}
	}
	Expect(r.writes()).To(BeEmpty())
	if len(r.stdout) > 0 {
		r.report = &v1alpha1.PreflightReport{}
		Expect(yaml.UnmarshalStrict(stdout.Bytes(), r.report)).To(Succeed(), r.stdout)
	}
	return r
}

// soapReads are the operations of a vCenter that change nothing but the session's own views.
var soapReads = regexp.MustCompile("^(Retrieve|ContinueRetrieve|Find|Fetch|Has(User)?Privilege|CurrentTime|Login|Logout|SessionIsActive|" +
	"Query|Pbm|" +
	"Create(Filter|ContainerView|ListView|PropertyCollector)|Destroy(PropertyFilter|PropertyCollector|View)|WaitForUpdates|CancelWait|" +
	"CancelRetrieve|ValidateMigration|CheckClone)")

// restReads are the requests of a vCenter's REST API that are no GET: a session, and lists by objects.
var restReads = regexp.MustCompile(`^(POST|DELETE) /(rest|api)/(com/vmware/cis/session|session)$|` +
	`^POST .*~action=(list|find|get)|^POST .*action=(list|find|get)`)

// kubernetesReads are the requests of a Kubernetes API that are no GET: questions about the own permissions.
var kubernetesReads = regexp.MustCompile("^POST /apis/authorization.k8s.io/v1/selfsubject(access|rules)reviews$|" +
	"^POST /apis/authentication.k8s.io/v1/selfsubjectreviews$")

// writes are the requests that may have changed something.
func (r *result) writes() []string {
	var found []string
	for _, request := range append(slices.Clone(r.cloud), r.others...) {
		text := request.Method + " " + request.Path
		switch {
		case request.Kind != countproxy.KindWrite:
		case request.Service == sitefaults.VCenterService && soapReads.MatchString(request.Operation):
		case request.Service == sitefaults.VCenterService && restReads.MatchString(strings.TrimSuffix(text+"?"+request.Query, "?")):
		case request.Service == sitefaults.InventoryService && kubernetesReads.MatchString(text):
		default:
			found = append(found, text+" "+request.Operation)
		}
	}
	return found
}

// found are the findings with one of the states, of a site if that is not empty.
func (r *result) found(site string, states ...string) []finding {
	var result []finding
	for _, f := range r.findings() {
		if slices.Contains(states, string(f.State)) && (site == "" || slices.Contains(f.Sites, site)) {
			result = append(result, f)
		}
	}
	return result
}

// siteField is the field of findings about a site, where no part of its block is wrong by itself, and of credentials.
var siteField = regexp.MustCompile(`^(spec\.providerConfig\.sites\[\d\](\.(name|vsphere|metal|openstack))?|` +
	`cloudProfileConfig\.sites\[\w+\]|secret\.data\[.*\])$`)

// ofSites are the rows with findings that may be about a site as a whole.
func ofSites(rows []row) []row {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].site = true
	}
	return rows
}

// matches returns whether the row is what a finding is about.
func (r *row) matches(f finding) bool {
	states := r.states
	if len(states) == 0 {
		states = []string{failed}
	}
	return (r.id == "" || r.id == f.ID) && slices.Contains(states, string(f.State)) && f.Remedy != "" &&
		(r.site && siteField.MatchString(f.Field) || regexp.MustCompile(r.field).MatchString(f.Field))
}

// allows returns whether a finding may be there besides.
func (r *row) allows(f finding) bool {
	return r.also != "" && regexp.MustCompile(r.also).MatchString(f.ID) || f.Cause != ""
}

// judge returns what is wrong with what was told about a site with a row.
func (r *row) judge(site string, result *result) []string {
	var problems []string
	all := result.found(site, failed, warning, unknown)
	if !slices.ContainsFunc(all, r.matches) {
		problems = append(problems, fmt.Sprintf("%s: %s: not named; told is %v", site, r.wrong, all))
	}
	for _, f := range all {
		if !r.matches(f) && !r.allows(f) {
			problems = append(problems, fmt.Sprintf("%s: %s: false alarm: %v", site, r.wrong, f))
		}
	}
	return problems
}

// falseAlarms are the findings of a site that is good.
func falseAlarms(site string, result *result) []string {
	var problems []string
	for _, f := range result.found(site, failed, warning, unknown) {
		if f.Cause == "" {
			problems = append(problems, fmt.Sprintf("%s: false alarm: %v", site, f))
		}
	}
	return problems
}

// findings are those of the sites, of pairs of sites, and the errors, which are findings of no site.
func (r *result) findings() []finding {
	var all []finding
	if r.report == nil {
		return all
	}
	add := func(found []v1alpha1.PreflightFinding, sites ...string) {
		for _, f := range found {
			all = append(all, finding{Sites: sites, PreflightFinding: f})
		}
	}
	for _, s := range r.report.Sites {
		add(s.Findings, s.Name)
	}
	for _, p := range r.report.Pairs {
		add(p.Findings, p.Sites...)
	}
	for _, text := range r.report.Errors {
		all = append(all, finding{PreflightFinding: v1alpha1.PreflightFinding{ID: "error", State: v1alpha1.PreflightState(failed), Is: text}})
	}
	return all
}
