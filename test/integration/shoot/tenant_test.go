// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package shoot_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
)

// tenant is a further shoot in the seed. It has sites and no machines.
type tenant struct {
	// name is the technical ID of the shoot and its namespace.
	name string
	// authURL is where its sites log in.
	authURL string
}

// newTenant creates the namespace of a shoot. What it leaves in OpenStack is swept at the end.
func newTenant(ctx context.Context, authURL string) *tenant {
	t := &tenant{name: "shoot--it--" + rand.String(5), authURL: authURL}
	Expect(seed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.name}})).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for _, inspector := range inspectors {
			Expect(inspector.Sweep(ctx, t.name)).To(Succeed())
		}
	}, NodeTimeout(10*time.Minute))
	return t
}

// example reads the objects of a file in example/ for the tenant.
func (t *tenant) example(file string) []*unstructured.Unstructured {
	objects := example(file)
	for _, object := range objects {
		content, err := json.Marshal(object)
		Expect(err).NotTo(HaveOccurred())
		text := strings.ReplaceAll(string(content), shoot, t.name)
		text = strings.ReplaceAll(text, "http://127.0.0.1:5000/v3", t.authURL)
		Expect(json.Unmarshal([]byte(text), object)).To(Succeed())
	}
	return objects
}

// setUp lets the infrastructure on both sites be made.
func (t *tenant) setUp(ctx context.Context) *extensionsv1alpha1.Infrastructure {
	since := time.Now()
	apply(ctx, t.example("30-cluster.yaml")...)
	setCredentials(ctx, t.name, nil)
	apply(ctx, t.example("30-infrastructure.yaml")...)
	infra := t.infrastructure()
	Expect(finished(ctx, infra, since)).To(Equal(succeeded), "%v", infra.Status.LastError)
	return infra
}

func (t *tenant) infrastructure() *extensionsv1alpha1.Infrastructure {
	return &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: t.name}}
}

// objectsOf returns what the shoot has in a project, as text by ID.
func objectsOf(ctx context.Context, shoot string, inspector *openstack.Client) map[string]string {
	objects, err := inspector.Objects(ctx, shoot)
	Expect(err).NotTo(HaveOccurred())
	result := map[string]string{}
	for _, object := range objects {
		result[object.ID] = object.String()
	}
	return result
}

// setCredentials writes the Secret with the credentials of both projects, with other values for some keys.
func setCredentials(ctx context.Context, namespace string, others map[string]string) {
	data := map[string]string{}
	for i, site := range []string{"cloud", "cloud2"} {
		credentials, err := bed.Credentials(openstack.Projects[i])
		Expect(err).NotTo(HaveOccurred())
		for key, value := range credentials.SiteCredentials() {
			data[site+"."+key] = value
		}
	}
	for key, value := range others {
		data[key] = value
	}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "cloudprovider", "namespace": namespace},
	}}
	for key, value := range data {
		Expect(unstructured.SetNestedField(secret.Object, value, "stringData", key)).To(Succeed())
	}
	apply(ctx, secret)
}

// operate annotates the object with an operation after a change, waits for its end and returns how that was.
func operate(ctx context.Context, infra *extensionsv1alpha1.Infrastructure, operation string,
	change func()) gardencorev1beta1.LastOperationState {
	GinkgoHelper()
	var since time.Time
	Eventually(func() error {
		if err := seed.Client.Get(ctx, client.ObjectKeyFromObject(infra), infra); err != nil {
			return err
		}
		if err := endedJustNow(infra); err != nil {
			return err
		}
		change()
		since = time.Now()
		metav1.SetMetaDataAnnotation(&infra.ObjectMeta, v1beta1constants.GardenerOperation, operation)
		return seed.Client.Update(ctx, infra)
	}).WithContext(ctx).Within(time.Minute).Should(Succeed())
	return finished(ctx, infra, since)
}

// reconcileInfrastructure changes the configuration and lets the object be reconciled.
func reconcileInfrastructure(ctx context.Context, infra *extensionsv1alpha1.Infrastructure,
	change func(*v1alpha1.InfrastructureConfig)) gardencorev1beta1.LastOperationState {
	GinkgoHelper()
	return operate(ctx, infra, v1beta1constants.GardenerOperationReconcile, func() {
		config, err := codec.Decode[v1alpha1.InfrastructureConfig](infra.Spec.ProviderConfig)
		Expect(err).NotTo(HaveOccurred())
		change(config)
		infra.Spec.ProviderConfig, err = codec.Encode(config)
		Expect(err).NotTo(HaveOccurred())
	})
}

// isProbe tells the question whether a site is well, which the extension asks until it knows that the Infrastructure is gone.
func isProbe(r countproxy.Request) bool {
	return r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/limits")
}

// infrastructures watches the Infrastructures of a namespace.
type infrastructures struct {
	client.WithWatch
	namespace string
}

// WatchWithContext implements cache.WatcherWithContext.
func (i infrastructures) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return i.Watch(ctx, &extensionsv1alpha1.InfrastructureList{}, client.InNamespace(i.namespace), &client.ListOptions{Raw: &options})
}

// versionsOf collects the versions of the object from now on. Calling the result waits for that which the object has, ends that and
// returns them. A watch that the API server ends, as it may at any time, is begun again where it ended.
func versionsOf(ctx context.Context, infra *extensionsv1alpha1.Infrastructure) func() []*extensionsv1alpha1.Infrastructure {
	c, err := client.NewWithWatch(seed.Cluster.Config, client.Options{Scheme: landscape.Scheme})
	Expect(err).NotTo(HaveOccurred())
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, infra.ResourceVersion, infrastructures{c, infra.Namespace})
	Expect(err).NotTo(HaveOccurred())
	var (
		group    sync.WaitGroup
		mutex    sync.Mutex
		versions []*extensionsv1alpha1.Infrastructure
	)
	group.Go(func() {
		for event := range watcher.ResultChan() {
			if version, ok := event.Object.(*extensionsv1alpha1.Infrastructure); ok && version.Name == infra.Name {
				mutex.Lock()
				versions = append(versions, version)
				mutex.Unlock()
			}
		}
	})
	collected := func() []*extensionsv1alpha1.Infrastructure {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(versions)
	}
	return func() []*extensionsv1alpha1.Infrastructure {
		Eventually(collected).WithContext(ctx).Within(time.Minute).Should(ContainElement(HaveField("ResourceVersion", infra.ResourceVersion)))
		watcher.Stop()
		group.Wait()
		return versions
	}
}

func providerStatus(infra *extensionsv1alpha1.Infrastructure) *v1alpha1.InfrastructureStatus {
	GinkgoHelper()
	status, err := codec.Decode[v1alpha1.InfrastructureStatus](infra.Status.ProviderStatus)
	Expect(err).NotTo(HaveOccurred())
	return status
}

func stateOf(infra *extensionsv1alpha1.Infrastructure) *v1alpha1.InfrastructureState {
	GinkgoHelper()
	state, err := codec.Decode[v1alpha1.InfrastructureState](infra.Status.State)
	Expect(err).NotTo(HaveOccurred())
	return state
}

// notes returns the notes of the events in the namespace that have the reason.
func notes(ctx context.Context, namespace, reason string) []string {
	list := &eventsv1.EventList{}
	Expect(seed.Client.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	var notes []string
	for _, event := range list.Items {
		if event.Reason == reason {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

// withValidated returns the status with the fingerprints of another.
func withValidated(status, other *v1alpha1.InfrastructureStatus) *v1alpha1.InfrastructureStatus {
	for i := range status.Sites {
		status.Sites[i].Validated = other.Sites[i].Validated
	}
	return status
}
