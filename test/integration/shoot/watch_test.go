// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"fmt"
	"sync"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// failures watches MachineSets and the Worker and collects every failed machine and every error that is ever shown. Calling
// the result ends the watch; it returns how many changes were seen, too.
func failures(ctx context.Context) func() (seen int, failed []string) {
	ctx, cancel := context.WithCancel(ctx)
	c, err := client.NewWithWatch(seed.Cluster.Config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())

	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		seen   int
		failed []string
	)
	for _, list := range []client.ObjectList{&machinev1alpha1.MachineSetList{}, &extensionsv1alpha1.WorkerList{}} {
		watch, err := c.Watch(ctx, list, client.InNamespace(shoot))
		Expect(err).NotTo(HaveOccurred())
		group.Go(func() {
			defer watch.Stop()
			for {
				select {
				case event := <-watch.ResultChan():
					mutex.Lock()
					seen++
					switch object := event.Object.(type) {
					case *machinev1alpha1.MachineSet:
						if machines := object.Status.FailedMachines; machines != nil && len(*machines) > 0 {
							failed = append(failed, fmt.Sprintf("%s: %v", object.Name, *machines))
						}
					case *extensionsv1alpha1.Worker:
						if object.Status.LastError != nil {
							failed = append(failed, object.Status.LastError.Description)
						}
					}
					mutex.Unlock()
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return func() (int, []string) {
		cancel()
		group.Wait()
		return seen, failed
	}
}
