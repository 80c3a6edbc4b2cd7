// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/client/clientset/versioned"
	"github.com/gardener/machine-controller-manager/pkg/client/informers/externalversions"
	machinelisters "github.com/gardener/machine-controller-manager/pkg/client/listers/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// BirthDuration is the time between the creation of a Machine and the end of a phase of its birth, in seconds.
var BirthDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Namespace: "hybrid",
	Subsystem: "machine",
	Name:      "birth_seconds",
	Help:      "Time between the creation of a Machine and the end of a phase of its birth.",
	Buckets:   []float64{1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 1800, 3600},
}, []string{"site", "platform", "phase"})

const (
	// birthWait is how long the node of a machine that has joined is awaited to be initialized.
	birthWait = time.Hour
	// firstBirthRetry and lastBirthRetry are the shortest and the longest delay before a node is read again.
	firstBirthRetry = time.Second
	lastBirthRetry  = time.Minute
	// birthTimeout limits the requests about a birth.
	birthTimeout = 30 * time.Second
)

// Births writes the profile of the birth of each machine to an annotation of its Machine, and to BirthDuration. The annotation is written
// first, and only if there is none, so that no birth counts twice.
type Births struct {
	machines versioned.Interface
	nodes    corev1client.NodesGetter
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]

	mutex sync.Mutex
	// claimed are the times at which this process created machines, by the UIDs of their Machines.
	claimed map[types.UID]time.Time
}

// NewBirths returns births of the Machines in one cluster, whose nodes are in another.
func NewBirths(machines versioned.Interface, nodes corev1client.NodesGetter) *Births {
	return &Births{
		machines: machines,
		nodes:    nodes,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](firstBirthRetry, lastBirthRetry)),
		claimed: map[types.UID]time.Time{},
	}
}

// Observe returns a driver that records when machines were created.
func (b *Births) Observe(d driver.Driver) driver.Driver {
	return &observer{Driver: d, births: b}
}

type observer struct {
	driver.Driver
	births *Births
}

// CreateMachine implements driver.Driver.
func (o *observer) CreateMachine(ctx context.Context, req *driver.CreateMachineRequest) (*driver.CreateMachineResponse, error) {
	response, err := o.Driver.CreateMachine(ctx, req)
	if err == nil {
		o.births.mutex.Lock()
		defer o.births.mutex.Unlock()
		o.births.claimed[req.Machine.UID] = time.Now()
	}
	return response, err
}

// Run writes the births of the Machines in a namespace until ctx is done.
func (b *Births) Run(ctx context.Context, namespace string) {
	factory := externalversions.NewSharedInformerFactoryWithOptions(b.machines, 0, externalversions.WithNamespace(namespace),
		externalversions.WithTransform(stripMachine))
	machines := factory.Machine().V1alpha1().Machines()
	enqueue := func(object any) {
		if m, ok := object.(*machinev1alpha1.Machine); ok && isDue(m) {
			b.queue.Add(cache.MetaObjectToName(m))
		}
	}
	if _, err := machines.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
		DeleteFunc: b.deleted,
	}); err != nil {
		klog.ErrorS(err, "Births of machines are not reported")
		return
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer context.AfterFunc(ctx, b.queue.ShutDown)()
	for b.next(ctx, machines.Lister()) {
	}
}

// next handles the next Machine, and returns false if there is none because the queue was shut down.
func (b *Births) next(ctx context.Context, machines machinelisters.MachineLister) bool {
	name, shutdown := b.queue.Get()
	if shutdown {
		return false
	}
	defer b.queue.Done(name)
	m, err := machines.Machines(name.Namespace).Get(name.Name)
	if err != nil || !isDue(m) {
		b.queue.Forget(name)
		return true
	}
	done, err := b.record(ctx, m)
	if err != nil {
		klog.V(2).InfoS("Birth of the machine is not reported yet", "machine", name, "reason", err.Error())
	}
	if done && err == nil {
		b.queue.Forget(name)
	} else {
		b.queue.AddRateLimited(name)
	}
	return true
}

// isDue returns whether the birth of a machine is over and was not reported. machine-controller-manager replaces the operation when the
// node of a machine is unhealthy later: when it became ready for the first time is not known then.
func isDue(m *machinev1alpha1.Machine) bool {
	_, reported := m.Annotations[v1alpha1.AnnotationBirthProfile]
	last := &m.Status.LastOperation
	return !reported && m.DeletionTimestamp == nil && siteOf(m) != "" && m.Status.CurrentStatus.Phase == machinev1alpha1.MachineRunning &&
		last.Type == machinev1alpha1.MachineOperationCreate && last.State == machinev1alpha1.MachineStateSuccessful &&
		time.Since(last.LastUpdateTime.Time) < birthWait
}

// record writes the birth of a machine, and returns false if its node is not initialized yet.
func (b *Births) record(ctx context.Context, m *machinev1alpha1.Machine) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, birthTimeout)
	defer cancel()
	node, err := b.nodes.Nodes().Get(ctx, m.Labels[machinev1alpha1.NodeLabelKey], metav1.GetOptions{})
	if err != nil {
		return false, fmt.Errorf("reading the node: %w", err)
	}
	annotated, ok := node.Annotations[v1alpha1.AnnotationBirthTimes]
	if !ok {
		return false, nil
	}
	profile := b.timesOf(m, node, platform.ParseBirthTimes(annotated)).Profile(m.CreationTimestamp.Time, time.Now())
	if len(profile) == 0 {
		return true, nil
	}
	patch, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: m.UID, ResourceVersion: m.ResourceVersion,
		Annotations: map[string]string{v1alpha1.AnnotationBirthProfile: profile.String()}}})
	if err != nil {
		return false, err
	}
	if _, err := b.machines.MachineV1alpha1().Machines(m.Namespace).Patch(ctx, m.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return false, fmt.Errorf("writing the birth: %w", err)
	}
	platformName := m.Spec.NodeTemplateSpec.Labels[v1alpha1.LabelPlatform]
	for phase, after := range profile {
		BirthDuration.WithLabelValues(siteOf(m), platformName, string(phase)).Observe(after.Seconds())
	}
	b.forget(m.UID)
	return true, nil
}

// timesOf returns when the phases of the birth ended. Only what API servers do not know is from the annotation of the node.
func (b *Births) timesOf(m *machinev1alpha1.Machine, node *corev1.Node, annotated platform.BirthTimes) platform.BirthTimes {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	times := platform.BirthTimes{
		platform.BirthClaimed:     b.claimed[m.UID],
		platform.BirthPowered:     annotated[platform.BirthPowered],
		platform.BirthProvisioned: annotated[platform.BirthProvisioned],
		platform.BirthRegistered:  node.CreationTimestamp.Time,
		platform.BirthInitialized: annotated[platform.BirthInitialized],
	}
	for _, c := range m.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			times[platform.BirthReady] = c.LastTransitionTime.Time
		}
	}
	return times
}

func (b *Births) deleted(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if m, ok := object.(*machinev1alpha1.Machine); ok {
		b.forget(m.UID)
	}
}

func (b *Births) forget(uid types.UID) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.claimed, uid)
}

// stripMachine drops what births do not need, because machine-controller-manager has all Machines in its cache as well.
func stripMachine(object any) (any, error) {
	m, ok := object.(*machinev1alpha1.Machine)
	if !ok {
		return object, nil
	}
	m.ManagedFields, m.OwnerReferences, m.Finalizers = nil, nil, nil
	m.Spec = machinev1alpha1.MachineSpec{NodeTemplateSpec: machinev1alpha1.NodeTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: m.Spec.NodeTemplateSpec.Labels}}}
	m.Status.LastOperation.Description, m.Status.Addresses, m.Status.LastKnownState = "", nil, ""
	m.Status.Conditions = slices.DeleteFunc(m.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeReady })
	return m, nil
}
