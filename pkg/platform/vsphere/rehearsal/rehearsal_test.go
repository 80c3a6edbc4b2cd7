// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/rest"
	_ "github.com/vmware/govmomi/vapi/simulator" // the REST API
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/rehearsal"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

func TestRehearsal(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "vSphere Rehearsal Suite")
}

var _ = Describe("Rehearsal", func() {
	var (
		log     *rehearsal.Log
		session *client.Session
		real    *client.Session
		mutex   sync.Mutex
		called  []string
	)

	BeforeEach(func(ctx SpecContext) {
		log, called = &rehearsal.Log{}, nil
		model := simulator.VPX()
		Expect(model.Create()).To(Succeed())
		DeferCleanup(model.Remove)
		model.Service.RegisterEndpoints = true
		server := model.Service.NewServer()
		DeferCleanup(server.Close)
		connection := v1alpha1.VSphereConnection{
			Server: server.URL.Scheme + "://" + server.URL.Host, TLS: &v1alpha1.TLS{InsecureSkipVerify: true},
		}
		if server.URL.Scheme == "http" {
			connection.TLS = nil
		}
		password, _ := server.URL.User.Password()
		credentials := site.Credentials{"username": server.URL.User.Username(), "password": password}
		for into, sessions := range map[**client.Session]*client.Sessions{
			&session: client.WrappedSessions(Wrap(log), nil), &real: client.NewSessions(client.Intervals{Idle: time.Hour, KeepAlive: time.Hour}),
		} {
			DeferCleanup(sessions.Close)
			opened, err := sessions.Get(ctx, "vc", connection, credentials)
			Expect(err).NotTo(HaveOccurred())
			*into = opened
		}
		model.Map().Handler = func(_ *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
			mutex.Lock()
			defer mutex.Unlock()
			called = append(called, method.Name)
			return nil, nil
		}
	})

	lookUp := func(ctx context.Context, path string) object.Reference {
		GinkgoHelper()
		found, err := object.NewSearchIndex(session.VIM()).FindByInventoryPath(ctx, path)
		Expect(err).NotTo(HaveOccurred())
		return found
	}
	children := func(ctx context.Context, s *client.Session, folder types.ManagedObjectReference) []types.ManagedObjectReference {
		GinkgoHelper()
		var found mo.Folder
		Expect(property.DefaultCollector(s.VIM()).RetrieveOne(ctx, folder, []string{"childEntity"}, &found)).To(Succeed())
		return found.ChildEntity
	}
	nameOf := func(ctx context.Context, reference types.ManagedObjectReference) (string, error) {
		var entity mo.ManagedEntity
		err := property.DefaultCollector(session.VIM()).RetrieveOne(ctx, reference, []string{"name", "parent"}, &entity)
		return entity.Name, err
	}
	run := func(ctx context.Context) func(*object.Task, error) {
		return func(task *object.Task, err error) {
			GinkgoHelper()
			_, err = session.Run(ctx, func(context.Context) (*object.Task, error) { return task, err })
			Expect(err).NotTo(HaveOccurred())
		}
	}

	It("should show folders and resource pools that were created and destroyed", func(ctx SpecContext) {
		parent := lookUp(ctx, "/DC0/vm").Reference()
		before := children(ctx, session, parent)
		created, err := object.NewFolder(session.VIM(), parent).CreateFolder(ctx, "new")
		Expect(err).NotTo(HaveOccurred())
		Expect(created.Reference().Value).To(Equal("planned:folder-1"))
		Expect(nameOf(ctx, created.Reference())).To(Equal("new"))
		Expect(children(ctx, session, parent)).To(ConsistOf(append(before, created.Reference())))
		Expect(lookUp(ctx, "/DC0/vm/new").Reference()).To(Equal(created.Reference()))
		Expect(lookUp(ctx, "/DC0/host/new")).To(BeNil())
		Expect(children(ctx, real, parent)).To(ConsistOf(before), "nothing has changed")

		run(ctx)(created.Destroy(ctx))
		_, err = nameOf(ctx, created.Reference())
		Expect(client.IsNotFound(client.Classify(err))).To(BeTrue())
		Expect(lookUp(ctx, "/DC0/vm/new")).To(BeNil())

		resources := lookUp(ctx, "/DC0/host/DC0_C0/Resources").Reference()
		pool, err := object.NewResourcePool(session.VIM(), resources).Create(ctx, "pool", types.DefaultResourceConfigSpec())
		Expect(err).NotTo(HaveOccurred())
		var found mo.ResourcePool
		Expect(property.DefaultCollector(session.VIM()).RetrieveOne(ctx, resources, []string{"resourcePool", "vm"}, &found)).To(Succeed())
		Expect(found.ResourcePool).To(ConsistOf(pool.Reference()))
		Expect(found.Vm).NotTo(BeEmpty())
		Expect(log.Writes("vc")).To(HaveExactElements(
			And(HaveField("Method", "CreateFolder"), HaveField("Path", parent.String()), HaveField("Name", "new"), HaveField("Kind", "folder")),
			And(HaveField("Method", "Destroy_Task"), HaveField("Path", "Folder:planned:folder-1"), HaveField("Name", "new")),
			And(HaveField("Method", "CreateResourcePool"), HaveField("Kind", "resource pool")),
		))
	})

	It("should switch off and destroy virtual machines", func(ctx SpecContext) {
		reference := lookUp(ctx, "/DC0/vm/DC0_C0_RP0_VM0").Reference()
		_, err := nameOf(ctx, reference)
		Expect(err).NotTo(HaveOccurred())
		run(ctx)(object.NewVirtualMachine(session.VIM(), reference).PowerOff(ctx))
		var vm mo.VirtualMachine
		Expect(property.DefaultCollector(session.VIM()).RetrieveOne(ctx, reference, []string{"runtime.powerState"}, &vm)).To(Succeed())
		Expect(vm.Runtime.PowerState).To(Equal(types.VirtualMachinePowerStatePoweredOff))
		run(ctx)(object.NewVirtualMachine(session.VIM(), reference).Destroy(ctx))

		container, err := view.NewManager(session.VIM()).CreateContainerView(ctx, lookUp(ctx, "/DC0/vm").Reference(),
			[]string{"VirtualMachine"}, true)
		Expect(err).NotTo(HaveOccurred())
		var left []mo.VirtualMachine
		Expect(container.Retrieve(ctx, []string{"VirtualMachine"}, []string{"name"}, &left)).To(Succeed())
		Expect(left).NotTo(BeEmpty())
		Expect(left).NotTo(ContainElement(HaveField("Self", reference)))
		Expect(container.Destroy(ctx)).To(Succeed())
		Expect(log.Writes("vc")).To(HaveEach(And(HaveField("Name", "DC0_C0_RP0_VM0"), HaveField("ID", reference.Value))))
		Expect(called).NotTo(ContainElement(Or(Equal("PowerOffVM_Task"), Equal("Destroy_Task"))))
	})

	It("should change rules of clusters", func(ctx SpecContext) {
		cluster := lookUp(ctx, "/DC0/host/DC0_C0")
		rule := types.ClusterRuleSpec{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Name: "apart"}},
		}
		task, err := object.NewClusterComputeResource(real.VIM(), cluster.Reference()).Reconfigure(ctx,
			&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{rule}}, true)
		Expect(err).NotTo(HaveOccurred())
		Expect(task.Wait(ctx)).To(Succeed())
		names := func() (names []string, key int32) {
			GinkgoHelper()
			var found mo.ClusterComputeResource
			Expect(property.DefaultCollector(session.VIM()).RetrieveOne(ctx, cluster.Reference(), []string{"configurationEx"}, &found)).To(Succeed())
			for _, rule := range found.ConfigurationEx.(*types.ClusterConfigInfoEx).Rule {
				names, key = append(names, rule.GetClusterRuleInfo().Name), rule.GetClusterRuleInfo().Key
			}
			return names, key
		}
		found, key := names()
		Expect(found).To(ConsistOf("apart"))
		run(ctx)(object.NewClusterComputeResource(session.VIM(), cluster.Reference()).Reconfigure(ctx,
			&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{
				{ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationRemove, RemoveKey: key}},
			}}, true))
		found, _ = names()
		Expect(found).To(BeEmpty())
		Expect(log.Writes("vc")).To(ConsistOf(And(HaveField("Action", v1alpha1.PlannedActionDelete), HaveField("Name", "apart"),
			HaveField("Kind", "anti-affinity rule"))))
	})

	It("should create, attach and delete tags", func(ctx SpecContext) {
		manager, folder := session.Tags(), lookUp(ctx, "/DC0/vm").Reference()
		category, err := manager.CreateCategory(ctx, &tags.Category{Name: "c", Cardinality: "SINGLE"})
		Expect(err).NotTo(HaveOccurred())
		id, err := manager.CreateTag(ctx, &tags.Tag{Name: "t", CategoryID: category})
		Expect(err).NotTo(HaveOccurred())
		Expect(manager.ListCategories(ctx)).To(ConsistOf(category))
		Expect(manager.GetCategory(ctx, category)).To(HaveField("Name", "c"))
		Expect(manager.ListTagsForCategory(ctx, category)).To(ConsistOf(id))
		Expect(manager.GetTag(ctx, id)).To(HaveField("Name", "t"))
		Expect(manager.ListAttachedTags(ctx, folder)).To(BeEmpty())
		Expect(manager.AttachTag(ctx, id, folder)).To(Succeed())
		Expect(manager.ListAttachedTags(ctx, folder)).To(ConsistOf(id))
		Expect(manager.ListAttachedObjects(ctx, id)).To(ConsistOf(HaveField("Value", folder.Value)))
		Expect(manager.DeleteTag(ctx, &tags.Tag{ID: id})).To(Succeed())
		_, err = manager.GetTag(ctx, id)
		Expect(client.IsNotFound(client.Classify(err))).To(BeTrue())
		Expect(manager.ListTagsForCategory(ctx, category)).To(BeEmpty())
		Expect(real.Tags().ListCategories(ctx)).To(BeEmpty())
		Expect(log.Writes("vc")).To(HaveExactElements(
			And(HaveField("Kind", "tag category"), HaveField("Name", "c"), HaveField("Path", "/rest/com/vmware/cis/tagging/category")),
			And(HaveField("Kind", "tag"), HaveField("Name", "t")),
			And(HaveField("Kind", "folder"), HaveField("Fields", ConsistOf(v1alpha1.PlannedField{Name: "tag", To: "t"})),
				HaveField("Path", HaveSuffix("/tag-association/id:urn:planned:tag-1?~action=attach"))),
			And(HaveField("Kind", "tag"), HaveField("Action", v1alpha1.PlannedActionDelete), HaveField("Name", "t")),
		))
	})

	It("should refuse what it does not know, and not send it", func(ctx SpecContext) {
		folder := lookUp(ctx, "/DC0/vm").Reference()
		_, err := methods.Rename_Task(ctx, session.VIM(), &types.Rename_Task{This: folder, NewName: "x"})
		Expect(err).To(MatchError(ContainSubstring("the plan does not know the effect of Rename_Task")))
		Expect(platform.ClassOf(client.Classify(err))).To(Equal(platform.ClassConfiguration))
		Expect(called).NotTo(ContainElement("Rename_Task"))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, session.VIM().URL().Scheme+"://"+session.VIM().URL().Host+
			rest.Path+"/vcenter/vm", nil)
		Expect(err).NotTo(HaveOccurred())
		Expect(session.Tags().Do(ctx, request, nil)).To(MatchError(ContainSubstring("/rest/vcenter/vm of the vapi API, which was not sent")))
		Expect(log.Writes("vc")).To(BeEmpty())
	})
})
