// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// volume is a volume as the block storage API shows it.
type volume struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Status      string       `json:"status"`
	Attachments []attachment `json:"attachments"`
}

type attachment struct {
	ServerID string `json:"server_id"`
}

var _ = Describe("Volumes of a server that is gone", func() {
	var (
		api     *nova
		c       *call
		volumes map[string]volume
		// refusal is the answer to deletions.
		refusal http.HandlerFunc
		deleted []string
		listed  int
	)

	BeforeEach(func() {
		api = newNova()
		c = newCall(api)
		volumes, refusal, deleted, listed = map[string]volume{}, nil, []string{}, 0
		api.serve = func(w http.ResponseWriter, r *http.Request) {
			id := path.Base(r.URL.Path)
			v, exists := volumes[id]
			switch {
			case id == "detail":
				listed++
				found := []volume{}
				for _, v := range volumes {
					if v.Name == r.URL.Query().Get("name") {
						found = append(found, v)
					}
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"volumes": found})
			case strings.HasPrefix(r.URL.Path, "/servers/"):
				fault(http.StatusNotFound, `{"itemNotFound": {"code": 404, "message": "Instance could not be found."}}`)(w, r)
			case !exists:
				fault(http.StatusNotFound, `{"itemNotFound": {"code": 404, "message": "Volume could not be found."}}`)(w, r)
			case r.Method == http.MethodDelete && refusal != nil:
				refusal(w, r)
			case r.Method == http.MethodDelete:
				deleted = append(deleted, id)
				delete(volumes, id)
				w.WriteHeader(http.StatusAccepted)
			default:
				_ = json.NewEncoder(w).Encode(map[string]any{"volume": v})
			}
		}
	})

	running := func(attached ...attachedVolume) *server {
		s := newServer("1", "ACTIVE")
		s.Volumes = attached
		return &s
	}

	DescribeTable("that was made with it",
		func(ctx SpecContext, left *volume, expected ...string) {
			if left != nil {
				volumes["root"] = *left
			}
			Expect(c.recordVolumes(ctx, running(attachedVolume{ID: "root", DeleteOnTermination: true}))).To(Succeed())
			Expect(c.deleteVolumes(ctx, "1")).To(Succeed())
			Expect(deleted).To(Equal(expected))
		},
		Entry("is gone, too", nil),
		Entry("is left", &volume{ID: "root", Status: "available"}, "root"),
		Entry("is left with the server's attachment", &volume{ID: "root", Status: "in-use", Attachments: []attachment{{ServerID: "1"}}}, "root"),
		Entry("is being deleted", &volume{ID: "root", Status: "deleting"}),
		Entry("has got another server since", &volume{ID: "root", Status: "in-use", Attachments: []attachment{{ServerID: "2"}}}),
	)

	It("should be left alone if they were only attached to it", func(ctx SpecContext) {
		volumes["pv"] = volume{ID: "pv", Status: "available"}
		Expect(c.recordVolumes(ctx, running(attachedVolume{ID: "pv"}))).To(Succeed())
		Expect(c.deleteVolumes(ctx, "1")).To(Succeed())
		Expect(volumes).To(HaveKey("pv"))
	})

	It("should be remembered until they are deleted, and named if they cannot be", func(ctx SpecContext) {
		volumes["root"] = volume{ID: "root", Status: "available"}
		Expect(c.recordVolumes(ctx, running(attachedVolume{ID: "root", DeleteOnTermination: true}))).To(Succeed())
		refusal = fault(http.StatusBadRequest, `{"badRequest": {"code": 400, "message": "Volume has dependent snapshots."}}`)
		err := c.deleteVolumes(ctx, "1")
		Expect(err).To(MatchError(And(HavePrefix(`volume root of the deleted server 1 is in status "available"`),
			ContainSubstring("dependent snapshots"))))
		Expect(platform.ClassOf(err)).To(Equal(platform.ClassConflict))

		refusal = nil
		Expect(c.deleteVolumes(ctx, "1")).To(Succeed())
		Expect(deleted).To(Equal([]string{"root"}))
		Expect(c.deleteVolumes(ctx, "1")).To(Succeed())
	})

	It("should be found by name if nothing is remembered and the class has data disks", func(ctx SpecContext) {
		volumes["ours"] = volume{ID: "ours", Name: "1-blank-vol", Status: "available"}
		volumes["foreign"] = volume{ID: "foreign", Name: "2-blank-vol", Status: "available"}
		Expect(c.deleteVolumes(ctx, "1")).To(Succeed())
		Expect(listed).To(BeZero())

		c.request.Spec.OpenStack.DataDisks = []v1alpha1.OpenStackDataDisk{{Name: "logs", Size: 1}}
		Expect(c.deleteVolumes(ctx, "1")).To(Succeed())
		Expect(deleted).To(Equal([]string{"ours"}))
		Expect(c.deleteVolumes(ctx, "")).To(Succeed())
		Expect(listed).To(Equal(1))
	})

	It("should be read from a server that was being built", func(ctx SpecContext) {
		building := newServer("1", "BUILD")
		shown := *running(attachedVolume{ID: "root", DeleteOnTermination: true})
		api.answers(shown)
		api.serve = nil
		Expect(c.recordVolumes(ctx, &building)).To(Succeed())
		ids, known := c.volumes.of("1")
		Expect(known).To(BeTrue())
		Expect(ids).To(Equal([]string{"root"}))

		c.volumes.Delete("1")
		api.answers(building)
		Expect(c.recordVolumes(ctx, &building)).To(Succeed())
		_, known = c.volumes.of("1")
		Expect(known).To(BeFalse(), "its volumes may not be there yet")
		api.answers()
		Expect(c.recordVolumes(ctx, &building)).To(Succeed())
	})
})
