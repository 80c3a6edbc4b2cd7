// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"errors"
	"fmt"

	gcfg "gopkg.in/gcfg.v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/validation"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/vspherecsi"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// login is what the driver logs in with at a vCenter.
type login struct{ user, password string }

// loginsOf returns the logins at the vCenters of the sites, by host. A site whose credentials cannot be used has that of another site at
// the vCenter. If there is none, or if sites at a vCenter do not have the same, the one that is deployed stays. The mistakes are those in
// the credentials; the Secret may have changed since its admission.
func loginsOf(sites []platform.ControlPlaneSite) (logins map[string]login, mistakes, err error) {
	deployed, err := deployedLogins(sites[0].Deployed[configFile])
	if err != nil {
		return nil, nil, err
	}
	var (
		usable    []vspherecsi.Login
		unusable  = map[string]error{}
		contested = map[string]bool{}
		errs      []error
	)
	logins = map[string]login{}
	for _, s := range sites {
		l := vspherecsi.Login{Site: s.Site.Profile, Username: s.Site.Credentials[vspherecsi.KeyUsername],
			Password: s.Site.Credentials[vspherecsi.KeyPassword]}
		err := cmp.Or(s.Site.Credentials.Check(), validation.CheckCredentials(v1alpha1.PlatformVSphere, s.Site.Credentials))
		if err == nil {
			err = describe(vspherecsi.LoginConflicts([]vspherecsi.Login{l}))
		}
		if err != nil {
			unusable[s.Site.Name] = err
			continue
		}
		usable = append(usable, l)
		if host := hostOf(s); logins[host] == (login{}) {
			logins[host] = login{l.Username, l.Password}
		}
	}
	conflicts := map[string][]vspherecsi.LoginConflict{}
	for _, conflict := range vspherecsi.LoginConflicts(usable) {
		conflicts[conflict.Site] = append(conflicts[conflict.Site], conflict)
	}
	for _, s := range sites {
		if found := conflicts[s.Site.Name]; len(found) > 0 {
			contested[hostOf(s)] = true
			errs = append(errs, platform.NewCredentialsError(s.Site.Name, describe(found), ""))
		}
	}
	for _, s := range sites {
		host := hostOf(s)
		if kept, ok := deployed[host]; ok && (contested[host] || logins[host] == login{}) {
			logins[host] = kept
		}
		if err := unusable[s.Site.Name]; err != nil {
			consequence := ""
			if (logins[host] == login{}) {
				consequence = platform.UntilUsable
			}
			errs = append(errs, platform.NewCredentialsError(s.Site.Name, err, consequence))
		}
	}
	return logins, errors.Join(errs...), nil
}

func describe(conflicts []vspherecsi.LoginConflict) error {
	return errors.Join(lists.Map(conflicts, func(conflict vspherecsi.LoginConflict) error {
		return fmt.Errorf("credentials: %s %s", conflict.Key, conflict.Message)
	})...)
}

// hostOf returns the host of the site's vCenter, whose address is valid.
func hostOf(s platform.ControlPlaneSite) string {
	host, _, _ := vspherecsi.Address(s.Site.Profile.VSphere.Server)
	return host
}

// deployedLogins returns the logins in the configuration that is deployed, by host. The error does not quote it.
func deployedLogins(config string) (map[string]login, error) {
	var file struct {
		VirtualCenter map[string]*struct{ User, Password string }
	}
	err := platform.Try(func() error { return gcfg.FatalOnly(gcfg.ReadStringInto(&file, config)) })
	if err != nil {
		return nil, mistake("the configuration that is deployed cannot be read: delete the Secret %s-config, so that it is created again", Chart)
	}
	result := map[string]login{}
	for host, v := range file.VirtualCenter {
		result[host] = login{v.User, v.Password}
	}
	return result, nil
}
