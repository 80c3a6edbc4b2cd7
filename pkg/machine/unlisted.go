// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"sync"
	"time"
)

// unlisted remembers the sites that could not be listed. machine-controller-manager lists the machines of all classes one after
// the other: without it each class of a site that hangs would be waited for, and the classes of other sites with it.
type unlisted struct {
	sites sync.Map
}

type listFailure struct {
	at  time.Time
	err error
}

// since returns the error of a site that could not be listed within the last while, and nil if there was none.
func (u *unlisted) since(site string, while time.Duration) error {
	if value, ok := u.sites.Load(site); ok {
		if failure := value.(listFailure); time.Since(failure.at) < while {
			return failure.err
		}
	}
	return nil
}

// remember notes how a list of the site ended.
func (u *unlisted) remember(site string, err error) {
	if err == nil {
		u.sites.Delete(site)
		return
	}
	u.sites.Store(site, listFailure{at: time.Now(), err: err})
}
