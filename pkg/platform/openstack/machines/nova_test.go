// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/owner"
)

var ours = owner.Owner{Shoot: "shoot--local--a", Site: "cloud"}

// nova is a compute API on loopback whose answers a test sets.
type nova struct {
	compute *gophercloud.ServiceClient

	mutex sync.Mutex
	// servers is what the next lists say; the list of IDs says the same.
	servers []server
	// date is the clock of the API; without it the answers have none.
	date time.Time
	// before, if set, is called before a list is answered.
	before func()
	// hidden are not in the next lists of details, but in those of IDs.
	hidden []server
	// serve, if set, answers everything but lists. By default a server is shown that is in the lists.
	serve http.HandlerFunc
	// asked are the queries of the lists of details, and shorts counts those of IDs.
	asked  []url.Values
	shorts int
	// read are the IDs of servers that were asked for one by one.
	read []string
}

func newServer(id, status string) server {
	return server{ID: id, Name: ours.Shoot + "-" + id, Status: status, Metadata: ours.Metadata()}
}

// newCall is a call for a machine of the shoot.
func newCall(api *nova) *call {
	return &call{
		request: platform.MachineRequest{
			Name: ours.Shoot + "-1",
			Spec: &v1alpha1.MachineProviderSpec{Site: ours.Site, Shoot: ours.Shoot, OpenStack: &v1alpha1.OpenStackMachineSpec{NetworkID: "network"}},
		},
		owner:      ours,
		snapshot:   newSnapshot(api.compute, ours, time.Now),
		volumes:    &volumeCache{},
		unanswered: &sync.Map{},
		compute:    api.compute,
		network:    api.compute,
		volume:     func(context.Context) (*gophercloud.ServiceClient, error) { return api.compute, nil },
	}
}

func newNova() *nova {
	n := &nova{}
	s := httptest.NewServer(n)
	DeferCleanup(s.Close)
	n.compute = &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: s.URL + "/"}
	return n
}

func (n *nova) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	details := r.URL.Path == "/servers/detail"
	if !details && (r.URL.Path != "/servers" || r.Method != http.MethodGet) {
		if n.serve != nil {
			n.serve(w, r)
			return
		}
		n.show(w, path.Base(r.URL.Path))
		return
	}
	n.mutex.Lock()
	servers, date, before := n.servers, n.date, n.before
	if details {
		n.asked = append(n.asked, r.URL.Query())
	} else {
		servers = slices.Concat(servers, n.hidden)
		n.shorts++
	}
	n.mutex.Unlock()

	if before != nil {
		before()
	}
	w.Header()["Date"] = nil
	if !date.IsZero() {
		w.Header().Set("Date", date.UTC().Format(http.TimeFormat))
	}
	defer GinkgoRecover()
	Expect(json.NewEncoder(w).Encode(map[string]any{"servers": servers})).To(Succeed())
}

// show answers with a server.
func (n *nova) show(w http.ResponseWriter, id string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.read = append(n.read, id)
	for _, s := range slices.Concat(n.servers, n.hidden) {
		if s.ID == id {
			_ = json.NewEncoder(w).Encode(map[string]any{"server": s})
			return
		}
	}
	fault(http.StatusNotFound, `{"itemNotFound": {"code": 404, "message": "Instance could not be found."}}`)(w, nil)
}

// hides sets which servers are in the lists of IDs only.
func (n *nova) hides(servers ...server) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.hidden = servers
}

// answers sets what the next lists say.
func (n *nova) answers(servers ...server) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.servers = servers
}

func (n *nova) queries() []url.Values {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.asked
}

// fault answers with an error of the compute API.
func fault(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}
