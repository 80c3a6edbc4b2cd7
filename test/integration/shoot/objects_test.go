// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

// example reads the objects of a file in example/ for the shoot of the suite.
func example(name string) []*unstructured.Unstructured {
	content, err := os.ReadFile(filepath.Join(landscape.Root(), "example", name))
	Expect(err).NotTo(HaveOccurred())
	content = bytes.ReplaceAll(content, []byte("shoot--local--hybrid"), []byte(shoot))
	var objects []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), len(content)); ; {
		object := &unstructured.Unstructured{}
		if decoder.Decode(object) != nil {
			return objects
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func apply(ctx context.Context, objects ...*unstructured.Unstructured) {
	for _, object := range objects {
		Expect(seed.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("test"),
			client.ForceOwnership)).To(Succeed())
	}
}

func infrastructure() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: shoot}}
}

func worker() *extensionsv1alpha1.Worker {
	return &extensionsv1alpha1.Worker{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: shoot}}
}

// finished waits until the object was reconciled after the operation annotation was set, and returns how that ended. An end must be seen
// twice: the annotation is gone a moment before the operation begins, and until then the status is that of the one before.
func finished(ctx context.Context, object extensionsv1alpha1.Object, since time.Time) gardencorev1beta1.LastOperationState {
	var (
		state gardencorev1beta1.LastOperationState
		seen  string
	)
	Eventually(func(g Gomega) {
		g.Expect(seed.Check()).To(Succeed())
		g.Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		g.Expect(object.GetAnnotations()).NotTo(HaveKey(v1beta1constants.GardenerOperation))
		last := object.GetExtensionStatus().GetLastOperation()
		g.Expect(last).NotTo(BeNil())
		g.Expect(last.LastUpdateTime.Time).To(BeTemporally(">=", since.Truncate(time.Second)))
		g.Expect(last.State).To(BeElementOf(gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateError,
			gardencorev1beta1.LastOperationStateFailed))
		state = last.State
		before := seen
		seen = object.GetResourceVersion()
		g.Expect(seen).To(Equal(before), "seen for the first time")
	}).WithContext(ctx).Within(6 * time.Minute).ProbeEvery(250 * time.Millisecond).Should(Succeed())
	return state
}

// change changes the Worker, lets it be reconciled and returns how that ended.
func change(ctx context.Context, do func(*extensionsv1alpha1.Worker)) gardencorev1beta1.LastOperationState {
	var since time.Time
	Eventually(func() error {
		w := worker()
		if err := seed.Client.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
			return err
		}
		if err := endedJustNow(w); err != nil {
			return err
		}
		since = time.Now()
		do(w)
		metav1.SetMetaDataAnnotation(&w.ObjectMeta, v1beta1constants.GardenerOperation, v1beta1constants.GardenerOperationReconcile)
		return seed.Client.Update(ctx, w)
	}).WithContext(ctx).Within(time.Minute).Should(Succeed())
	return finished(ctx, worker(), since)
}

// endedJustNow returns an error if the last operation could be taken for the next one, as its time is told in seconds.
func endedJustNow(object extensionsv1alpha1.Object) error {
	if last := object.GetExtensionStatus().GetLastOperation(); last != nil && time.Since(last.LastUpdateTime.Time) < time.Second {
		return fmt.Errorf("the last operation ended just now: %s", last.LastUpdateTime)
	}
	return nil
}

// changeCloudProfile replaces text in the provider configuration of the Cluster's CloudProfile.
func changeCloudProfile(ctx context.Context, old, replacement string) {
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: shoot}}
	Expect(seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
	profile := string(cluster.Spec.CloudProfile.Raw)
	Expect(profile).To(ContainSubstring(old))
	cluster.Spec.CloudProfile = runtime.RawExtension{Raw: []byte(strings.ReplaceAll(profile, old, replacement))}
	Expect(seed.Client.Update(ctx, cluster)).To(Succeed())
}

// machines returns the machines of the shoot by name.
func machines(ctx context.Context) map[string]machinev1alpha1.Machine {
	list := &machinev1alpha1.MachineList{}
	Expect(seed.Client.List(ctx, list, client.InNamespace(shoot))).To(Succeed())
	result := map[string]machinev1alpha1.Machine{}
	for _, machine := range list.Items {
		result[machine.Name] = machine
	}
	return result
}

// identities returns the provider IDs of all machines by name.
func identities(ctx context.Context) map[string]string {
	result := map[string]string{}
	for name, machine := range machines(ctx) {
		result[name] = machine.Spec.ProviderID
	}
	return result
}

// machinesOf returns the names of the running machines of a pool.
func machinesOf(ctx context.Context, pool string) []string {
	var names []string
	for name, machine := range machines(ctx) {
		if machine.Spec.NodeTemplateSpec.Labels["worker.gardener.cloud/pool"] == pool &&
			machine.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning {
			names = append(names, name)
		}
	}
	return names
}

// poolLike returns a copy of a pool of the Worker under another name, in the given zones.
func poolLike(w *extensionsv1alpha1.Worker, like, name string, zones ...string) extensionsv1alpha1.WorkerPool {
	pool := pool(w, like).DeepCopy()
	pool.Name = name
	pool.Zones = zones
	pool.Labels["worker.gardener.cloud/pool"] = name
	return *pool
}

func pool(w *extensionsv1alpha1.Worker, name string) *extensionsv1alpha1.WorkerPool {
	for i := range w.Spec.Pools {
		if w.Spec.Pools[i].Name == name {
			return &w.Spec.Pools[i]
		}
	}
	return nil
}

func asMap(raw *runtime.RawExtension) map[string]any {
	result := map[string]any{}
	Expect(json.Unmarshal(raw.Raw, &result)).To(Succeed())
	return result
}
