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

// oneSite is an InfrastructureConfig with one site: others would repeat the same writes.
const oneSite = `{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureConfig",
"networks": {"topology": "Routed"},
"sites": [{"name": "cloud", "nodes": ["10.250.0.0/22"], "openstack": {"floatingPoolName": "public"}}]}`

// serverGroup is a WorkerConfig with a server group.
const serverGroup = `{"apiVersion": "hybrid.provider.extensions.gardener.cloud/v1alpha1", "kind": "WorkerConfig",
"sites": [{"name": "cloud", "openstack": {"serverGroup": {"policy": "soft-anti-affinity"}}}]}`

var _ = Describe("A process that is killed after a write", Ordered, func() {
	It("should leave an Infrastructure that is as if nothing had happened, and nothing when it is deleted", func(ctx SpecContext) {
		matrix(ctx,
			&phase{name: "create infrastructure", do: createInfrastructure},
			&phase{name: "delete infrastructure", do: deleteInfrastructure},
		)
		Expect(left(ctx)).To(BeEmpty())
	}, SpecTimeout(25*time.Minute))

	It("should leave a machine that is as if nothing had happened, and nothing when it is deleted", func(ctx SpecContext) {
		Expect(inAll(func(s *stand) error { return createInfrastructure(ctx, s) })).To(Succeed())
		matrix(ctx,
			&phase{name: "create machine", do: createMachine},
			&phase{name: "roll machine", do: rollMachine},
			&phase{name: "delete machine", do: deleteMachine},
		)
		Expect(inAll(func(s *stand) error { return deleteInfrastructure(ctx, s) })).To(Succeed())
		Expect(left(ctx)).To(BeEmpty())
	}, SpecTimeout(25*time.Minute))
})

func createInfrastructure(ctx context.Context, s *stand) (err error) {
	if s.infrastructure, err = s.Infrastructure(); err != nil {
		return err
	}
	s.infrastructure.Spec.ProviderConfig = &runtime.RawExtension{Raw: []byte(oneSite)}
	return s.Create(ctx, s.infrastructure)
}

func deleteInfrastructure(ctx context.Context, s *stand) error {
	return s.Delete(ctx, s.infrastructure)
}

func createMachine(ctx context.Context, s *stand) (err error) {
	if s.worker, err = s.Worker(s.infrastructure); err != nil {
		return err
	}
	s.worker.Spec.Pools = s.worker.Spec.Pools[1:]
	s.worker.Spec.Pools[0].ProviderConfig = &runtime.RawExtension{Raw: []byte(serverGroup)}
	if err := s.Create(ctx, s.worker); err != nil {
		return err
	}
	return s.oneRunning(ctx, "")
}

func rollMachine(ctx context.Context, s *stand) error {
	machines, err := s.Machines(ctx)
	if err != nil {
		return err
	}
	since := time.Now()
	changed, err := s.ChangeWorker(ctx, func(w *extensionsv1alpha1.Worker) {
		w.Spec.Pools[0].MachineImage.Version = "1877.4.0"
		w.Spec.Pools[0].NodeAgentSecretName = new("gardener-node-agent-rolled")
	})
	if err != nil {
		return err
	}
	if err := s.Reconciled(ctx, changed, since); err != nil {
		return err
	}
	for name := range machines {
		err = s.oneRunning(ctx, name)
	}
	return err
}

func deleteMachine(ctx context.Context, s *stand) error {
	return s.Delete(ctx, s.worker)
}

// left is what is left in OpenStack of all stands.
func left(ctx context.Context) []string {
	GinkgoHelper()
	var result []string
	for _, s := range all {
		objects, err := s.inventory(ctx)
		Expect(err).NotTo(HaveOccurred())
		result = append(result, objects...)
	}
	return result
}

// oneRunning waits until there is one machine, which is running and is not the old one.
func (s *stand) oneRunning(ctx context.Context, old string) error {
	var seen string
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		machines, err := s.Machines(ctx)
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
