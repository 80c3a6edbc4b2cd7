// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

// life is how a process reaches the vCenter until it is killed: from then on nothing that it sends arrives, and no answer reaches it.
type life struct {
	server *httptest.Server
	last   atomic.Int32
	writes atomic.Int32
	dead   atomic.Bool
	after  atomic.Value
	// kill kills a process that is not this one and starts it again.
	kill func()
}

var (
	soapMethod = regexp.MustCompile(`<(?:\w+:)?Body[^>]*><(?:\w+:)?(\w+)`)
	soapRead   = regexp.MustCompile(`^(Retrieve|Find|Query|Continue|Login|Logout|Current|Pbm|CreateContainerView|DestroyView|Fetch|` +
		`CreatePropertyCollector|DestroyPropertyCollector|CreateFilter|DestroyPropertyFilter|WaitForUpdates)`)
	restRead = regexp.MustCompile(`session|~action=(list|get)`)
)

// begin is a process that is killed right after the vCenter has executed its last write, or never if that is 0.
func begin(last int) *life {
	GinkgoHelper()
	target, err := url.Parse("https://" + server.Address)
	Expect(err).NotTo(HaveOccurred())
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402 -- the simulator
	l := &life{}
	l.arm(last)
	l.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.dead.Load() {
			panic(http.ErrAbortHandler)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body, r.Host = io.NopCloser(bytes.NewReader(body)), target.Host
		name := writeOf(r, body)
		number := int32(0)
		if name != "" {
			number = l.writes.Add(1)
		}
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		if name != "" && number == l.last.Load() {
			l.after.Store(name)
			if l.kill != nil {
				l.kill()
				panic(http.ErrAbortHandler)
			}
			l.dead.Store(true)
		}
		if l.dead.Load() {
			panic(http.ErrAbortHandler)
		}
		for key, values := range answer.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	DeferCleanup(l.server.Close)
	return l
}

// arm begins to count anew until the kill.
func (l *life) arm(last int) {
	l.writes.Store(0)
	l.last.Store(int32(last))
}

// writeOf names a request that changes something, and is empty for others.
func writeOf(r *http.Request, body []byte) string {
	if strings.HasPrefix(r.URL.Path, "/rest") || strings.HasPrefix(r.URL.Path, "/api") {
		if r.Method == http.MethodGet || restRead.MatchString(r.URL.String()) {
			return ""
		}
		return r.Method + " " + strings.TrimPrefix(r.URL.Path, "/rest/com/vmware/cis/tagging/")
	}
	found := soapMethod.FindSubmatch(body)
	if found == nil || soapRead.Match(found[1]) {
		return ""
	}
	return string(found[1])
}

func (l *life) connection() v1alpha1.VSphereConnection {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.server.Certificate().Raw})
	return v1alpha1.VSphereConnection{Server: strings.TrimPrefix(l.server.URL, "https://"), TLS: &v1alpha1.TLS{CACert: string(authority)}}
}

var errKilled = errors.New("killed")

// through does something until it succeeds, in a process that is killed after a write and then in another one. It returns the
// number of writes without a kill, and after which one the process was killed.
func through(ctx context.Context, kill int, do func(context.Context, *life) error) (writes int, after string) {
	GinkgoHelper()
	l := begin(kill)
	for {
		err := do(ctx, l)
		if l.dead.Load() {
			after = fmt.Sprint(l.after.Load())
			l = begin(0)
			continue
		}
		if err == nil {
			return int(l.writes.Load()), after
		}
		if class := platform.ClassOf(err); class != platform.ClassTransient && class != platform.ClassNotFound {
			Fail(fmt.Sprintf("after %s: %v", after, err))
		}
		Expect(ctx.Err()).NotTo(HaveOccurred(), "after %s: %v", after, err)
	}
}

var _ = suite.Nightly("A process that is killed after a write to the vCenter", func() {
	// matrix creates and deletes, with a kill after each write in turn, and compares what is there with what is there without a kill.
	matrix := func(ctx SpecContext, create, remove func(context.Context, *life) error, there func(context.Context) []string) {
		GinkgoHelper()
		var table []string
		defer func() { AddReportEntry("crash matrix", strings.Join(table, "\n"), ReportEntryVisibilityAlways) }()
		before := there(ctx)
		creations, _ := through(ctx, 0, create)
		with := there(ctx)
		Expect(with).NotTo(Equal(before))
		deletions, _ := through(ctx, 0, remove)
		Expect(there(ctx)).To(Equal(before))
		Expect([]int{creations, deletions}).NotTo(ContainElement(0))
		for k := 1; k <= max(creations, deletions); k++ {
			_, after := through(ctx, killed(k, creations), create)
			table = append(table, fmt.Sprintf("create %2d of %d: %s", k, creations, after))
			Expect(there(ctx)).To(Equal(with), "created, killed after %s", after)
			_, after = through(ctx, killed(k, deletions), remove)
			table = append(table, fmt.Sprintf("delete %2d of %d: %s", k, deletions, after))
			Expect(there(ctx)).To(Equal(before), "deleted, killed after %s", after)
		}
	}

	// machineMatrix is the matrix of a machine that is described by the request.
	machineMatrix := func(ctx SpecContext, request platform.MachineRequest, there func(context.Context) []string) {
		GinkgoHelper()
		parts := map[*life]platform.Machines{}
		at := func(l *life) (platform.MachineRequest, platform.Machines) {
			if parts[l] == nil {
				parts[l] = machines.New(newSessions())
			}
			r := request
			r.Spec, r.UserData = request.Spec.DeepCopy(), []byte("#!/bin/sh\n")
			r.Spec.VSphere.Connection = l.connection()
			r.Spec.VSphere.Connection.IPAM = request.Spec.VSphere.Connection.IPAM
			return r, parts[l]
		}
		matrix(ctx, func(ctx context.Context, l *life) error {
			r, part := at(l)
			_, err := part.Get(ctx, r)
			if platform.ClassOf(err) == platform.ClassNotFound {
				_, err = part.Create(ctx, r)
			}
			return err
		}, func(ctx context.Context, l *life) error {
			r, part := at(l)
			return part.Delete(ctx, r)
		}, there)
	}

	It("should leave an Infrastructure as if nothing had happened, and nothing when it is deleted", func(ctx SpecContext) {
		makeParentFolders(ctx)
		s := newSite("shoot--crash--infra")
		s.Profile.VSphere.ResourcePools = &v1alpha1.VSphereResourcePools{PerShoot: true}
		persist := func(_ context.Context, state *v1alpha1.SiteState) error {
			s.State = state.DeepCopy()
			return nil
		}
		at := func(l *life) (*site.Site, platform.Infrastructure) {
			connection := l.connection()
			s.Profile.VSphere.Server, s.Profile.TLS = "https://"+connection.Server, connection.TLS
			return s, infrastructure.New(newSessions())
		}
		matrix(ctx, func(ctx context.Context, l *life) error {
			s, part := at(l)
			_, err := part.Reconcile(ctx, s, l.alive(persist))
			return err
		}, func(ctx context.Context, l *life) error {
			s, part := at(l)
			return part.Delete(ctx, s, l.alive(persist))
		}, func(ctx context.Context) []string { return objectsOf(ctx, s.Shoot) })
	}, NodeTimeout(10*time.Minute))

	It("should leave a machine as if nothing had happened, and nothing when it is deleted", func(ctx SpecContext) {
		place := newBed(ctx)
		request := platform.MachineRequest{Name: place.shoot + "-m", Spec: place.spec(ctx, "DC0_C0"), Credentials: siteCredentials()}
		machineMatrix(ctx, request, func(ctx context.Context) []string {
			return append(objectsOf(ctx, place.shoot), place.files(ctx, place.shoot+"-m")...)
		})
	}, NodeTimeout(10*time.Minute))

	It("should leave a machine with the same address from a pool, and no claim when it is deleted", func(ctx SpecContext) {
		pools := startPools(ctx)
		place := newBed(ctx)
		spec := place.spec(ctx, "DC0_C0")
		spec.VSphere.Addresses = pools.addresses(ctx, "10.20.6.10-10.20.6.19")
		spec.VSphere.Connection.IPAM = pools.connection
		request := platform.MachineRequest{Name: place.shoot + "-m", Spec: spec, Credentials: pools.credentials}
		machineMatrix(ctx, request, func(ctx context.Context) []string {
			there := append(objectsOf(ctx, place.shoot), place.files(ctx, place.shoot+"-m")...)
			Eventually(ctx, func() ([]string, error) { return pools.claims(ctx) }, time.Minute).Should(
				HaveLen(min(place.vms(ctx, spec), 1)))
			if vm := place.vm(ctx, spec, place.shoot+"-m"); vm != nil {
				given, err := pools.landscape.Addresses(ctx)
				Expect(err).NotTo(HaveOccurred())
				Expect(metadataOf(vm)).To(ContainSubstring(`"addresses":["` + given[place.shoot+"-m"] + `/16"]`))
				Expect(vm.Runtime.PowerState).To(Equal(types.VirtualMachinePowerStatePoweredOn))
			}
			return there
		})
	}, NodeTimeout(10*time.Minute))
})

// killed is after which write a phase with fewer writes is killed: never, if it has not as many.
func killed(k, writes int) int {
	if k > writes {
		return 0
	}
	return k
}

// alive keeps a state only while the process lives.
func (l *life) alive(persist platform.Persist) platform.Persist {
	return func(ctx context.Context, state *v1alpha1.SiteState) error {
		if l.dead.Load() {
			return errKilled
		}
		return persist(ctx, state)
	}
}

// objectsOf are the kinds and names of what is in the vCenter for a shoot.
func objectsOf(ctx context.Context, shoot string) []string {
	GinkgoHelper()
	objects, err := server.Objects(ctx, shoot)
	Expect(err).NotTo(HaveOccurred())
	var lines []string
	for _, o := range objects {
		lines = append(lines, o.Kind+" "+o.Name)
	}
	slices.Sort(lines)
	return lines
}
