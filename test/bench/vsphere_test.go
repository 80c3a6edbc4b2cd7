// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

var _ = Describe("vSphere", func() {
	DescribeTable("should tell what a request is for",
		func(method string, kind countproxy.Kind) {
			Expect(vsphereKind(method)).To(Equal(kind))
		},
		Entry("login", "Login", countproxy.KindAuth),
		Entry("login at the REST API", "POST /rest/com/vmware/cis/session", countproxy.KindAuth),
		Entry("use of that session", "GET /rest/com/vmware/cis/session", countproxy.KindRead),
		Entry("service content", "RetrieveServiceContent", countproxy.KindDiscovery),
		Entry("properties", "RetrievePropertiesEx", countproxy.KindRead),
		Entry("tags of an object", "POST /rest/com/vmware/cis/tagging/tag-association?list-attached-tags", countproxy.KindRead),
		Entry("clone", "CloneVM_Task", countproxy.KindWrite),
		Entry("attachment of tags", "POST /rest/com/vmware/cis/tagging/tag-association?attach-multiple-tags-to-object", countproxy.KindWrite),
	)

	It("should keep what there is to know of a request", func() {
		request := control.Request{
			Start: start, Duration: time.Second, Service: "vapi", Method: "POST /rest/com/vmware/cis/session", Status: 200, Bytes: 7,
		}
		Expect(vsphereRecord("a", request)).To(Equal(Record{
			Time: start, Run: "a", Service: "vapi", Method: "POST", Path: "/rest/com/vmware/cis/session", Kind: countproxy.KindAuth,
			Status: 200, Bytes: 7, Duration: time.Second,
		}))
	})

	It("should sum up methods without samples", func() {
		Expect(methods([]Record{{Method: "FindByUuid"}, {Method: "RetrievePropertiesEx"}, sample("a", "b", 1), {Method: "FindByUuid"}})).
			To(Equal("2 FindByUuid, 1 RetrievePropertiesEx"))
	})

	It("should compare with the mean of the floors", func() {
		Expect(overFloor([]Record{sample("ours", quantityWall, 18), sample("before", quantityFloor, 10), sample("after", quantityFloor, 14),
			record("create", 0, 1)})).
			To(Equal(1.5))
		_, err := overFloor([]Record{sample("ours", quantityWall, 18)})
		Expect(err).To(HaveOccurred())
		_, err = overFloor([]Record{sample("before", quantityFloor, 10)})
		Expect(err).To(HaveOccurred())
	})

	It("should say why a peer that cannot be built was not measured", func(ctx SpecContext) {
		p := &vspherePeer{run: PeerRun{Err: errors.New("no module proxy")}}
		Expect(p.do(ctx, "list", order{Do: doList})).To(BeZero())
		p.list(ctx, "list", 3)
		p.populate(ctx, 3)
		Expect(p.make(ctx, "make", "a").ProviderID).To(BeEmpty())
		Expect(p.measured()).To(And(HaveField("Err", MatchError("no module proxy")), HaveField("Rounds", 0), HaveField("Records", BeEmpty())))
		p.close()
		Expect(p.measured().Err).To(MatchError("no module proxy"))
	})

	Context("with a vCenter", Ordered, func() {
		var s *vsphereSite

		BeforeAll(func(ctx SpecContext) {
			var err error
			s, err = newVSphereSite(ctx, vcenter.Options{})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(s.close()).To(Succeed()) })
		}, NodeTimeout(5*time.Minute))

		It("should see each request that the product sends, and no others", func(ctx SpecContext) {
			request := s.request("seen")
			records, err := s.observe(ctx, "create", func(ctx context.Context) error { return s.create(ctx, &request) })
			Expect(err).NotTo(HaveOccurred())
			Expect(records).To(ContainElement(And(HaveField("Method", "CloneVM_Task"), HaveField("Status", 200),
				HaveField("Bytes", BeNumerically(">", 0)), HaveField("Duration", BeNumerically(">", 0)))))
			Expect(s.create(ctx, &request)).To(MatchError(ContainSubstring("exists before it is created")))

			records, err = s.observe(ctx, "get", func(ctx context.Context) error {
				_, err := s.machines.Get(ctx, request)
				return err
			})
			Expect(err).NotTo(HaveOccurred())
			Expect(methods(records)).To(Equal("1 FindAllByUuid, 1 RetrievePropertiesEx"))
			Expect(s.machines.Delete(ctx, request)).To(Succeed())
		})

		It("should notice requests that the vCenter did not see", func(ctx SpecContext) {
			_, err := s.observe(ctx, "none", func(context.Context) error {
				platform.RequestDuration.WithLabelValues(vsphereSiteName, "vim25", "Login", "200").Observe(1)
				return nil
			})
			Expect(err).To(MatchError("the metric counted 1 requests, the vCenter 0"))
		})

		It("should make clones without the product", func(ctx SpecContext) {
			Expect(s.cloneOnly(ctx, vsphereShoot+"-bare")).To(Succeed())
			Expect(vcenter.NewWatch(s.server, vsphereShoot+"-bare").Machines(ctx)).To(ConsistOf(HaveField("On", true)))
			Expect(s.cloneOnly(ctx, vsphereShoot+"-bare")).To(MatchError(ContainSubstring("DuplicateName")))
		})

		It("should fill the inventory with machines that the product lists", func(ctx SpecContext) {
			Expect(s.populate(ctx, 3)).To(Succeed())
			Expect(s.list(ctx, 3)).To(Succeed())
			Expect(s.list(ctx, 4)).To(MatchError("3 machines were listed, want 4"))
			Expect(s.server.Populate(ctx, control.Population{Folder: "group-v0", Template: s.spec.VSphere.Template})).NotTo(Succeed())
		})

		It("should give the clones of a peer vApp properties, and count no request of its own", func(ctx SpecContext) {
			front, err := s.newPeerFront()
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(front.Close)
			address, err := soap.ParseURL(front.Listener.Addr().String())
			Expect(err).NotTo(HaveOccurred())
			address.User = url.UserPassword(vcenter.Username, vcenter.Password)
			client, err := govmomi.NewClient(ctx, address, true)
			Expect(err).NotTo(HaveOccurred())
			folder, err := s.peerFolder(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(s.peerFolder(ctx)).To(HaveField("Reference()", folder.Reference()))

			var machine *object.VirtualMachine
			records, err := s.record(ctx, "clone", func(ctx context.Context) error {
				template := object.NewVirtualMachine(client.Client,
					types.ManagedObjectReference{Type: "VirtualMachine", Value: s.spec.VSphere.Template})
				pool := types.ManagedObjectReference{Type: "ResourcePool", Value: s.spec.VSphere.ResourcePool}
				task,
					err := template.Clone(ctx, folder, "clone", types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: &pool}})
				if err != nil {
					return err
				}
				made, err := task.WaitForResult(ctx)
				if err != nil {
					return err
				}
				machine = object.NewVirtualMachine(s.inspector, made.Result.(types.ManagedObjectReference))
				return nil
			})
			Expect(err).NotTo(HaveOccurred())
			Expect(methods(records)).To(And(ContainSubstring("1 CloneVM_Task"), Not(ContainSubstring("ReconfigVM_Task"))))
			var properties mo.VirtualMachine
			Expect(machine.Properties(ctx, machine.Reference(), []string{"config.vAppConfig"}, &properties)).To(Succeed())
			Expect(properties.Config.VAppConfig.GetVmConfigInfo().Property).
				To(ConsistOf(HaveField("Id", "hostname"), HaveField("Id", "user-data")))
		})

		It("should let a subject list them", func(ctx SpecContext) {
			class, err := newMachineClass(vsphereShoot, vsphereShoot, s.spec)
			Expect(err).NotTo(HaveOccurred())
			in, out := &bytes.Buffer{}, &bytes.Buffer{}
			encoder := json.NewEncoder(in)
			Expect(encoder.Encode(job{Classes: []*machinev1alpha1.MachineClass{class}, Secret: newSecret(vsphereShoot, s.site)})).To(Succeed())
			Expect(encoder.Encode(order{Do: doList})).To(Succeed())
			Expect(runSubject(ctx, in, out)).To(Succeed())
			decoder := json.NewDecoder(out)
			var loggedIn, listed report
			Expect(decoder.Decode(&loggedIn)).To(Succeed())
			Expect(decoder.Decode(&listed)).To(Succeed())
			Expect(loggedIn.Error).To(BeEmpty())
			Expect(listed).To(And(HaveField("Error", BeEmpty()), HaveField("Machines", 3)))
		})
	})
})
