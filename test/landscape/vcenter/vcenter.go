// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package vcenter runs a simulated vCenter as a process: two datacenters with two clusters each, with TLS, a login, and a way to
// disturb and watch it.
package vcenter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const (
	// Username is the name of the user.
	Username = "gardener@vsphere.local"
	// Password is the password of the user.
	Password = "gardener-secret" // #nosec G101 -- of the simulator
	// Template is the name of the template in each datacenter.
	Template = "gardenlinux"

	startTimeout = 30 * time.Second
)

// Options say how the vCenter runs. The zero value is good for tests.
type Options struct {
	// Listen is the host:port of the vCenter. Default: a free port on loopback.
	Listen string
	// Guest is the time from power-on to the first address of a guest; no guest reports an address if it is zero.
	Guest time.Duration
	// Machines lets guests be what Report says. There is no other guest then.
	Machines bool
}

// VCenter is a simulated vCenter.
type VCenter struct {
	// Address is its host:port.
	Address string
	// CA is the PEM certificate of the authority that signed the vCenter's.
	CA string
	// Thumbprint is the SHA-256 thumbprint of the vCenter's certificate.
	Thumbprint string

	process *landscape.Process
	control string
}

// Start builds and starts a vCenter that keeps its files in dir. Stop ends it.
func Start(ctx context.Context, dir string, options Options) (*VCenter, error) {
	own, err := landscape.BuildOwn(ctx, dir, os.Stderr, "./test/landscape/vcenter/simulator")
	if err != nil {
		return nil, err
	}
	authority, thumbprint, err := writeCertificates(dir)
	if err != nil {
		return nil, fmt.Errorf("certificates of the simulator: %w", err)
	}

	if options.Listen == "" {
		options.Listen = "127.0.0.1:0"
	}
	ready := filepath.Join(dir, "ready.json")
	process := &landscape.Process{
		Name: "vcenter",
		Path: filepath.Join(own, "simulator"),
		Args: []string{
			"--listen", options.Listen, "--certificate", filepath.Join(dir, certificateFile), "--key", filepath.Join(dir, keyFile),
			"--username", Username, "--password", Password, "--ready", ready, "--guest", options.Guest.String(),
			"--machines=" + strconv.FormatBool(options.Machines),
		},
		LogFile: filepath.Join(dir, "vcenter.log"),
	}
	if err := os.Remove(ready); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	addresses, err := waitUntilReady(ctx, process, ready)
	if err != nil {
		process.Kill()
		return nil, err
	}
	return &VCenter{Address: addresses.Address, CA: authority, Thumbprint: thumbprint, process: process, control: addresses.Control}, nil
}

func waitUntilReady(ctx context.Context, process *landscape.Process, path string) (*control.Ready, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if data, err := os.ReadFile(path); err == nil { // #nosec G304 -- our own file
			ready := &control.Ready{}
			return ready, json.Unmarshal(data, ready)
		}
		select {
		case <-ticker.C:
		case <-process.Done():
			return nil, process.Check()
		case <-ctx.Done():
			return nil, fmt.Errorf("the simulator is not ready: %w", ctx.Err())
		}
	}
}

// Stop ends the vCenter.
func (v *VCenter) Stop(ctx context.Context) {
	v.process.Stop(ctx)
}

// Check returns an error if the vCenter ended by itself.
func (v *VCenter) Check() error {
	return v.process.Check()
}

// Set replaces the settings.
func (v *VCenter) Set(ctx context.Context, settings control.Settings) error {
	return v.post(ctx, control.PathSettings, settings, nil)
}

// EndSessions ends all sessions.
func (v *VCenter) EndSessions(ctx context.Context) error {
	return v.post(ctx, control.PathEndSessions, nil, nil)
}

// Age lets some time pass in which nobody uses a session.
func (v *VCenter) Age(ctx context.Context, by time.Duration) error {
	return v.post(ctx, control.PathAge, by, nil)
}

// Acted returns how often what the settings disturb was disturbed since they were set.
func (v *VCenter) Acted(ctx context.Context) (control.Acted, error) {
	acted := control.Acted{}
	return acted, v.post(ctx, control.PathActed, nil, &acted)
}

// Counts returns the numbers of requests since the last call.
func (v *VCenter) Counts(ctx context.Context) (control.Counts, error) {
	counts := control.Counts{}
	return counts, v.post(ctx, control.PathCounts, nil, &counts)
}

func (v *VCenter) post(ctx context.Context, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.control+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(out)
}

// Client returns a client with a login of its own that is not ended with the others.
func (v *VCenter) Client(ctx context.Context) (*vim25.Client, error) {
	address, err := soap.ParseURL(v.Address)
	if err != nil {
		return nil, err
	}
	transport := soap.NewClient(address, true)
	transport.UserAgent = control.Inspector
	client, err := vim25.NewClient(ctx, transport)
	if err != nil {
		return nil, err
	}
	return client, session.NewManager(client).Login(ctx, url.UserPassword(Username, Password))
}
