// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

var _ = Describe("Creation", func() {
	const (
		group = "11111111-1111-4111-8111-111111111111"
		local = `{"source_type": "image", "destination_type": "local", "uuid": "image", "boot_index": 0, "delete_on_termination": true}`
		root  = `{"source_type": "image", "destination_type": "volume", "uuid": "image", "boot_index": 0, "volume_size": 20, ` +
			`"volume_type": "ssd", "delete_on_termination": true}`
		logs = `{"source_type": "blank", "destination_type": "volume", "boot_index": -1, "volume_size": 5, ` +
			`"volume_type": "hdd", "delete_on_termination": true}`
		cache = `{"source_type": "blank", "destination_type": "volume", "boot_index": -1, "volume_size": 7, "delete_on_termination": true}`
	)
	var (
		api  *nova
		c    *call
		sent struct {
			Server struct {
				ImageRef string            `json:"imageRef"`
				Devices  json.RawMessage   `json:"block_device_mapping_v2"`
				Metadata map[string]string `json:"metadata"`
			} `json:"server"`
			Hints json.RawMessage `json:"os:scheduler_hints"`
		}
		microversion string
	)

	BeforeEach(func() {
		api = newNova()
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			defer GinkgoRecover()
			microversion = r.Header.Get("X-OpenStack-Nova-API-Version")
			sent.Server.Devices, sent.Hints = nil, nil
			Expect(json.NewDecoder(r.Body).Decode(&sent)).To(Succeed())
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"server": {"id": "1"}}`))
		}
		c = newCall(api)
		c.compute.Type = "compute"
		c.request.Spec.OpenStack.ImageID = "image"
	})

	create := func(ctx context.Context) *server {
		created, err := c.createServer(ctx, &ports.Port{ID: "port", FixedIPs: []ports.IP{{IPAddress: "2001:db8::5"}, {IPAddress: "10.0.0.5"}}})
		Expect(err).NotTo(HaveOccurred())
		return created
	}

	DescribeTable("disks",
		func(ctx SpecContext, rootDisk *v1alpha1.OpenStackRootDisk, dataDisks []v1alpha1.OpenStackDataDisk, image string, devices ...string) {
			c.request.Spec.OpenStack.RootDisk = rootDisk
			c.request.Spec.OpenStack.DataDisks = dataDisks
			create(ctx)
			Expect(sent.Server.ImageRef).To(Equal(image))
			if len(devices) == 0 {
				Expect(sent.Server.Devices).To(BeEmpty())
				Expect(microversion).To(BeEmpty())
				return
			}
			Expect(sent.Server.Devices).To(MatchJSON("[" + strings.Join(devices, ",") + "]"))
			Expect(microversion).To(Equal("2.67"))
		},
		Entry("the flavor's", nil, nil, "image"),
		Entry("a volume to boot from", &v1alpha1.OpenStackRootDisk{Type: "ssd", Size: 20}, nil, "", root),
		Entry("the flavor's and data disks", nil, []v1alpha1.OpenStackDataDisk{{Name: "logs", Type: "hdd", Size: 5}, {Name: "cache", Size: 7}},
			"image", local, logs, cache),
		Entry("only volumes", &v1alpha1.OpenStackRootDisk{Type: "ssd", Size: 20}, []v1alpha1.OpenStackDataDisk{{Name: "cache", Size: 7}}, "",
			root, cache),
	)

	It("should put the server into the server group of its pool", func(ctx SpecContext) {
		create(ctx)
		Expect(sent.Hints).To(BeEmpty())
		c.request.Spec.OpenStack.ServerGroupID = group
		create(ctx)
		Expect(sent.Hints).To(MatchJSON(`{"group": "` + group + `"}`))
	})

	It("should keep its own metadata from being replaced", func(ctx SpecContext) {
		c.request.Spec.OpenStack.Metadata = map[string]string{"team": "a", "gardener-shoot": "shoot--local--other"}
		create(ctx)
		Expect(sent.Server.Metadata).To(Equal(map[string]string{"team": "a", "gardener-shoot": ours.Shoot, "gardener-site": ours.Site,
			"gardener-machine": c.request.Name, "gardener-port": "port"}))
		Expect(c.request.Spec.OpenStack.Metadata).To(HaveLen(2), "the spec is shared")
	})

	It("should tell the addresses of the port, also to those who ask before the compute API knows", func(ctx SpecContext) {
		addresses := []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: ours.Shoot + "-1"},
			{Type: corev1.NodeInternalIP, Address: "10.0.0.5"},
			{Type: corev1.NodeInternalIP, Address: "2001:db8::5"},
		}
		_, err := c.snapshot.get(ctx, statusAge)
		Expect(err).NotTo(HaveOccurred())
		Expect(create(ctx).machine()).To(Equal(platform.Machine{Name: ours.Shoot + "-1", ProviderID: "openstack:///1", Addresses: addresses}))

		c.request.ProviderID = "openstack:///1"
		found, err := c.find(ctx, statusAge)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.machine().Addresses).To(Equal(addresses))
	})
})
