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

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

// lookUp is one search for the mistakes of a site that only the site can tell.
type lookUp struct {
	infra         *extensionsv1alpha1.Infrastructure
	site          *site.Site
	path          *field.Path
	demands       []platform.Demand
	secretVersion string
	// validated is the fingerprint of the last one that found nothing.
	validated string
}

// lookForMistakes asks the site, unless nothing changed since it found none, and returns the fingerprint of what it looked at,
// empty if that failed. A site that has objects already is reconciled although it could not be asked or cannot have what pools
// want: an error would keep Gardener from the machines of all sites, while the Worker and its machines tell the same of the pool
// alone.
func (a *actuator) lookForMistakes(ctx context.Context, log logr.Logger, part platform.Infrastructure, l *lookUp) (string, error) {
	fingerprint, err := l.fingerprint()
	if err != nil || fingerprint == l.validated {
		return fingerprint, err
	}

	ctx, cancel := context.WithTimeout(ctx, a.lookUpTimeout)
	defer cancel()
	findings, err := part.Validate(ctx, l.site, platform.ValidationRequest{Path: l.path, Demands: l.demands})
	var warnings []string
	if l.site.State != nil {
		for _, problem := range takePools(&findings) {
			warnings = append(warnings, fmt.Sprintf("site %q: %v", l.site.Name, problem))
		}
	}
	if warnings = append(warnings, findings.Warnings...); len(warnings) > 0 {
		a.events.Warning(l.infra, reasonSiteWarning, eventnote.OnSite(actionLookUp, l.site.Name), "%s", strings.Join(warnings, "; "))
	}
	mistakes := findings.Err()
	switch {
	case err == nil:
		return fingerprint, mistakes
	case l.site.State == nil:
		return "", errors.Join(mistakes, err)
	default:
		log.Error(err, "The site could not be asked for mistakes; that is repeated with the next reconciliation", "site", l.site.Name)
		return "", mistakes
	}
}

// takePools takes out of the findings what keeps pools from having machines: shortages, and mistakes in the pools themselves.
func takePools(findings *platform.Findings) field.ErrorList {
	ofPools, ofSite := findings.Shortages, field.ErrorList(nil)
	for _, mistake := range findings.Errors {
		if strings.HasPrefix(mistake.Field, poolsPath.String()+"[") {
			ofPools = append(ofPools, mistake)
		} else {
			ofSite = append(ofSite, mistake)
		}
	}
	findings.Shortages, findings.Errors = nil, ofSite
	return ofPools
}

// fingerprint is another one if anything changed that decides what the look-ups find.
func (l *lookUp) fingerprint() (string, error) {
	type demand struct {
		Pool        string
		MachineType *v1alpha1.SiteMachineType
		Settings    v1alpha1.WorkerSite
		VolumeType  *v1alpha1.SiteVolumeType
		VolumeSizes []int
		Zones       []platform.ZoneDemand
	}
	demands := make([]demand, len(l.demands))
	for i, d := range l.demands {
		demands[i] = demand{d.Pool, d.MachineType, d.Settings, d.VolumeType, d.VolumeSizes, d.Zones}
	}
	return fingerprintOf(struct {
		Profile       *v1alpha1.CloudProfileSite
		Config        *v1alpha1.InfrastructureSite
		Network       site.Network
		Demands       []demand
		SecretVersion string
	}{l.site.Profile, l.site.Config, l.site.Network, demands, l.secretVersion})
}

// fingerprintOf is another one for other values.
func fingerprintOf(values any) (string, error) {
	content, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]), nil
}
