// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/gardenapi"
)

const (
	admissionBinary = "gardener-extension-admission-hybrid"
	admissionPeriod = 100 * time.Millisecond
	admissionWarmUp = 50
	admissionRuns   = 300
)

// measureAdmission sends what gardener-apiserver sends when a large Shoot is created to the admission component: the Shoot as it was
// written to the webhook that mutates, and the complete one to the webhook that validates. A time is that of one of them.
func measureAdmission(ctx context.Context, b *Bed) (m Measurement, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return m, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	garden, complete, err := startGarden(ctx, b, dir)
	if err != nil {
		return m, err
	}
	defer func() { _ = garden.Stop() }()

	written := complete.DeepCopy()
	written.Spec.Networking.ProviderConfig = nil
	for i := range written.Spec.Provider.Workers {
		written.Spec.Provider.Workers[i].Priority = nil
	}
	sender, err := newAdmissionSender(ctx, garden)
	if err != nil {
		return m, err
	}
	mutating, err := sender.review(sender.mutating, written)
	if err != nil {
		return m, err
	}
	validating, err := sender.review(sender.validating, complete)
	if err != nil {
		return m, err
	}
	// The answer of the webhook that mutates must have set a priority.
	mutating.mark = "/spec/provider/workers/0/priority"

	fmt.Fprintf(b.progress, "  send a Shoot of %d pools and %d sites %d times\n", admissionPools, admissionSites, admissionRuns)
	var before time.Duration
	for i := range admissionWarmUp + admissionRuns {
		if i == admissionWarmUp {
			if before, err = processorTime(garden.Admission.PID()); err != nil {
				return m, err
			}
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(admissionPeriod):
		}
		for path, review := range map[string]review{"mutate": mutating, "validate": validating} {
			start := time.Now()
			size, err := sender.send(ctx, review)
			if err != nil {
				return m, err
			}
			if i >= admissionWarmUp {
				m.Records = append(m.Records, Record{
					Time: start.Round(0), Run: "shoots", Service: "admission", Method: http.MethodPost, Path: path, Kind: countproxy.KindWrite,
					Status: http.StatusOK, Bytes: size, Duration: time.Since(start),
				})
			}
		}
	}
	after, err := processorTime(garden.Admission.PID())
	if err != nil {
		return m, err
	}
	var parts []string
	for _, path := range []string{"mutate", "validate"} {
		own := slices.DeleteFunc(slices.Clone(m.Records), func(r Record) bool { return r.Path != path })
		half, err := latency(0.5)(own)
		if err != nil {
			return m, err
		}
		most, err := latency(0.99)(own)
		if err != nil {
			return m, err
		}
		parts = append(parts, fmt.Sprintf("%s: median %.1f ms, p99 %.1f ms", path, half, most))
	}
	m.Note = fmt.Sprintf("%d creations of a Shoot of %d KiB, %d pools and %d sites; %s; %.1f ms of processor time each; with the reads of "+
		"its credentials",
		admissionRuns, len(validating.body)>>10, admissionPools, admissionSites, strings.Join(parts,
			", "), (after-before).Seconds()*1e3/admissionRuns)
	return m, m.addMemory(garden.Admission)
}

// startGarden starts a garden with the admission component and returns it and a large Shoot as it is when the API completed it.
func startGarden(ctx context.Context, b *Bed, dir string) (*gardenapi.Garden, *gardencorev1beta1.Shoot, error) {
	fmt.Fprintln(b.progress, "  start the API of a garden")
	executable := filepath.Join(dir, admissionBinary)
	for _, command := range [][]string{
		{filepath.Join("hack", "landscape", "build.sh"), "etcd", "kubernetes", "gardener"},
		{"go", "build", "-o", executable, "./cmd/" + admissionBinary},
	} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...) // #nosec G204 -- constant commands
		cmd.Dir = landscape.Root()
		cmd.Stdout, cmd.Stderr = b.progress, b.progress
		if err := cmd.Run(); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", command[0], err)
		}
	}
	garden, err := gardenapi.Start(ctx, gardenapi.Options{Dir: dir, Admission: executable})
	if err != nil {
		return nil, nil, err
	}
	complete, err := fillGarden(ctx, garden)
	if err != nil {
		_ = garden.Stop()
		return nil, nil, err
	}
	return garden, complete, nil
}

func fillGarden(ctx context.Context, garden *gardenapi.Garden) (*gardencorev1beta1.Shoot, error) {
	profile, err := largeProfile()
	if err != nil {
		return nil, err
	}
	undecodable := profile.DeepCopy()
	undecodable.Name, undecodable.Spec.ProviderConfig = "undecodable", &runtime.RawExtension{Raw: []byte("{}")}
	if err := garden.CreateProject(ctx, gardenapi.ProviderResources()...); err != nil {
		return nil, err
	}
	if err := garden.CreateCredentials(ctx, largeCredentials()); err != nil {
		return nil, err
	}
	if err := garden.StartAdmission(ctx, undecodable); err != nil {
		return nil, err
	}
	if err := garden.Client.Create(ctx, profile); err != nil {
		return nil, err
	}
	large, err := largeShoot()
	if err != nil {
		return nil, err
	}
	for {
		complete := large.DeepCopy()
		err := garden.Client.Create(ctx, complete, client.DryRunAll)
		if err == nil {
			metav1.SetMetaDataLabel(&complete.ObjectMeta, v1beta1constants.LabelExtensionProviderTypePrefix+v1alpha1.ProviderType, "true")
			return complete, nil
		}
		// The API and the component see the CloudProfile a moment later.
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(shootsPeriod):
		}
	}
}
