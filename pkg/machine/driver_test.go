// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	machinefake "github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned/fake"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/metrics"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/toyplatform/toyapi"
)

// timeouts are those of the driver. A site is waited for for a moment only if it hangs.
var timeouts = machine.Timeouts{
	Create: time.Minute, Initialize: time.Minute, Delete: time.Minute, Get: time.Minute,
	List: time.Minute, ListWait: time.Second, ListAgain: time.Hour,
	Stalled: time.Second, StalledCalls: 2, Unreachable: time.Hour,
}

// specHead begins the JSON of a provider spec.
const specHead = `{"apiVersion":"hybrid.provider.extensions.gardener.cloud/v1alpha1","kind":"MachineProviderSpec",`

// spy remembers what the platform was asked.
type spy struct {
	platform.Machines
	created, deleted platform.MachineRequest
	// found and fault are what is told of a machine, instead of what is.
	found platform.Machine
	fault error

	// lists are the machines that are listed, instead of those that are.
	lists []platform.Machine

	mutex  sync.Mutex
	listed []string
}

func (s *spy) Get(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	if s.fault != nil {
		return s.found, s.fault
	}
	return s.Machines.Get(ctx, request)
}

func (s *spy) List(ctx context.Context, request platform.MachineRequest) ([]platform.Machine, error) {
	s.mutex.Lock()
	s.listed = append(s.listed, request.Spec.Site)
	s.mutex.Unlock()
	if s.lists != nil {
		return s.lists, nil
	}
	return s.Machines.List(ctx, request)
}

func (s *spy) ListScope(spec *v1alpha1.MachineProviderSpec) string {
	return s.Machines.(platform.ListScoper).ListScope(spec)
}

func (s *spy) Create(ctx context.Context, request platform.MachineRequest) (platform.Machine, error) {
	s.mutex.Lock()
	s.created = request
	s.mutex.Unlock()
	return s.Machines.Create(ctx, request)
}

func (s *spy) Delete(ctx context.Context, request platform.MachineRequest) error {
	s.mutex.Lock()
	s.deleted = request
	s.mutex.Unlock()
	return s.Machines.Delete(ctx, request)
}

// lastCreated is the name of the machine whose creation began last.
func (s *spy) lastCreated() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.created.Name
}

var _ = Describe("Driver", func() {
	var (
		ctx    = context.Background()
		cloud  *toyplatform.Cloud
		toy    *spy
		d      driver.Driver
		secret = &corev1.Secret{Data: map[string][]byte{
			"racks.token":     []byte("t0p-s3cret"),
			"cloud.username":  []byte("other"),
			"racksmore.token": []byte("other"),
			"userData":        []byte("#!/bin/sh"),
		}}
		m = &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: "machine-1"}}
	)

	newClass := func(siteName string) *machinev1alpha1.MachineClass {
		raw, err := codec.Encode(&v1alpha1.MachineProviderSpec{
			Site: siteName, Shoot: "shoot--p--s", Blocks: toyapi.Blocks(&toyapi.MachineSpec{}),
		})
		Expect(err).NotTo(HaveOccurred())
		return &machinev1alpha1.MachineClass{
			ObjectMeta:   metav1.ObjectMeta{Name: "class-" + siteName},
			Provider:     machine.Provider,
			ProviderSpec: *raw,
		}
	}
	codeOf := func(err error) codes.Code {
		s, ok := status.FromError(err)
		Expect(ok).To(BeTrue(), "%v", err)
		return s.Code()
	}

	BeforeEach(func() {
		cloud = toyplatform.NewCloud()
		toy = &spy{Machines: toyplatform.NewMachines(cloud)}
		d = machine.NewDriver(platform.Registry[platform.Machines]{toyplatform.Platform: toy}, timeouts)
	})

	It("creates, finds, lists and deletes a machine", func() {
		class := newClass("racks")

		_, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(codeOf(err)).To(Equal(codes.NotFound))

		created, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(created.ProviderID).To(Equal("toy:///racks/machine-1"))
		Expect(created.NodeName).To(Equal("machine-1"))
		Expect(toy.created.Credentials).To(Equal(site.Credentials{"token": "t0p-s3cret"}))
		Expect(toy.created.UserData).To(BeEquivalentTo("#!/bin/sh"))

		found, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(found.ProviderID).To(Equal(created.ProviderID))
		Expect(found.NodeName).To(Equal(created.NodeName))

		list, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.MachineList).To(Equal(map[string]string{created.ProviderID: "machine-1"}))

		Expect(d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: secret})).NotTo(BeNil())
		Expect(cloud.Machines("racks")).To(BeEmpty())
		Expect(toy.deleted.Once).To(BeTrue(), "as it is made up by machine-controller-manager for one that has no object")
		known := m.DeepCopy()
		known.UID = "3fd7b3ab-0f8b-4fd2-9d2b-5c6a6f0ad0a1"
		_, err = d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: known, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(toy.deleted.Once).To(BeFalse())
	})

	DescribeTable("the status of a machine whose site gives an error",
		func(providerID, nodeName string, class platform.Class, expected codes.Code) {
			m := m.DeepCopy()
			m.Spec.ProviderID = providerID
			m.Labels = map[string]string{machinev1alpha1.NodeLabelKey: nodeName}
			cloud.Fail("racks", platform.NewError(class, "failure"))
			found, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
			if expected != codes.OK {
				Expect(codeOf(err)).To(Equal(expected))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(Equal(&driver.GetMachineStatusResponse{ProviderID: providerID, NodeName: nodeName}))
		},
		Entry("created before, no answer", "toy:///racks/machine-1", "node-1", platform.ClassTransient, codes.OK),
		Entry("created before, no node name", "toy:///racks/machine-1", "", platform.ClassTransient, codes.Unavailable),
		Entry("not created, no answer", "", "", platform.ClassTransient, codes.Unavailable),
		Entry("created before, a fault", "toy:///racks/machine-1", "node-1", platform.ClassExhausted, codes.ResourceExhausted),
		Entry("created before, does not exist", "toy:///racks/machine-1", "node-1", platform.ClassNotFound, codes.NotFound),
	)

	DescribeTable("the status of a machine that is deleted before its node is known",
		func(exists bool, class platform.Class, expected codes.Code) {
			m := m.DeepCopy()
			m.DeletionTimestamp = new(metav1.Now())
			toy.fault = platform.NewError(class, "failure")
			if exists {
				toy.found = platform.Machine{Name: m.Name, ProviderID: "toy:///racks/machine-1"}
			}
			found, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
			if expected != codes.OK {
				Expect(codeOf(err)).To(Equal(expected))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(found).To(Equal(&driver.GetMachineStatusResponse{ProviderID: "toy:///racks/machine-1", NodeName: "machine-1"}))
		},
		Entry("it has a fault", true, platform.ClassExhausted, codes.OK),
		Entry("its fault cannot be read", true, platform.ClassTransient, codes.OK),
		Entry("somebody else's has its name", false, platform.ClassConflict, codes.Uninitialized),
		Entry("its image is gone", false, platform.ClassConfiguration, codes.Uninitialized),
		Entry("it does not exist", false, platform.ClassNotFound, codes.NotFound),
		Entry("no answer", false, platform.ClassTransient, codes.Unavailable),
		Entry("refused credentials", false, platform.ClassUnauthenticated, codes.Unauthenticated),
	)

	It("tells the ID of a new machine with a fault, so that the fault is told of that one", func() {
		toy.found, toy.fault = platform.Machine{Name: m.Name, ProviderID: "toy:///racks/machine-1"}, platform.NewError(platform.ClassExhausted,
			"no host")
		found, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
		Expect(codeOf(err)).To(Equal(codes.Uninitialized))
		Expect(found).To(Equal(&driver.GetMachineStatusResponse{ProviderID: "toy:///racks/machine-1", NodeName: "machine-1"}))

		m := m.DeepCopy()
		m.Spec.ProviderID = "toy:///racks/machine-1"
		_, err = d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
		Expect(codeOf(err)).To(Equal(codes.ResourceExhausted))
	})

	DescribeTable("new machines at a site whose calls have failed for a while",
		func(change func(*machinev1alpha1.Machine), failure error, expected codes.Code) {
			short := timeouts
			short.Unreachable = time.Millisecond
			d = machine.NewDriver(platform.Registry[platform.Machines]{toyplatform.Platform: toy}, short)
			m := m.DeepCopy()
			change(m)
			cloud.Fail("racks", failure)
			status := func() codes.Code {
				_, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
				return codeOf(err)
			}
			Eventually(status).Should(Equal(expected))
			if expected == codes.ResourceExhausted {
				_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
				Expect(codeOf(err)).To(Equal(expected))
				Expect(err).To(MatchError(MatchRegexp(`Transient: site "racks": no call to the site has succeeded for .*: connection refused`)))

				By("answering again")
				_, err = d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("cloud"), Secret: secret})
				Expect(err).NotTo(HaveOccurred())
				cloud.Fail("racks", nil)
				Expect(status()).To(Equal(codes.NotFound))
			}
		},
		Entry("leave the others to the next site", func(*machinev1alpha1.Machine) {},
			platform.NewError(platform.ClassTransient, "connection refused"), codes.ResourceExhausted),
		Entry("that exist are waited for", func(m *machinev1alpha1.Machine) { m.Spec.ProviderID = "toy:///racks/machine-1" },
			platform.NewError(platform.ClassTransient, "connection refused"), codes.Unavailable),
		Entry("that are deleted are waited for", func(m *machinev1alpha1.Machine) { m.DeletionTimestamp = new(metav1.Now()) },
			platform.NewError(platform.ClassTransient, "connection refused"), codes.Unavailable),
		Entry("are refused as the site says", func(*machinev1alpha1.Machine) {}, platform.NewError(platform.ClassForbidden, "403"),
			codes.PermissionDenied),
	)

	It("deletes no orphan that is a machine under another name", func() {
		class := newClass("racks")
		created, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		known := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "machine-1", UID: "1"},
			Spec: machinev1alpha1.MachineSpec{ProviderID: created.ProviderID}}
		orphan := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--p--s", Name: "renamed"}, Spec: known.Spec}
		objects := machinefake.NewSimpleClientset(known)
		guarded := machine.Guard(d, objects.MachineV1alpha1())

		_, err = guarded.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: orphan, MachineClass: class, Secret: secret})
		Expect(codeOf(err)).To(Equal(codes.Unavailable))
		Expect(err).To(MatchError(ContainSubstring(`"renamed" (toy:///racks/machine-1) is not an orphan, it is machine "machine-1"`)))
		Expect(toy.deleted.Name).To(BeEmpty())

		By("not knowing whether it is one")
		objects.PrependReactor("list", "machines",
			func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
		_, err = guarded.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: orphan, MachineClass: class, Secret: secret})
		Expect(codeOf(err)).To(Equal(codes.Unavailable))
		Expect(toy.deleted.Name).To(BeEmpty())

		By("deleting the machine itself, and real orphans")
		_, err = guarded.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: known, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		guarded = machine.Guard(d, machinefake.NewSimpleClientset().MachineV1alpha1())
		_, err = guarded.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: orphan, MachineClass: class, Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(toy.deleted.Name).To(Equal("renamed"))
	})

	It("lists no machine whose name is in doubt", func() {
		toy.lists = []platform.Machine{
			{Name: "a", ProviderID: "toy:///a"}, {ProviderID: "toy:///nameless"}, {Name: "b"},
			{Name: "c", ProviderID: "toy:///twice"}, {Name: "d", ProviderID: "toy:///twice"}, {Name: "d", ProviderID: "toy:///twice"},
			{Name: "e", ProviderID: "toy:///again"}, {Name: "e", ProviderID: "toy:///again"},
		}
		list, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: newClass("racks"), Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		Expect(list.MachineList).To(Equal(map[string]string{"toy:///a": "a", "toy:///again": "e"}))
	})

	DescribeTable("what a site says of a new machine",
		func(failure error, expected codes.Code) {
			m := m.DeepCopy()
			m.Spec.ProviderID = "toy:///racks/machine-1"
			cloud.Fail("racks", failure)
			response, err := d.InitializeMachine(ctx, &driver.InitializeMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
			if expected != codes.OK {
				Expect(codeOf(err)).To(Equal(expected))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(response).To(Equal(&driver.InitializeMachineResponse{ProviderID: "toy:///racks/machine-1", NodeName: "machine-1"}))
		},
		Entry("nothing", nil, codes.OK),
		Entry("no answer", platform.NewError(platform.ClassTransient, "503"), codes.OK),
		Entry("no capacity", platform.NewError(platform.ClassExhausted, "no host"), codes.ResourceExhausted),
		Entry("another fault", platform.NewError(platform.ClassConflict, "broken"), codes.Unavailable),
	)

	DescribeTable("machine classes that are refused",
		func(change func(*machinev1alpha1.MachineClass), message string) {
			class := newClass("racks")
			change(class)

			_, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: secret})
			Expect(codeOf(err)).To(Equal(codes.InvalidArgument))
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("of another provider", func(c *machinev1alpha1.MachineClass) { c.Provider = "OpenStack" }, `provider "OpenStack"`),
		Entry("without a spec", func(c *machinev1alpha1.MachineClass) { c.ProviderSpec = runtime.RawExtension{} }, "it is empty"),
		Entry("with an unknown field", func(c *machinev1alpha1.MachineClass) {
			c.ProviderSpec.Raw = []byte(specHead + `"site":"racks","shoot":"s","colour":"red"}`)
		}, `unknown field "colour"`),
		Entry("without a platform", func(c *machinev1alpha1.MachineClass) {
			c.ProviderSpec.Raw = []byte(specHead + `"site":"racks","shoot":"s"}`)
		}, "exactly one platform"),
		Entry("of a platform that is not registered", func(c *machinev1alpha1.MachineClass) {
			c.ProviderSpec.Raw = []byte(specHead + `"site":"cloud","shoot":"s",` +
				`"openstack":{"connection":{"authURL":"https://keystone","region":"r"},"flavorID":"f","imageID":"i",` +
				`"availabilityZone":"nova","networkID":"n","subnetID":"s","securityGroupIDs":["g"]}}`)
		}, `platform "openstack" is not supported`),
	)

	It("never tells a credential", func() {
		cloud.Fail("racks", platform.NewError(platform.ClassUnauthenticated, "the credentials were refused"))

		_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
		Expect(codeOf(err)).To(Equal(codes.Unauthenticated))
		Expect(err).To(MatchError(And(ContainSubstring(`site "racks"`), Not(ContainSubstring("t0p-s3cret")))))
	})

	It("says that a machine is deleted only if its site does", func() {
		cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))
		response, err := d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
		Expect(response).To(BeNil())
		Expect(codeOf(err)).To(Equal(codes.Unavailable))
	})

	DescribeTable("a site whose machines cannot be listed lists none, so that the orphans of others are found",
		func(breakSite func()) {
			_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
			Expect(err).NotTo(HaveOccurred())
			breakSite()

			list, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: newClass("racks"), Secret: secret})
			Expect(err).NotTo(HaveOccurred())
			Expect(list.MachineList).To(BeEmpty())
			Expect(cloud.Machines("racks")).To(ConsistOf("machine-1"))
		},
		Entry("because it fails", func() { cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503")) }),
		Entry("because it hangs", func() { DeferCleanup(cloud.Hang("racks")) }),
	)

	It("gives calls up that wait for a site that answers none, and leaves workers to the other sites", func() {
		release := cloud.Hang("racks")
		DeferCleanup(release)
		create := func(name, siteName string) error {
			m := m.DeepCopy()
			m.Name = name
			_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass(siteName), Secret: secret})
			return err
		}
		errs := make(chan error, 5)
		for i := range 5 {
			go func() { errs <- create(fmt.Sprintf("waiting-%d", i), "racks") }()
		}
		for range 3 {
			err := <-errs
			Expect(codeOf(err)).To(Equal(codes.Unavailable))
			Expect(err).To(MatchError(ContainSubstring(`site "racks": the site has not responded to`)))
		}
		Consistently(errs, "500ms").ShouldNot(Receive(), "a few go on waiting")
		begin := time.Now()
		Expect(codeOf(create("more", "racks"))).To(Equal(codes.Unavailable))
		Expect(create("elsewhere", "cloud")).To(Succeed())
		Expect(time.Since(begin)).To(BeNumerically("<", timeouts.Stalled))

		release()
		Expect(<-errs).To(Succeed())
		Expect(<-errs).To(Succeed())
		Expect(create("more", "racks")).To(Succeed())
	})

	It("keeps the machines of a site that has stalled as they are, and does not take that for an answer", func() {
		short := timeouts
		short.Get = timeouts.Stalled + 100*time.Millisecond
		d = machine.NewDriver(platform.Registry[platform.Machines]{toyplatform.Platform: toy}, short)
		m := m.DeepCopy()
		m.Spec.ProviderID = "toy:///racks/machine-1"
		m.Labels = map[string]string{machinev1alpha1.NodeLabelKey: "node-1"}
		get := func() error {
			found, err := d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
			if err == nil && (found.ProviderID != m.Spec.ProviderID || found.NodeName != "node-1") {
				return fmt.Errorf("the machine has changed: %+v", found)
			}
			return err
		}
		create := func(name string) error {
			m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
			_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
			return err
		}
		errs, created := make(chan error, 3), make(chan error, 2)
		startCreation := func(name string) {
			go func() { created <- create(name) }()
			Eventually(toy.lastCreated).Should(Equal(name))
		}
		failures := func() float64 {
			return testutil.ToFloat64(metrics.DriverFailedAPIRequests.WithLabelValues(machine.Provider+"/racks", "get_machine_status",
				codes.Unavailable.String()))
		}
		before := failures()
		release := cloud.Hang("racks")
		DeferCleanup(release)

		for range 3 {
			go func() { errs <- get() }()
		}
		for range 3 {
			Expect(<-errs).To(Succeed(), "its time is over, or it is given up")
		}
		Expect(failures() - before).To(Equal(3.0))

		startCreation("waiting-0")
		Expect(get()).To(Succeed(), "its time is over")
		startCreation("waiting-1")
		begin := time.Now()
		Expect(create("more")).To(MatchError(ContainSubstring(`site "racks": the site has not responded to`)))
		Expect(get()).To(Succeed(), "it is refused")
		initialized, err := d.InitializeMachine(ctx,
			&driver.InitializeMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
		Expect(err).NotTo(HaveOccurred(), "it is refused")
		Expect(initialized).To(Equal(&driver.InitializeMachineResponse{ProviderID: m.Spec.ProviderID, NodeName: "node-1"}))
		Expect(time.Since(begin)).To(BeNumerically("<", timeouts.Stalled))
		Expect(failures() - before).To(Equal(5.0))

		release()
		Expect(<-created).To(Succeed())
		Expect(<-created).To(Succeed())
	})

	It("gives no call up whose site answers what it asks for, however long it takes", func() {
		release := cloud.Hang("racks")
		DeferCleanup(release)
		errs := make(chan error, 5)
		for i := range 5 {
			go func() {
				m := m.DeepCopy()
				m.Name = fmt.Sprintf("slow-%d", i)
				_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
				errs <- err
			}()
		}
		Consistently(func() bool {
			platform.Answered("racks")
			return len(errs) == 0
		}, 2*timeouts.Stalled).Should(BeTrue())
		release()
		for range 5 {
			Expect(<-errs).To(Succeed())
		}
	})

	It("gives no call up of a site that answers, however many there are", func() {
		errs := make(chan error, 20)
		for i := range 20 {
			go func() {
				m := m.DeepCopy()
				m.Name = fmt.Sprintf("machine-%d", i)
				_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
				errs <- err
			}()
		}
		for range 20 {
			Expect(<-errs).To(Succeed())
		}
	})

	It("waits for a site that hangs once, and not for each of its machine classes", func() {
		DeferCleanup(cloud.Hang("racks"))
		for _, siteName := range []string{"racks", "cloud", "racks", "cloud", "racks"} {
			_, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: newClass(siteName), Secret: secret})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(toy.listed).To(Equal([]string{"racks", "cloud", "cloud"}))
	})

	It("does not ask a site again for a while that could not be listed", func() {
		cloud.Fail("racks", platform.NewError(platform.ClassTransient, "503"))
		for range 3 {
			_, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: newClass("racks"), Secret: secret})
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(toy.listed).To(Equal([]string{"racks"}))
	})

	It("finds the machines of a place whose site has another one that cannot be listed, and asks each of them once", func() {
		classIn := func(place string) *machinev1alpha1.MachineClass {
			class := newClass("racks")
			raw, err := codec.Encode(&v1alpha1.MachineProviderSpec{
				Site: "racks", Shoot: "shoot--p--s", Blocks: toyapi.Blocks(&toyapi.MachineSpec{Connection: toyapi.Connection{Place: place}}),
			})
			Expect(err).NotTo(HaveOccurred())
			class.ProviderSpec = *raw
			return class
		}
		_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: classIn("b"), Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		cloud.FailAt("racks", "a", platform.NewError(platform.ClassForbidden, "403"))
		var found []int
		for _, place := range []string{"a", "a", "b", "a"} {
			response, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: classIn(place), Secret: secret})
			Expect(err).NotTo(HaveOccurred())
			found = append(found, len(response.MachineList))
		}
		Expect(found).To(Equal([]int{0, 0, 1, 0}))
		Expect(toy.listed).To(Equal([]string{"racks", "racks"}))
	})

	It("waits longer for a site that answered late", func() {
		_, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: newClass("racks"), Secret: secret})
		Expect(err).NotTo(HaveOccurred())
		list := func() map[string]string {
			response, err := d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: newClass("racks"), Secret: secret})
			Expect(err).NotTo(HaveOccurred())
			return response.MachineList
		}

		release := cloud.Hang("racks")
		Expect(list()).To(BeEmpty())
		release()
		Eventually(list).Within(10 * time.Second).Should(HaveLen(1))

		release = cloud.Hang("racks")
		released := make(chan struct{})
		time.AfterFunc(2*timeouts.ListWait, func() {
			release()
			close(released)
		})
		Expect(list()).To(BeEmpty(), "the last answer was in time")
		<-released
		Eventually(func() bool {
			release := cloud.Hang("racks")
			timer := time.AfterFunc(4*timeouts.ListWait, release)
			defer timer.Stop()
			defer release()
			return len(list()) == 1
		}).Within(30 * time.Second).Should(BeTrue())
	})

	It("finds the volumes of all platforms and no others", func() {
		csi := func(name, handle string) *corev1.PersistentVolumeSpec {
			return &corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: name, VolumeHandle: handle},
			}}
		}
		response, err := d.GetVolumeIDs(ctx, &driver.GetVolumeIDsRequest{PVSpecs: []*corev1.PersistentVolumeSpec{
			csi("csi.toy.example.com", "a"), csi("nfs.csi.k8s.io", "b"), csi("csi.toy.example.com", "c"),
		}})
		Expect(err).NotTo(HaveOccurred())
		Expect(response.VolumeIDs).To(Equal([]string{"a", "c"}))
	})
})
