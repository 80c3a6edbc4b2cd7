// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// The simulator is govmomi's vCenter simulator as a process, with TLS, a login and a port that disturbs and watches it.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/vmware/govmomi/cns/simulator"
	_ "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	_ "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25/types"
	_ "github.com/vmware/govmomi/vslm/simulator"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

type options struct {
	listen, certificate, key, username, password, ready string
	guest                                               time.Duration
	machines                                            bool
}

func main() {
	var o options
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of the vCenter")
	flag.StringVar(&o.certificate, "certificate", "", "file of the certificate")
	flag.StringVar(&o.key, "key", "", "file of its key")
	flag.StringVar(&o.username, "username", "", "name of the user")
	flag.StringVar(&o.password, "password", "", "password of the user")
	flag.StringVar(&o.ready, "ready", "", "file that is written when the vCenter serves")
	flag.DurationVar(&o.guest, "guest", 0, "time from power-on to the first address of a guest, none if zero")
	flag.BoolVar(&o.machines, "machines", false, "whether guests are machines that boot")
	flag.Parse()

	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	model := newModel()
	if err := model.Create(); err != nil {
		return err
	}
	defer model.Remove()
	model.Service.RegisterEndpoints = true
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(o.username, o.password)}
	server := model.Service.NewServer()
	defer server.Close()
	if err := createTemplates(ctx, server.URL); err != nil {
		return err
	}
	if o.guest > 0 {
		model.Map().AddHandler(&guests{service: model.Service, delay: o.guest})
	}

	d := &disturber{model: model, username: o.username, password: o.password}
	if o.machines {
		d.machines = newMachines(model)
		model.Map().AddHandler(d.machines)
		model.Map().Put(d.machines)
	}
	d.apply(control.Settings{})
	if err := setAuthority(model.Map(), d); err != nil {
		return err
	}
	model.Map().SessionManager().ValidLogin = d.validLogin
	model.Map().Handler = d.call

	controlListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair(o.certificate, o.key)
	if err != nil {
		return err
	}
	front := newFront(d, model.Service.ServeMux)
	requests := newJournal(front)
	e := &entrance{address: o.listen, handler: requests, certificate: certificate, failed: make(chan error, 1)}
	if err := e.open(); err != nil {
		return err
	}
	front.entrance = e
	mux := front.control()
	mux.HandleFunc("POST "+control.PathJournal, requests.serve)
	mux.HandleFunc("POST "+control.PathPopulation, (&populator{model: model}).serve)
	if o.machines {
		mux.HandleFunc("POST "+control.PathMachines, d.machines.serve)
	}
	controller := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { e.failed <- controller.Serve(controlListener) }()
	if err := writeReady(o.ready, control.Ready{Address: e.address, Control: "http://" + controlListener.Addr().String()}); err != nil {
		return err
	}
	select {
	case err := <-e.failed:
		return err
	case <-ctx.Done():
		return errors.Join(e.close(), controller.Close())
	}
}

// writeReady writes the file at once, so that nobody reads half of it.
func writeReady(path string, ready control.Ready) error {
	data, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// newModel has two datacenters with two clusters each, of whose resource pools a little is used.
func newModel() *simulator.Model {
	esx.ResourcePool.Summary.GetResourcePoolSummary().QuickStats = &types.ResourcePoolQuickStats{
		OverallCpuUsage: control.UsedMHz, HostMemoryUsage: control.UsedMiB,
	}
	model := simulator.VPX()
	model.ServiceContent.About.Version = "8.0.3" // the oldest that is supported is 7.0
	model.Datacenter, model.Cluster, model.ClusterHost, model.Host = 2, 2, 3, 0
	model.Datastore, model.Portgroup, model.Machine = 2, 2, 1
	model.Autostart = false
	return model
}
