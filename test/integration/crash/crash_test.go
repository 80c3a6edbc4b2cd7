// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"fmt"
	"time"

	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
)

// oneSite is an Infrastructure of one site: the others would repeat the same writes.
const oneSite = `{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
"networks": {"topology": "Routed"},
"sites": [{"name": "cloud", "nodes": ["10.250.0.0/22"], "openstack": {"floatingPoolName": "public"}}]}`

// serverGroup is a WorkerConfig with a server group.
const serverGroup = `{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkerConfig",
"sites": [{"name": "cloud", "openstack": {"serverGroup": {"policy": "soft-anti-affinity"}}}]}`

var _ = Describe("A process that is killed after a write", Ordered, func() {
	var (
		infrastructure *extensionsv1alpha1.Infrastructure
		worker         *extensionsv1alpha1.Worker
	)

	createInfrastructure := func(ctx context.Context) (err error) {
		if infrastructure, err = local.Infrastructure(); err != nil {
			return err
		}
		infrastructure.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(oneSite)}
		return local.Create(ctx, infrastructure)
	}

	It("should change nothing about an Infrastructure", func(ctx SpecContext) {
		matrix(ctx,
			&phase{name: "create infrastructure", do: createInfrastructure},
			&phase{name: "delete infrastructure", do: func(ctx context.Context) error { return local.Delete(ctx, infrastructure) }},
		)
		Expect(inventory(ctx)).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))

	It("should change nothing about a machine", func(ctx SpecContext) {
		Expect(createInfrastructure(ctx)).To(Succeed())
		before := inventory(ctx)
		matrix(ctx,
			&phase{name: "create machine", do: func(ctx context.Context) (err error) {
				if worker, err = local.Worker(infrastructure); err != nil {
					return err
				}
				worker.Spec.Pools = worker.Spec.Pools[1:]
				worker.Spec.Pools[0].ProviderConfig = &runtime.RawExtension{Raw: []byte(serverGroup)}
				if err := local.Create(ctx, worker); err != nil {
					return err
				}
				return oneRunning(ctx, "")
			}},
			&phase{name: "roll machine", do: func(ctx context.Context) error {
				machines, err := local.Machines(ctx)
				if err != nil {
					return err
				}
				since := time.Now()
				changed, err := local.ChangeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
					w.Spec.Pools[0].MachineImage.Version = "1877.4.0"
					w.Spec.Pools[0].NodeAgentSecretName = new("gardener-node-agent-rolled")
				})
				if err != nil {
					return err
				}
				if err := local.Reconciled(ctx, changed, since); err != nil {
					return err
				}
				for name := range machines {
					err = oneRunning(ctx, name)
				}
				return err
			}},
			&phase{name: "delete machine", do: func(ctx context.Context) error { return local.Delete(ctx, worker) }},
		)
		Expect(inventory(ctx)).To(Equal(before))
		Expect(local.Delete(ctx, infrastructure)).To(Succeed())
		Expect(inventory(ctx)).To(BeEmpty())
	}, SpecTimeout(15*time.Minute))
})

// oneRunning waits until there is one machine, which is running and is not the old one.
func oneRunning(ctx context.Context, old string) error {
	var seen string
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		machines, err := local.Machines(ctx)
		if err != nil {
			return false, err
		}
		seen = ""
		running := len(machines) == 1
		for name, machine := range machines {
			seen += fmt.Sprintf(" %s: %s %s", name, machine.Status.CurrentStatus.Phase, machine.Status.LastOperation.Description)
			running = running && name != old && machine.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning
		}
		return running, nil
	})
	if err != nil {
		return fmt.Errorf("%w; machines:%s", err, seen)
	}
	return nil
}
