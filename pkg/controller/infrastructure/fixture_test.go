// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	testing "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/eventnote"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
)

const (
	namespace = "shoot--local--a"
	networkID = "6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"
)

// fakePlatform makes one network at each site, unless a test says what happens there instead.
type fakePlatform struct {
	reconcile map[string]func(context.Context, *site.Site, platform.Persist) error
	delete    map[string]func(context.Context, *site.Site, platform.Persist) error
	validate  map[string]func(context.Context, platform.ValidationRequest) (platform.Findings, error)
	orphans   map[string]func(context.Context) ([]v1alpha1.Orphan, error)
	egress    map[string][]string

	mutex      sync.Mutex
	deleted    map[string]*v1alpha1.SiteState
	reconciled []string
	validated  []string
}

func newFakePlatform() *fakePlatform {
	return &fakePlatform{
		reconcile: map[string]func(context.Context, *site.Site, platform.Persist) error{},
		delete:    map[string]func(context.Context, *site.Site, platform.Persist) error{},
		validate:  map[string]func(context.Context, platform.ValidationRequest) (platform.Findings, error){},
		orphans:   map[string]func(context.Context) ([]v1alpha1.Orphan, error){},
		egress:    map[string][]string{},
		deleted:   map[string]*v1alpha1.SiteState{},
	}
}

func (f *fakePlatform) Reconcile(ctx context.Context, s *site.Site, persist platform.Persist) (*v1alpha1.SiteStatus, error) {
	f.mutex.Lock()
	f.reconciled = append(f.reconciled, s.Name)
	f.mutex.Unlock()
	if do, ok := f.reconcile[s.Name]; ok {
		if err := do(ctx, s, persist); err != nil {
			return nil, err
		}
	} else if err := persist(ctx, stateOf(s.Name, "network-of-"+s.Name)); err != nil {
		return nil, err
	}
	status := statusFor(s.Name, "network-of-"+s.Name)
	status.EgressCIDRs = f.egress[s.Name]
	return status, nil
}

func (f *fakePlatform) Delete(ctx context.Context, s *site.Site, persist platform.Persist) error {
	if do, ok := f.delete[s.Name]; ok {
		if err := do(ctx, s, persist); err != nil {
			return err
		}
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.deleted[s.Name] = s.State
	return nil
}

func (f *fakePlatform) Validate(ctx context.Context, s *site.Site, request platform.ValidationRequest) (platform.Findings, error) {
	f.mutex.Lock()
	f.validated = append(f.validated, s.Name)
	f.mutex.Unlock()
	if do, ok := f.validate[s.Name]; ok {
		return do(ctx, request)
	}
	return platform.Findings{}, nil
}

func (f *fakePlatform) Checks() []platform.Check { return nil }

// mistakes are findings of mistakes.
func mistakes(problems ...*field.Error) platform.Findings {
	return failures(platform.ClassConfiguration, problems...)
}

// shortages are findings of quotas that do not suffice.
func shortages(problems ...*field.Error) platform.Findings {
	return failures(platform.ClassQuota, problems...)
}

func failures(class platform.Class, problems ...*field.Error) platform.Findings {
	var findings platform.Findings
	for _, problem := range problems {
		findings.Found = append(findings.Found, platform.Finding{
			Check: platform.Check{ID: "cloud-field"}, State: platform.Failed, Class: class, Field: problem.Field, Is: problem.ErrorBody(),
		})
	}
	return findings
}

// warnings are findings that warn.
func warnings(messages ...string) platform.Findings {
	var findings platform.Findings
	for _, message := range messages {
		findings.Found = append(findings.Found, platform.Finding{
			Check: platform.Check{ID: "cloud-room"}, State: platform.Warning, Is: message,
		})
	}
	return findings
}

func (f *fakePlatform) Orphans(ctx context.Context, s *site.Site) ([]v1alpha1.Orphan, error) {
	if do, ok := f.orphans[s.Name]; ok {
		return do(ctx)
	}
	return nil, nil
}

// fail is a site at which everything fails with an error of the class.
func fail(class platform.Class) func(context.Context, *site.Site, platform.Persist) error {
	return func(context.Context, *site.Site, platform.Persist) error { return platform.NewError(class, "refused") }
}

// failWithoutAccess fails as a platform does that cannot log in.
func failWithoutAccess(class platform.Class) func(context.Context, *site.Site, platform.Persist) error {
	return func(context.Context, *site.Site, platform.Persist) error {
		return fmt.Errorf("%w: %w", platform.ErrNoAccess, platform.NewError(class, "refused"))
	}
}

func stateOf(name, network string) *v1alpha1.SiteState {
	return &v1alpha1.SiteState{Name: name, OpenStack: &v1alpha1.OpenStackState{
		Connection: v1alpha1.OpenStackConnection{AuthURL: "https://" + name, EndpointType: "public",
			RequestTimeout: &metav1.Duration{Duration: time.Minute}},
		Network: &v1alpha1.OpenStackObject{ID: network, Managed: true},
	}}
}

func statusFor(name, network string) *v1alpha1.SiteStatus {
	return &v1alpha1.SiteStatus{Name: name, OpenStack: &v1alpha1.OpenStackStatus{NetworkID: network}}
}

// fixture is a shoot with the sites a, b and c.
type fixture struct {
	platform *fakePlatform
	actuator *actuator
	client   client.Client
	recorder *recorder
	clock    *testing.FakeClock
	// objects exist beside the Infrastructure and the Secret.
	objects []client.Object

	profile *v1alpha1.CloudProfileConfig
	config  *v1alpha1.InfrastructureConfig
	infra   *extensionsv1alpha1.Infrastructure
	secret  *corev1.Secret
	cluster *extensionscontroller.Cluster

	// patches counts the writes of the status; patchErr makes them fail.
	patches  int
	patchErr error
}

func newFixture() *fixture {
	f := &fixture{
		clock:    testing.NewFakeClock(time.Now()),
		platform: newFakePlatform(),
		profile:  &v1alpha1.CloudProfileConfig{},
		config:   &v1alpha1.InfrastructureConfig{Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted}},
		secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: namespace},
			Data: map[string][]byte{"a.username": []byte("u")}},
		recorder: &recorder{FakeRecorder: events.NewFakeRecorder(100)},
	}
	for name, nodes := range map[string]string{"a": "10.250.0.0/18", "b": "10.250.64.0/18", "c": "10.250.128.0/18"} {
		f.profile.Sites = append(f.profile.Sites, v1alpha1.CloudProfileSite{
			Name: name, Region: "west",
			OpenStack: &v1alpha1.OpenStackProfile{AuthURL: "https://" + name, Region: "one",
				FloatingPools: []v1alpha1.OpenStackFloatingPool{{Name: "public"}}},
			Zones: []v1alpha1.SiteZone{{Name: name + "-1", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "nova"}}},
		})
		f.config.Sites = append(f.config.Sites, v1alpha1.InfrastructureSite{
			Name: name, Nodes: []string{nodes},
			OpenStack: &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public", Network: &v1alpha1.OpenStackNetwork{ID: networkID}},
		})
	}
	f.order("a", "b", "c")
	f.infra = &extensionsv1alpha1.Infrastructure{
		ObjectMeta: metav1.ObjectMeta{Name: "infra", Namespace: namespace},
		Spec: extensionsv1alpha1.InfrastructureSpec{
			DefaultSpec:  extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType},
			Region:       "west",
			SecretRef:    corev1.SecretReference{Name: f.secret.Name, Namespace: namespace},
			SSHPublicKey: []byte("ssh-rsa AAAA"),
		},
	}
	pods, services := "100.96.0.0/11", "100.64.0.0/13"
	f.cluster = &extensionscontroller.Cluster{
		CloudProfile: &gardencorev1beta1.CloudProfile{},
		Shoot: &gardencorev1beta1.Shoot{
			Spec:   gardencorev1beta1.ShootSpec{Networking: &gardencorev1beta1.Networking{Pods: &pods, Services: &services}},
			Status: gardencorev1beta1.ShootStatus{TechnicalID: namespace},
		},
	}
	return f
}

// order makes the configuration list these sites only, in this order.
func (f *fixture) order(names ...string) {
	byName := map[string]v1alpha1.InfrastructureSite{}
	for _, s := range f.config.Sites {
		byName[s.Name] = s
	}
	f.config.Sites = nil
	for _, name := range names {
		f.config.Sites = append(f.config.Sites, byName[name])
	}
}

// stretch makes the sites parts of one network.
func (f *fixture) stretch() {
	f.config.Networks = v1alpha1.Networks{Topology: v1alpha1.TopologyStretched, Nodes: []string{"10.250.0.0/16"}, Gateway: "10.250.0.1"}
}

func (f *fixture) setState(sites ...*v1alpha1.SiteState) {
	state := &v1alpha1.InfrastructureState{}
	for _, s := range sites {
		state.Sites = append(state.Sites, *s)
	}
	f.infra.Status.State = encode(state)
}

// start creates the objects as they are now. What a test wants to be special is set before.
func (f *fixture) start(ctx context.Context) {
	if f.infra.Spec.ProviderConfig == nil {
		f.infra.Spec.ProviderConfig = encode(f.config)
	}
	if f.cluster.CloudProfile != nil && f.cluster.CloudProfile.Spec.ProviderConfig == nil {
		f.cluster.CloudProfile.Spec.ProviderConfig = encode(f.profile)
	}
	f.client = fake.NewClientBuilder().WithScheme(landscape.Scheme).
		WithObjects(append(f.objects, f.infra, f.secret)...).WithStatusSubresource(f.infra).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, subResource string, obj client.Object, patch client.Patch,
				opts ...client.SubResourcePatchOption) error {
				f.patches++
				if f.patchErr != nil {
					return f.patchErr
				}
				return c.SubResource(subResource).Patch(ctx, obj, patch, opts...)
			},
		}).Build()
	f.actuator = &actuator{
		client:           f.client,
		reader:           f.client,
		events:           eventnote.Writer{EventRecorder: f.recorder},
		clock:            f.clock,
		platforms:        platform.Registry[platform.Infrastructure]{v1alpha1.PlatformOpenStack: f.platform},
		siteTimeout:      time.Minute,
		cutOffTimeout:    time.Minute,
		lookUpTimeout:    time.Minute,
		progressInterval: time.Millisecond,
	}
	Expect(f.client.Get(ctx, client.ObjectKeyFromObject(f.infra), f.infra)).To(Succeed())
}

// stored is the object as the API has it, with what its status holds.
func (f *fixture) stored(ctx context.Context) (*extensionsv1alpha1.Infrastructure, *v1alpha1.InfrastructureState,
	*v1alpha1.InfrastructureStatus) {
	infra := &extensionsv1alpha1.Infrastructure{}
	Expect(f.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "infra"}, infra)).To(Succeed())
	state, err := codec.Decode[v1alpha1.InfrastructureState](infra.Status.State)
	if errors.Is(err, codec.ErrEmpty) {
		state, err = &v1alpha1.InfrastructureState{}, nil
	}
	Expect(err).NotTo(HaveOccurred())
	status, err := codec.Decode[v1alpha1.InfrastructureStatus](infra.Status.ProviderStatus)
	if errors.Is(err, codec.ErrEmpty) {
		status, err = &v1alpha1.InfrastructureStatus{}, nil
	}
	Expect(err).NotTo(HaveOccurred())
	return infra, state, status
}

// recorder makes one event of those with equal types, reasons and actions, as the recorder of client-go does.
type recorder struct {
	*events.FakeRecorder

	seen sync.Map
}

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	if _, isSeen := r.seen.LoadOrStore([3]string{eventType, reason, action}, true); !isSeen {
		r.FakeRecorder.Eventf(regarding, related, eventType, reason, action, note, args...)
	}
}

// events returns the events since the last call.
func (f *fixture) events() []string {
	f.recorder.seen.Clear()
	var events []string
	for len(f.recorder.Events) > 0 {
		events = append(events, <-f.recorder.Events)
	}
	return events
}

// unvalidated returns the sites without their fingerprints.
func unvalidated(status *v1alpha1.InfrastructureStatus) []v1alpha1.SiteStatus {
	var sites []v1alpha1.SiteStatus
	for _, s := range status.Sites {
		s.Validated, s.Reconciled = "", ""
		sites = append(sites, s)
	}
	return sites
}

func encode[T any, P codec.Object[T]](document P) *runtime.RawExtension {
	raw, err := codec.Encode[T](document)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

// conditionsOf returns the conditions without those of preflight checks.
func conditionsOf(infra *extensionsv1alpha1.Infrastructure) []gardencorev1beta1.Condition {
	return slices.DeleteFunc(slices.Clone(infra.Status.Conditions), isPreflight)
}

func isPreflight(condition gardencorev1beta1.Condition) bool {
	return strings.HasPrefix(string(condition.Type), v1alpha1.ConditionSitePreflightPrefix)
}
