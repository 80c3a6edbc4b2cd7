// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	machinefake "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/fake"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
)

// creator is a driver that only creates machines.
type creator struct {
	driver.Driver
	created atomic.Int32
	fault   error
}

func (c *creator) CreateMachine(context.Context, *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	c.created.Add(1)
	return &driver.CreateMachineResponse{}, c.fault
}

var _ = Describe("The maximum of machines of a site", func() {
	const namespace = "shoot--p--s"
	var (
		ctx     = context.Background()
		site    *creator
		objects *machinefake.Clientset
		limited driver.Driver
		begin   = time.Unix(1_000_000, 0)
	)

	BeforeEach(func() {
		site = &creator{}
		objects = machinefake.NewSimpleClientset()
		limited = machine.Limit(site, objects.MachineV1alpha1())
	})

	// add adds a Machine of the site that was requested at the second. It exists if it has a provider ID.
	add := func(name, siteName string, second int, providerID string) *machinev1alpha1.Machine {
		GinkgoHelper()
		m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace,
			CreationTimestamp: metav1.NewTime(begin.Add(time.Duration(second) * time.Second))}}
		m.Spec.NodeTemplateSpec.Labels = map[string]string{v1alpha1.LabelSite: siteName}
		m.Spec.ProviderID = providerID
		Expect(objects.MachineV1alpha1().Machines(namespace).Create(ctx, m, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
		return m
	}
	create := func(m *machinev1alpha1.Machine, maximum string) error {
		class := &machinev1alpha1.MachineClass{}
		if maximum != "" {
			class.Annotations = map[string]string{v1alpha1.AnnotationMaximumMachines: maximum}
		}
		_, err := limited.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class})
		return err
	}
	codeOf := func(err error) codes.Code {
		GinkgoHelper()
		failure, ok := status.FromError(err)
		Expect(ok).To(BeTrue(), "%v", err)
		return failure.Code()
	}

	It("is of no effect where there is none, and asks for nothing", func() {
		Expect(create(add("a", "racks", 0, ""), "")).To(Succeed())
		for _, action := range objects.Actions() {
			Expect(action.GetVerb()).NotTo(Equal("list"))
		}
	})

	It("is that of the site's machines of all pools, whatever other sites have", func() {
		add("a", "racks", 0, "toy:///a")
		add("b", "cloud", 0, "toy:///b")
		Expect(create(add("c", "racks", 1, ""), "2")).To(Succeed())

		err := create(add("d", "racks", 2, ""), "2")
		Expect(codeOf(err)).To(Equal(codes.ResourceExhausted))
		Expect(err).To(MatchError(And(ContainSubstring(`Exhausted: site "racks": the site's maximum of 2 machines`),
			ContainSubstring("maximumMachines"), ContainSubstring("2 machines exist or were requested before"))))
		Expect(site.created.Load()).To(BeEquivalentTo(1))

		By("raising it")
		Expect(create(add("e", "racks", 3, ""), "3")).NotTo(Succeed(), "there is an older one")
		Expect(create(add("f", "racks", 2, ""), "4")).To(Succeed())
		By("allowing none")
		Expect(codeOf(create(add("g", "vc", 0, ""), "0"))).To(Equal(codes.ResourceExhausted))
	})

	It("gives room to older machines first, in any order and after a restart", func() {
		machines := []*machinev1alpha1.Machine{add("c", "racks", 1, ""), add("b", "racks", 1, ""), add("a", "racks", 2, "")}
		for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {2, 0, 1}} {
			limited = machine.Limit(site, objects.MachineV1alpha1())
			var admitted []string
			for _, i := range order {
				if create(machines[i], "2") == nil {
					admitted = append(admitted, machines[i].Name)
				}
			}
			Expect(admitted).To(ConsistOf("b", "c"))
		}
	})

	It("is not exceeded by parallel creations, nor by Machines that appear meanwhile, and costs few lists", func() {
		machines := make([]*machinev1alpha1.Machine, 50)
		for i := range machines {
			machines[i] = add(fmt.Sprintf("m-%02d", i), "racks", 5, "")
		}
		objects.ClearActions()
		var (
			wg    sync.WaitGroup
			once  sync.Once
			begun atomic.Int32
		)
		objects.PrependReactor("list", "machines", func(clienttesting.Action) (bool, runtime.Object, error) {
			once.Do(func() { Eventually(begun.Load).Should(BeEquivalentTo(len(machines))) })
			return false, nil, nil
		})
		for _, m := range machines {
			wg.Go(func() {
				defer GinkgoRecover()
				begun.Add(1)
				if err := create(m, "7"); err != nil {
					Expect(codeOf(err)).To(Equal(codes.ResourceExhausted))
				}
			})
		}
		wg.Wait()
		Expect(site.created.Load()).To(BeEquivalentTo(7))
		Expect(len(objects.Actions())).To(BeNumerically("<", 25))

		By("requesting one that would be the first")
		Expect(codeOf(create(add("a", "racks", 5, ""), "7"))).To(Equal(codes.ResourceExhausted))
	})

	It("counts a machine whose creation has failed until its Machine is gone, and lets it be repeated", func() {
		site.fault = errors.New("no answer")
		first, second := add("b", "racks", 1, ""), add("a", "racks", 1, "")
		Expect(create(first, "2")).To(MatchError("no answer"))
		Expect(create(second, "2")).To(MatchError("no answer"))
		By("lowering the maximum meanwhile")
		Expect(create(second, "1")).To(MatchError("no answer"))
		Expect(codeOf(create(first, "1"))).To(Equal(codes.ResourceExhausted))

		site.fault = nil
		Expect(codeOf(create(add("0", "racks", 1, ""), "2"))).To(Equal(codes.ResourceExhausted))
		Expect(objects.MachineV1alpha1().Machines(namespace).Delete(ctx, first.Name, metav1.DeleteOptions{})).To(Succeed())
		Expect(objects.MachineV1alpha1().Machines(namespace).Delete(ctx, second.Name, metav1.DeleteOptions{})).To(Succeed())
		Expect(create(add("1", "racks", 2, ""), "2")).To(Succeed())
	})

	It("creates nothing if it cannot count, and says so", func() {
		m := add("a", "racks", 0, "")
		err := create(m, "many")
		Expect(codeOf(err)).To(Equal(codes.InvalidArgument))
		Expect(err).To(MatchError(ContainSubstring(v1alpha1.AnnotationMaximumMachines)))
		objects.PrependReactor("list", "machines",
			func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
		err = create(m, "5")
		Expect(codeOf(err)).To(Equal(codes.Unavailable))
		Expect(err).To(MatchError(ContainSubstring("cannot count the machines of the site: no answer")))
		Expect(site.created.Load()).To(BeZero())
	})
})
