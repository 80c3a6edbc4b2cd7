// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package kubelets

import (
	"context"
	"errors"
	"maps"
	"sync"
)

// Together returns the servers of several sites, which are looked at at the same time.
func Together(sites ...ActiveServers) ActiveServers {
	return func(ctx context.Context) (map[string]Server, error) {
		var (
			group  sync.WaitGroup
			mutex  sync.Mutex
			result = map[string]Server{}
			errs   []error
		)
		for _, site := range sites {
			group.Go(func() {
				servers, err := site(ctx)
				mutex.Lock()
				defer mutex.Unlock()
				maps.Copy(result, servers)
				errs = append(errs, err)
			})
		}
		group.Wait()
		return result, errors.Join(errs...)
	}
}
