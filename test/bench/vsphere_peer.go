// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	peerFolder   = "peer"
	peerShoot    = "shoot--bench--peer"
	peerProvider = "vsphere"
	peerWarmUp   = peerShoot + "-first"
	// peerTimeout ends a peer that hangs.
	peerTimeout = 10 * time.Minute
)

// peerTags are the custom values by which the peer finds machines of the shoot.
var peerTags = map[string]string{"mcm.gardener.cloud/cluster": peerShoot, "mcm.gardener.cloud/role": "node"}

// peerBinary is the executable of the peer, which is built once.
type peerBinary struct {
	dir string
	err error
}

// path builds the executable unless that was done, or failed, before.
func (p *peerBinary) path(ctx context.Context, progress io.Writer) (string, error) {
	if p.dir == "" && p.err == nil {
		p.err = p.build(ctx, progress)
	}
	return filepath.Join(p.dir, "peers"), p.err
}

func (p *peerBinary) build(ctx context.Context, progress io.Writer) (err error) {
	if p.dir, err = os.MkdirTemp("", "bench-peers-"); err != nil {
		return err
	}
	fmt.Fprintln(progress, "  build the peer")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(p.dir, "peers"), ".") // #nosec G204 -- our own package
	cmd.Dir = filepath.Join(landscape.Root(), "test", "bench", "peers")
	if output, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		return fmt.Errorf("build it: %w: %s", err, lines[len(lines)-1])
	}
	return nil
}

func (p *peerBinary) remove() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// vspherePeer is the peer on the same vCenter as ours. What it is told to do after it failed is not done.
type vspherePeer struct {
	site  *vsphereSite
	front *httptest.Server

	subject *subject
	cancel  context.CancelFunc
	run     PeerRun
}

// newPeer starts the peer and lets it make and delete a machine: it writes its custom fields with the first one.
func (s *vsphereSite) newPeer(ctx context.Context, b *Bed) *vspherePeer {
	p := &vspherePeer{site: s}
	p.run.Err = p.start(ctx, b)
	return p
}

func (p *vspherePeer) start(ctx context.Context, b *Bed) error {
	executable, err := b.peers.path(ctx, b.progress)
	if err != nil {
		return err
	}
	if p.front, err = p.site.newPeerFront(); err != nil {
		return err
	}
	j, err := p.site.peerJob(ctx, p.front.Listener.Addr().String())
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, peerTimeout)
	if p.subject, err = startSubject(exec.CommandContext(limited, executable), j, b.progress); err != nil { // #nosec G204 -- our own program
		cancel()
		return err
	}
	p.cancel = cancel
	p.run.Of = p.subject.first.Subject
	made, err := p.subject.do(order{Do: doMake, Machine: peerWarmUp})
	if err != nil {
		return err
	}
	_, err = p.subject.do(order{Do: doDelete, Machine: peerWarmUp, ProviderID: made.ProviderID})
	return err
}

// do lets the peer obey and keeps what arrived at the vCenter meanwhile.
func (p *vspherePeer) do(ctx context.Context, run string, o order) (r report) {
	if p.run.Err != nil {
		return r
	}
	var records []Record
	records, p.run.Err = p.site.record(ctx, run, func(context.Context) (err error) {
		r, err = p.subject.do(o)
		return err
	})
	p.run.Records = append(p.run.Records, records...)
	p.run.Rounds++
	return r
}

// make lets the peer make a machine of the name, which must exist afterwards. It is not recorded if the run has no name.
func (p *vspherePeer) make(ctx context.Context, run, name string) order {
	o := order{Do: doMake, Machine: peerShoot + "-" + name}
	if run != "" {
		o.ProviderID = p.do(ctx, run, o).ProviderID
	} else if p.run.Err == nil {
		var r report
		r, p.run.Err = p.subject.do(o)
		o.ProviderID = r.ProviderID
	}
	if p.run.Err == nil {
		found, err := object.NewSearchIndex(p.site.inspector).FindByInventoryPath(ctx, "/"+vsphereDatacenter+"/vm/"+peerFolder+"/"+o.Machine)
		if err != nil || found == nil {
			p.run.Err = errors.Join(fmt.Errorf("there is no virtual machine %s after the peer created it", o.Machine), err)
		}
	}
	return o
}

// worst sums up the requests of the round that took most.
func (p *vspherePeer) worst() string {
	var worst []Record
	_, byRun := runs(p.run.Records)
	for _, records := range byRun {
		if len(records) > len(worst) {
			worst = records
		}
	}
	return methods(worst)
}

// measured is what the peer did.
func (p *vspherePeer) measured() *PeerRun {
	return &p.run
}

// close ends the peer. A peer that does not end well was not measured, and our figure does not suffer from it.
func (p *vspherePeer) close() {
	if p.subject != nil {
		if err := p.subject.stop(); p.run.Err == nil {
			p.run.Err = err
		}
		p.cancel()
	}
	if p.front != nil {
		p.front.Close()
	}
}

// peerJob makes the folder that the peer's machines are in and describes their class. A cluster as their place takes the peer fewer
// requests than a resource pool.
func (s *vsphereSite) peerJob(ctx context.Context, address string) (job, error) {
	if _, err := s.peerFolder(ctx); err != nil {
		return job{}, err
	}
	zone := s.site.Profile.Zones[0].VSphere
	spec, err := json.Marshal(map[string]any{
		"region":         "west",
		"datacenter":     vsphereDatacenter,
		"computeCluster": zone.ComputeCluster,
		"datastore":      zone.Datastore,
		"network":        zone.Network,
		"folder":         peerFolder,
		"templateVM":     vcenter.Template,
		"numCpus":        vsphereCPUs,
		"memory":         8 << 10,
		"systemDisk":     map[string]any{"size": vsphereRootGiB},
		"tags":           peerTags,
	})
	if err != nil {
		return job{}, err
	}
	return job{
		Classes: []*machinev1alpha1.MachineClass{{
			ObjectMeta: metav1.ObjectMeta{Name: peerShoot, Namespace: peerShoot}, Provider: peerProvider,
			ProviderSpec: runtime.RawExtension{Raw: spec},
		}},
		Secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: peerShoot, Namespace: peerShoot},
			Data: map[string][]byte{
				"vsphereHost": []byte(address), "vsphereUsername": []byte(vcenter.Username), "vspherePassword": []byte(vcenter.Password),
				"vsphereInsecureSSL": []byte("true"), "userData": []byte("#cloud-config\n"),
			},
		},
	}, nil
}

// peerFolder makes the folder unless it exists.
func (s *vsphereSite) peerFolder(ctx context.Context) (*object.Folder, error) {
	finder := find.NewFinder(s.inspector)
	datacenter, err := finder.Datacenter(ctx, vsphereDatacenter)
	if err != nil {
		return nil, err
	}
	folders, err := datacenter.Folders(ctx)
	if err != nil {
		return nil, err
	}
	if found, err := finder.Folder(ctx, folders.VmFolder.InventoryPath+"/"+peerFolder); err == nil {
		return found, nil
	}
	return folders.VmFolder.CreateFolder(ctx, peerFolder)
}

// populate fills the peer's folder with machines that it lists.
func (p *vspherePeer) populate(ctx context.Context, count int) {
	if p.run.Err == nil {
		p.run.Err = p.site.populatePeer(ctx, count)
	}
}

// list lets the peer list its machines.
func (p *vspherePeer) list(ctx context.Context, run string, want int) {
	if r := p.do(ctx, run, order{Do: doList}); p.run.Err == nil && r.Machines != want {
		p.run.Err = fmt.Errorf("%d machines were listed, want %d", r.Machines, want)
	}
}

func (s *vsphereSite) populatePeer(ctx context.Context, count int) error {
	folder, err := s.peerFolder(ctx)
	if err != nil {
		return err
	}
	if err := s.server.Populate(ctx, control.Population{
		Folder: folder.Reference().Value, Template: s.spec.VSphere.Template, Prefix: peerShoot + "-list-", Count: count,
	}); err != nil {
		return err
	}
	fields, err := object.GetCustomFieldsManager(s.inspector)
	if err != nil {
		return err
	}
	machines, err := folder.Children(ctx)
	if err != nil {
		return err
	}
	for name, value := range peerTags {
		key, err := fields.FindKey(ctx, name)
		if err != nil {
			return err
		}
		for _, machine := range machines {
			if err := fields.Set(ctx, machine.Reference(), key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	cloneRequest = regexp.MustCompile(`<(?:\w+:)?CloneVM_Task[ >]`)
	taskAnswer   = regexp.MustCompile(`<returnval type="Task">([^<]+)<`)
)

// newPeerFront stands between the peer and the vCenter. A real vCenter gives a clone the vApp properties of its template, which the peer
// writes the user data to, and the simulated one does not: the front adds them before the peer learns of its task.
func (s *vsphereSite) newPeerFront() (*httptest.Server, error) {
	target, err := url.Parse("https://" + s.server.Address)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // #nosec G402 -- the simulator, from this machine
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !cloneRequest.Match(body) {
			proxy.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		if match := taskAnswer.FindSubmatch(answer.Body.Bytes()); match != nil {
			if err := s.addProperties(r.Context(), string(match[1])); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		for key, values := range answer.Header() {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})), nil
}

// addProperties waits until a clone is made and gives it the properties. If the clone fails, the peer is told so by the task.
func (s *vsphereSite) addProperties(ctx context.Context, task string) error {
	made, err := object.NewTask(s.inspector, types.ManagedObjectReference{Type: "Task", Value: task}).WaitForResult(ctx)
	if err != nil {
		return nil
	}
	reference, ok := made.Result.(types.ManagedObjectReference)
	if !ok {
		return fmt.Errorf("task %s made %v", task, made.Result)
	}
	properties := &types.VmConfigSpec{}
	for i, id := range []string{"hostname", "user-data"} {
		properties.Property = append(properties.Property, types.VAppPropertySpec{
			ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
			Info:            &types.VAppPropertyInfo{Key: int32(i), Id: id, UserConfigurable: new(true)},
		})
	}
	change, err := object.NewVirtualMachine(s.inspector, reference).Reconfigure(ctx, types.VirtualMachineConfigSpec{VAppConfig: properties})
	if err != nil {
		return err
	}
	return change.Wait(ctx)
}
