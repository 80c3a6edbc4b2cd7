// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

func TestInfrastructure(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "vSphere Infrastructure Suite")
}

var _ = Describe("privileges", func() {
	var (
		folder  = types.ManagedObjectReference{Type: "Folder", Value: "group-v1"}
		pool    = types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-1"}
		network = types.ManagedObjectReference{Type: "Network", Value: "network-1"}
		store   = types.ManagedObjectReference{Type: "Datastore", Value: "datastore-1"}

		datacenter = types.ManagedObjectReference{Type: "Datacenter", Value: "datacenter-1"}
		cluster    = types.ManagedObjectReference{Type: "ClusterComputeResource", Value: "domain-c1"}

		a = zone{name: "a", datacenter: datacenter, datacenterPath: "/dc", cluster: cluster, parent: folder, parentPath: "/dc/vm/gardener",
			resourcePool: pool, poolPath: "/dc/host/c/Resources", network: network, datastore: &store}
		b = a

		needed = func(all bool) []neededPrivilege {
			profile := &v1alpha1.VSphereProfile{ResourcePools: &v1alpha1.VSphereResourcePools{PerShoot: all},
				Topology: &v1alpha1.VSphereTopology{Create: all}}
			f := &flow{site: &site.Site{Profile: &v1alpha1.CloudProfileSite{VSphere: profile}}}
			b.name, b.datastore = "b", nil
			return f.neededPrivileges([]zone{a, b}, all)
		}
	)

	It("should be asked for once for each object", func() {
		Expect(needed(false)).To(HaveLen(4))
	})

	It("should include pools only if there is one for each shoot, and clusters if they are changed", func() {
		Expect(needed(false)[1].privileges).To(ConsistOf("Resource.AssignVMToPool"))
		Expect(needed(true)).To(HaveLen(6))
		Expect(needed(true)[1].privileges).To(ConsistOf("Resource.AssignVMToPool", "Resource.CreatePool", "Resource.DeletePool", tagPrivilege))
		Expect(needed(true)[4]).To(Equal(neededPrivilege{object: datacenter, what: "datacenter /dc", privileges: []string{tagPrivilege}}))
		Expect(needed(true)[5].privileges).To(ConsistOf(tagPrivilege, "Host.Inventory.EditCluster"))
	})

	It("should all be in the document for operators", func() {
		document, err := os.ReadFile(filepath.Join(landscape.Root(), "docs", "operations", "vsphere.md"))
		Expect(err).NotTo(HaveOccurred())
		for _, n := range needed(true) {
			for _, privilege := range n.privileges {
				Expect(string(document)).To(ContainSubstring("`" + privilege + "`"))
			}
		}
	})

	DescribeTable("should be told if they are missing, by object",
		func(found []types.UserPrivilegeResult, problems ...string) {
			Expect(problemsOf(needed(false), found)).To(Equal(problems))
		},
		Entry("network", []types.UserPrivilegeResult{
			{Entity: folder, Privileges: folderPrivileges}, {Entity: pool, Privileges: poolPrivileges},
			{Entity: network, Privileges: []string{"System.View"}}, {Entity: store, Privileges: datastorePrivileges},
		}, "the credentials lack the privileges Network.Assign on the network of zone a"),
		Entry("two on the folder", []types.UserPrivilegeResult{
			{Entity: folder, Privileges: folderPrivileges[2:]}, {Entity: pool, Privileges: poolPrivileges},
			{Entity: network, Privileges: networkPrivileges}, {Entity: store, Privileges: datastorePrivileges},
		}, "the credentials lack the privileges Folder.Create, Folder.Delete on folder /dc/vm/gardener"),
	)
})
