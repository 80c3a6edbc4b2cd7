// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
)

const (
	// soon is how long an event may take.
	soon = 10 * time.Second
	// checked is how long a condition may take.
	checked = time.Minute
)

var _ = Describe("A fault of a host", Ordered, func() {
	var hosts []string

	BeforeAll(func(ctx SpecContext) {
		var err error
		hosts, err = inventory.MakeHosts(ctx, metal.Batch{Prefix: "rack", Count: 2, Labels: map[string]string{"rack": "1"}})
		Expect(err).NotTo(HaveOccurred())
		createShoot(ctx)
		for i, host := range hosts {
			createMachine(ctx, machineOf(i))
			claimHost(ctx, host, machineOf(i))
		}
		Expect(inventory.WaitForHosts(ctx, "provisioned", hosts...)).To(Succeed())
		Eventually(condition).WithArguments(ctx).WithTimeout(checked).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
	}, NodeTimeout(10*time.Minute))

	AfterEach(func(ctx SpecContext) {
		Expect(inventory.Check()).To(Succeed())
		Expect(seed.Extension.Check()).To(Succeed())
	})

	It("is told in events and in the condition until it is over", func(ctx SpecContext) {
		const message = "no answer of the BMC"
		note := fmt.Sprintf(`site "racks": host %s of machine %s: `, hosts[0], machineOf(0))
		Expect(inventory.FailHardware(ctx, hosts[0], metal.Register, message)).To(Succeed())
		Eventually(errorOf).WithArguments(ctx, hosts[0]).WithTimeout(checked).Should(ContainSubstring(message))
		for _, kind := range []string{"Worker", "Machine"} {
			Eventually(notes).WithArguments(ctx, kind, corev1.EventTypeWarning).WithTimeout(soon).
				Should(ConsistOf(And(HavePrefix(note), ContainSubstring(message))))
		}
		Eventually(condition).WithArguments(ctx).WithTimeout(checked).Should(And(
			HaveField("Status", gardencorev1beta1.ConditionFalse), HaveField("Message", And(HavePrefix(note), ContainSubstring(message)))))
		Expect(gauges(ctx)).To(ContainElements(
			`hybrid_machines_faulty{shoot_namespace="shoot--it--health",site="racks"} 1`,
			`hybrid_site_watched{shoot_namespace="shoot--it--health",site="racks"} 1`,
		))

		By("keeping silence while the host is in maintenance")
		Expect(inventory.PauseHost(ctx, hosts[0])).To(Succeed())
		Eventually(notes).WithArguments(ctx, "Machine", corev1.EventTypeNormal).WithTimeout(soon).Should(HaveLen(1))
		Expect(inventory.ResumeHost(ctx, hosts[0])).To(Succeed())
		Eventually(counted).WithArguments(ctx, "Machine", corev1.EventTypeWarning).WithTimeout(soon).Should(BeEquivalentTo(2))

		Expect(inventory.HealHardware(ctx, hosts[0])).To(Succeed())
		Eventually(errorOf).WithArguments(ctx, hosts[0]).WithTimeout(checked).Should(BeEmpty())
		Eventually(counted).WithArguments(ctx, "Worker", corev1.EventTypeNormal).WithTimeout(soon).Should(BeEquivalentTo(2))
		Eventually(condition).WithArguments(ctx).WithTimeout(checked).Should(HaveField("Status", gardencorev1beta1.ConditionTrue))
	}, SpecTimeout(10*time.Minute))

	It("is told of a server of IronCore, too", func(ctx SpecContext) {
		servers, err := inventory.MakeServers(ctx, metal.Batch{Prefix: "row", Count: 1, Labels: map[string]string{"row": "1"}})
		Expect(err).NotTo(HaveOccurred())
		machine := machineOf(len(hosts))
		createMachine(ctx, machine)
		claimServer(ctx, machine)
		Expect(inventory.WaitForServers(ctx, "Reserved", servers...)).To(Succeed())

		Expect(inventory.SetServerState(ctx, servers[0], "Error")).To(Succeed())
		Eventually(notes).WithArguments(ctx, "Worker", corev1.EventTypeWarning).WithTimeout(soon).
			Should(ContainElement(HavePrefix(`site "servers": host %s of machine %s: `, servers[0], machine)))
		Expect(inventory.SetServerState(ctx, servers[0], "Reserved")).To(Succeed())
		Eventually(notes).WithArguments(ctx, "Worker", corev1.EventTypeNormal).WithTimeout(soon).
			Should(ContainElement(fmt.Sprintf(`site "servers": host %s of machine %s: the fault is resolved`, servers[0], machine)))
	}, SpecTimeout(10*time.Minute))

	It("is still known while the inventory is down, and the next one is told after that", func(ctx SpecContext) {
		Expect(inventory.FailHardware(ctx, hosts[1], metal.Register, "the door of the rack is open")).To(Succeed())
		Eventually(notes).WithArguments(ctx, "Worker",
			corev1.EventTypeWarning).WithTimeout(checked).Should(ContainElement(ContainSubstring("the door of the rack is open")))

		inventory.Cluster.APIServer.Kill()
		Eventually(gauges).WithArguments(ctx).WithTimeout(30 * time.Second).Should(ContainElements(
			`hybrid_site_watched{shoot_namespace="shoot--it--health",site="racks"} 0`,
			`hybrid_machines_faulty{shoot_namespace="shoot--it--health",site="racks"} 1`,
		))
		Expect(inventory.Cluster.APIServer.Start()).To(Succeed())
		Expect(inventory.Cluster.WaitReady(ctx)).To(Succeed())
		Eventually(gauges).WithArguments(ctx).WithTimeout(2 * time.Minute).Should(ContainElement(
			`hybrid_site_watched{shoot_namespace="shoot--it--health",site="racks"} 1`))

		Expect(inventory.FailHardware(ctx, hosts[0], metal.Register, "the fan is loud")).To(Succeed())
		Eventually(notes).WithArguments(ctx, "Worker",
			corev1.EventTypeWarning).WithTimeout(checked).Should(ContainElement(ContainSubstring("the fan is loud")))
	}, SpecTimeout(10*time.Minute))

	It("is watched for with the credentials that there are", func(ctx SpecContext) {
		Expect(inventory.DeleteAccount(ctx)).To(Succeed())
		rotate(ctx, "wr0ng")
		Eventually(gauges).WithArguments(ctx).WithTimeout(30 * time.Second).Should(ContainElement(
			`hybrid_site_watched{shoot_namespace="shoot--it--health",site="racks"} 0`))
		Expect(seed.Extension.Tail(1000)).NotTo(ContainSubstring("wr0ng"))

		Expect(inventory.Grant(ctx)).To(Succeed())
		credentials, err := inventory.Token(ctx)
		Expect(err).NotTo(HaveOccurred())
		rotate(ctx, credentials.Token)
		Eventually(gauges).WithArguments(ctx).WithTimeout(30 * time.Second).Should(ContainElement(
			`hybrid_site_watched{shoot_namespace="shoot--it--health",site="racks"} 1`))
	}, SpecTimeout(4*time.Minute))

	It("is watched for as long as there is the Worker", func(ctx SpecContext) {
		Expect(seed.Client.Delete(ctx, &extensionsv1alpha1.Worker{ObjectMeta: meta(workerName)})).To(Succeed())
		Eventually(gauges).WithArguments(ctx).WithTimeout(30 * time.Second).ShouldNot(ContainElement(ContainSubstring("hybrid_site_watched")))
	})
})

// condition returns the Worker's condition, nil if it has none yet.
func condition(ctx context.Context) (*gardencorev1beta1.Condition, error) {
	worker := &extensionsv1alpha1.Worker{}
	if err := seed.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: workerName}, worker); err != nil {
		return nil, err
	}
	return v1beta1helper.GetCondition(worker.Status.Conditions, gardencorev1beta1.ShootEveryNodeReady), nil
}

// errorOf returns the operator's message about what is wrong with the host.
func errorOf(ctx context.Context, host string) (string, error) {
	hosts, err := inventory.Hosts(ctx)
	return hosts[host].Error, err
}

// notes returns the notes of the events about objects of the kind.
func notes(ctx context.Context, kind, eventType string) ([]string, error) {
	events, err := events(ctx, kind, eventType)
	var notes []string
	for _, event := range events {
		notes = append(notes, event.Message)
	}
	return notes, err
}

// counted returns how many events about objects of the kind there were.
func counted(ctx context.Context, kind, eventType string) (int32, error) {
	events, err := events(ctx, kind, eventType)
	var count int32
	for _, event := range events {
		count += event.Count
	}
	return count, err
}

func events(ctx context.Context, kind, eventType string) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	if err := seed.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var found []corev1.Event
	for _, event := range list.Items {
		if event.InvolvedObject.Kind == kind && event.Type == eventType {
			found = append(found, event)
		}
	}
	return found, nil
}

// gauges returns the lines of the extension's metrics that are about faults.
func gauges(ctx context.Context) ([]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	var lines []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "hybrid_machines_faulty") || strings.HasPrefix(line, "hybrid_site_watched") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines, err
}
