// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/condition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// siteAttempt is one reconciliation of a site.
type siteAttempt struct {
	*actuator

	log   logr.Logger
	infra *extensionsv1alpha1.Infrastructure
	site  *site.Site
	part  platform.Infrastructure
	// request and secretVersion are inputs of the preflight checks.
	request       platform.ValidationRequest
	secretVersion string
	// earlier is the result of the last reconciliation, nil if there is none.
	earlier *v1alpha1.SiteStatus
	// invalid is the error of the site's configuration.
	invalid error
	// restoring is true if an earlier result does not suffice, and preflight checks are skipped.
	restoring bool
	// cutOff is true if the site is known not to respond.
	cutOff bool

	retained   *errorList
	preflights *preflights
	result     *result
	writer     *statusWriter
	// begun is done before the first change at the site.
	begun    sync.Once
	beginErr error
	changed  atomic.Bool
}

// reconcile returns the status of the site. If the site fails and needed no change, or is cut off, that is the earlier status: gardenlet
// waits for the Infrastructure to be without error before it reconciles machines, including those of the other sites.
func (t *siteAttempt) reconcile(ctx context.Context) (*v1alpha1.SiteStatus, error) {
	if t.cutOff {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.cutOffTimeout)
		defer cancel()
	}
	desired, err := desiredFingerprint(t.site)
	if err != nil {
		return nil, err
	}
	status, err := t.try(ctx, desired)
	why := "it needed no change"
	switch {
	case err == nil:
		status.Reconciled = desired
		return status, nil
	case t.restoring, t.earlier == nil, platform.IsProgress(err), errors.Is(ctx.Err(), context.Canceled):
		return nil, err
	case t.earlier.Reconciled != desired, t.changed.Load():
		if !t.cutOff || platform.ClassOf(err) != platform.ClassTransient {
			return nil, err
		}
		why = "it is cut off; it is changed when it responds again"
	}
	t.retained.add(t.site.Name, platform.InSite(t.site.Name, err))
	t.log.Error(err, "Site failed and is retained unchanged", "site", t.site.Name, "class", platform.ClassOf(err))
	t.events.Warning(t.infra, reasonSiteStays, eventnote.OnSite(actionReconcile, t.site.Name),
		"site %q failed and is retained, as %s: %v", t.site.Name, why, err)
	return t.earlier, nil
}

// isCutOff returns whether the site is in quarantine or does not respond, according to the conditions of the Infrastructure.
func isCutOff(infra *extensionsv1alpha1.Infrastructure, name string) bool {
	if _, ok := condition.Quarantines(infra.Status.Conditions)[name]; ok {
		return true
	}
	available := v1beta1helper.GetCondition(infra.Status.Conditions, gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+name))
	return available != nil && available.Status == gardencorev1beta1.ConditionFalse && available.Reason == sitehealth.ReasonUnreachable
}

func (t *siteAttempt) try(ctx context.Context, desired string) (*v1alpha1.SiteStatus, error) {
	if t.invalid != nil {
		return nil, t.invalid
	}
	validated := ""
	if t.earlier != nil {
		validated = t.earlier.Validated
	}
	if !t.restoring {
		if err := t.reachable(ctx); err != nil {
			return nil, err
		}
		var err error
		if validated, err = t.preflight(ctx, validated); err != nil {
			return nil, err
		}
	}
	if t.earlier != nil && t.earlier.Reconciled != desired {
		if err := t.begin(ctx); err != nil {
			return nil, err
		}
	}
	status, err := t.part.Reconcile(ctx, t.site, t.persist)
	if err != nil {
		return nil, err
	}
	status.Validated = validated
	return status, nil
}

// persist writes the state of the site, and before it changes that a reconciliation has begun.
func (t *siteAttempt) persist(ctx context.Context, state *v1alpha1.SiteState) error {
	if !equality.Semantic.DeepEqual(state, t.writer.stateOf(t.site.Name)) {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	return t.writer.persist(ctx, state)
}

// begin writes that the site has to be reconciled until that succeeds.
func (t *siteAttempt) begin(ctx context.Context) error {
	t.begun.Do(func() {
		t.changed.Store(true)
		if t.earlier != nil && t.earlier.Reconciled != "" {
			status := t.earlier.DeepCopy()
			status.Reconciled = ""
			t.beginErr = t.writer.writeResult(ctx, t.result, status)
		}
	})
	return t.beginErr
}

// preflight validates the site with its platform, unless its fingerprint is the validated one, and returns the new fingerprint, empty if
// that failed. A site with objects is reconciled even if it cannot be validated or lacks what pools need: an error would block the machines
// of all sites, while the Worker and its machines report the same problems for the pools concerned.
func (t *siteAttempt) preflight(ctx context.Context, validated string) (string, error) {
	fingerprint, err := t.preflightFingerprint()
	if err != nil || fingerprint == validated {
		return fingerprint, err
	}

	ctx, cancel := context.WithTimeout(ctx, t.lookUpTimeout)
	defer cancel()
	findings, err := t.preflights.check(ctx, t.site.Name, nil,
		func() (platform.Findings, error) { return t.part.Validate(ctx, t.site, t.request) })
	warnings := findings.Warnings()
	invalid := findings.Err()
	if t.site.State != nil {
		var ofPools platform.Findings
		ofPools, findings = splitPoolFindings(findings)
		warnings = append(lists.Map(ofPools.Found, platform.Finding.Message), warnings...)
		invalid = findings.Err()
	}
	if len(warnings) > 0 {
		t.events.Warning(t.infra, reasonSiteWarning, eventnote.OnSite(actionLookUp, t.site.Name), "%s", strings.Join(
			lists.Map(warnings, func(warning string) string { return fmt.Sprintf("site %q: %s", t.site.Name, warning) }), "; "))
	}
	switch {
	case err == nil:
		return fingerprint, invalid
	case t.site.State == nil:
		return "", errors.Join(invalid, err)
	default:
		t.log.Error(err, "Site could not be validated, retrying with the next reconciliation", "site", t.site.Name)
		return "", invalid
	}
}

// splitPoolFindings separates the failures that concern pools, which are shortages and invalid fields of pools.
func splitPoolFindings(findings platform.Findings) (ofPools, others platform.Findings) {
	for _, found := range findings.Found {
		if found.State == platform.Failed && (found.Class == platform.ClassQuota || strings.HasPrefix(found.Field, poolsPath.String()+"[")) {
			ofPools.Found = append(ofPools.Found, found)
		} else {
			others.Found = append(others.Found, found)
		}
	}
	return ofPools, others
}

// preflightFingerprint returns the fingerprint of all inputs of the preflight checks.
func (t *siteAttempt) preflightFingerprint() (string, error) {
	profile, config := described(t.site)
	return fingerprintOf(struct {
		Profile       *v1alpha1.CloudProfileSite
		Config        *v1alpha1.InfrastructureSite
		Network       site.Network
		Demands       []platform.Demand
		ControlPlane  v1alpha1.ControlPlaneSite
		SecretVersion string
	}{profile, config, t.site.Network, t.request.Demands, t.request.ControlPlane, t.secretVersion})
}

// desiredFingerprint returns the fingerprint of all inputs that determine the objects at the site, which credentials do not.
func desiredFingerprint(s *site.Site) (string, error) {
	profile, config := described(s)
	return fingerprintOf(struct {
		Profile      *v1alpha1.CloudProfileSite
		Config       *v1alpha1.InfrastructureSite
		Network      site.Network
		SSHPublicKey []byte
	}{profile, config, s.Network, s.SSHPublicKey})
}

// described returns what CloudProfile and Shoot say about the objects at the site. Policies about machines are omitted: they can change
// while the site does not answer, and must not make its outage an error then.
func described(s *site.Site) (profile *v1alpha1.CloudProfileSite, config *v1alpha1.InfrastructureSite) {
	if s.Profile != nil {
		profile = new(*s.Profile)
		profile.Quarantine, profile.MaximumMachines = nil, nil
	}
	if s.Config != nil {
		config = new(*s.Config)
		config.MaximumMachines = nil
	}
	return profile, config
}

func fingerprintOf(values any) (string, error) {
	content, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]), nil
}
