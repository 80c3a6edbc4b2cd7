// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package partitions

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

// observeInterval is the time between two looks at what is lost.
const observeInterval = 500 * time.Millisecond

// confirmTimeout is how long an inventory may take to know again that a server is on.
const confirmTimeout = 10 * time.Second

// destructive are the operations of vSphere after which a virtual machine does not run.
var destructive = []string{"Destroy_Task", "PowerOffVM_Task", "ShutdownGuest", "UnregisterVM", "MarkAsTemplate", "ResetVM_Task"}

// loss is something that was lost first at a time.
type loss struct {
	kind, name string
}

// observer watches a shoot while its sites are cut off.
type observer struct {
	shoot *Shoot
	sites []string
	start time.Time
	// begun is the machine whose deletion has begun, empty if there is none.
	begun string
	// servers are the hosts, claims and virtual machines that the machines had, with the names of the machines.
	servers map[string]string
	// machines are the machines by name, pods the names of their pods.
	machines map[string]machinev1alpha1.Machine

	lost map[loss]time.Time
	// began and ended are when the sites' quarantines did, reasons is why they ended.
	began, ended map[string]time.Time
	reasons      map[string]string
	// again are the sites that were in quarantine once more after the end.
	again map[string]bool
}

func newObserver(ctx context.Context, s *Shoot, sites []string) (*observer, error) {
	o := &observer{shoot: s, sites: sites, lost: map[loss]time.Time{}, began: map[string]time.Time{}, ended: map[string]time.Time{},
		reasons: map[string]string{}, again: map[string]bool{}}
	var err error
	if o.machines, err = s.Machines(ctx); err != nil {
		return nil, err
	}
	if o.servers, err = s.serversInUse(ctx); err != nil {
		return nil, err
	}
	if len(o.servers) < len(o.machines) {
		return nil, fmt.Errorf("%d machines have only the servers %v", len(o.machines), o.servers)
	}
	s.Proxy.SetLabel("cut")
	o.start = time.Now()
	return o, nil
}

// serversInUse are the names of what the shoot uses on its sites.
func (s *Shoot) serversInUse(ctx context.Context) (map[string]string, error) {
	used := map[string]string{}
	if s.options.Machines[SiteVSphere] > 0 {
		machines, err := vcenter.NewWatch(s.lab.VCenter, s.Name).Machines(ctx)
		if err != nil {
			return nil, err
		}
		for id, m := range machines {
			if m.On {
				used[id] = m.Name
			}
		}
	}
	if s.options.Machines[SiteOpenStack] > 0 {
		servers, err := s.lab.inspector.Servers(ctx, s.Name+"-")
		if err != nil {
			return nil, err
		}
		for id, server := range servers {
			if server.Status == "ACTIVE" {
				used[id] = server.Name
			}
		}
	}
	if s.options.Machines[SiteMetal3] > 0 {
		hosts, err := s.lab.Inventory.Hosts(ctx)
		if err != nil {
			return nil, err
		}
		for name, host := range hosts {
			if strings.HasPrefix(host.Consumer, s.Name+"/") && host.On {
				used[name] = path.Base(host.Consumer)
			}
		}
	}
	if s.options.Machines[SiteIronCore] > 0 {
		servers, err := s.lab.Inventory.Servers(ctx)
		if err != nil {
			return nil, err
		}
		for _, server := range servers {
			if claim := path.Base(server.Consumer); strings.HasPrefix(claim, s.Name+"-") && server.On {
				used[claim] = claim
			}
		}
	}
	return used, nil
}

// run observes until ctx ends.
func (o *observer) run(ctx context.Context) error {
	ticker := time.NewTicker(observeInterval)
	defer ticker.Stop()
	for {
		if err := o.observe(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (o *observer) observe(ctx context.Context) error {
	if err := o.shoot.Seed.Check(); err != nil && o.shoot.Seed.Extension.Running() {
		return err
	}
	machines, err := o.shoot.Machines(ctx)
	if err != nil {
		return err
	}
	for name, before := range o.machines {
		now, ok := machines[name]
		if name == o.begun {
			// It is drained meanwhile.
			if !ok {
				o.lose("machine", name)
			}
			continue
		}
		if !ok || now.UID != before.UID || now.DeletionTimestamp != nil || now.Status.CurrentStatus.Phase == machinev1alpha1.MachineFailed {
			o.lose("machine", name)
		}
		pod := &corev1.Pod{}
		err := o.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceDefault, Name: name}, pod)
		if apierrors.IsNotFound(err) {
			o.lose("pod", name)
		} else if err != nil {
			return err
		}
	}
	used, err := o.shoot.serversInUse(ctx)
	if err != nil {
		return err
	}
	for name := range o.servers {
		if used[name] != o.servers[name] {
			o.lose("server", name)
		} else {
			delete(o.lost, loss{"server", name}) // Its power was not known for a moment.
		}
	}
	return o.observeConditions(ctx)
}

// confirm looks again, for some seconds, at servers that are lost although their machines are not: inventories forget for a moment what
// power a server has.
func (o *observer) confirm(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, observeInterval, confirmTimeout, true, func(ctx context.Context) (bool, error) {
		for what := range o.lost {
			_, gone := o.lost[loss{"machine", o.servers[what.name]}]
			if what.kind == "server" && !gone {
				return false, o.observe(ctx)
			}
		}
		return true, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil // They are lost.
	}
	return err
}

func (o *observer) lose(kind, name string) {
	if _, known := o.lost[loss{kind, name}]; !known {
		o.lost[loss{kind, name}] = time.Now()
	}
}

// infrastructure is the Infrastructure as it is.
func (s *Shoot) infrastructure(ctx context.Context) (*extensionsv1alpha1.Infrastructure, error) {
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: s.Name}}
	return infrastructure, s.Seed.Client.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure)
}

func (o *observer) observeConditions(ctx context.Context) error {
	infrastructure, err := o.shoot.infrastructure(ctx)
	if err != nil {
		return err
	}
	for _, condition := range infrastructure.Status.Conditions {
		site, ok := strings.CutPrefix(string(condition.Type), v1alpha1.ConditionSiteQuarantinedPrefix)
		if !ok {
			continue
		}
		switch _, began := o.began[site]; {
		case condition.Status == gardencorev1beta1.ConditionTrue:
			if !began {
				o.began[site] = time.Now()
			}
			if _, ended := o.ended[site]; ended {
				o.again[site] = true
			}
		case began:
			if _, ended := o.ended[site]; !ended {
				// machine-controller-manager may be faster than this observer.
				o.ended[site], o.reasons[site] = condition.LastTransitionTime.Time, condition.Reason
			}
		}
	}
	return nil
}

// isDestructive reports whether a request that reached a site deletes, powers off or wipes one of the machines.
func (o *observer) isDestructive(r countproxy.Request) bool {
	if r.ServiceStatus == 0 || r.ServiceStatus >= http.StatusBadRequest {
		return false
	}
	if r.Operation != "" {
		return slices.Contains(destructive, r.Operation)
	}
	_, ours := o.servers[path.Base(strings.TrimSuffix(r.Path, "/action"))]
	return ours && r.Kind == countproxy.KindWrite
}

// outcome counts what was observed.
func (o *observer) outcome(row Row) Outcome {
	out := Outcome{Row: row}
	quarantined, ended := len(o.began) >= len(o.sites), len(o.ended) >= len(o.sites)
	end := time.Now()
	for _, site := range o.sites {
		if began, ok := o.began[site]; ok && quarantined {
			out.Quarantined = max(out.Quarantined, began.Sub(o.start))
		}
		if at, ok := o.ended[site]; ok && ended {
			if at.Before(end) {
				end = at // of the first site
			}
			out.Ended, out.Reason = max(out.Ended, at.Sub(o.start)), o.reasons[site]
		}
	}
	for site := range o.began {
		if !slices.Contains(o.sites, site) {
			out.Problems = append(out.Problems, fmt.Sprintf("site %s is in quarantine, but was not cut off", site))
		}
	}
	for site := range o.again {
		out.Problems = append(out.Problems, fmt.Sprintf("site %s is in quarantine once more", site))
	}
	side := func(at time.Time) *Losses {
		if at.Before(end) {
			return &out.Before
		}
		return &out.After
	}
	for what, at := range o.lost {
		switch what.kind {
		case "machine":
			side(at).Failed++
			out.Gone = append(out.Gone, what.name)
			since := at.Sub(o.start)
			if ended {
				since = at.Sub(end)
			}
			if out.Replaced == 0 || since < out.Replaced {
				out.Replaced = since
			}
		case "pod":
			side(at).Pods++
		case "server":
			side(at).Servers++
			if machine := o.servers[what.name]; o.begun != "" && machine != o.begun {
				out.Problems = append(out.Problems, fmt.Sprintf("machine %s has lost its server, but was not being deleted", machine))
			}
		}
	}
	for _, request := range o.shoot.Proxy.Requests("cut") {
		if o.isDestructive(request) {
			side(request.Start).Requests++
		}
	}
	slices.Sort(out.Gone)
	return out
}
