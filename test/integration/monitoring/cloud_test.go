// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

// cloud is the site of withoutMachines that is an OpenStack in memory.
const cloud = "cloud"

var (
	// withoutMachines is a shoot without workers.
	withoutMachines *shoot.Shoot
	// cloudProxy is before its OpenStack.
	cloudProxy *countproxy.Proxy
)

// createWithoutMachines creates the shoot without workers.
func createWithoutMachines(ctx context.Context) {
	GinkgoHelper()
	stub, err := openstackstub.New(openstackstub.Settings{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stub.Close)
	cloudProxy, err = countproxy.New(stub.Services()...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cloudProxy.Close)

	withoutMachines = &shoot.Shoot{Name: "shoot--alerts--cloud", Seed: lab.Seed, VCenter: lab.VCenter}
	withoutMachines.Access[0] = openstack.Credentials{Domain: "Default", Project: "alerts", Username: "alerts", Password: "secret"}
	Expect(lab.Seed.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: withoutMachines.Name}})).To(Succeed())
	Expect(withoutMachines.CreateCluster(ctx, func(site *v1alpha1.CloudProfileSite) {
		if site.OpenStack != nil {
			site.OpenStack.AuthURL = cloudProxy.Rewrite(stub.AuthURL())
		}
	})).To(Succeed())
	infrastructure, err := withoutMachines.Infrastructure()
	Expect(err).NotTo(HaveOccurred())
	Expect(lab.Seed.Client.Create(ctx, infrastructure)).To(Succeed())
}

// setCores lets Nova tell how many cores of the quota are in use.
func setCores(used, limit int) error {
	body, err := json.Marshal(map[string]map[string]map[string]int{"limits": {"absolute": {
		"maxTotalCores": limit, "totalCoresUsed": used, "maxTotalInstances": 100, "totalInstancesUsed": 1,
		"maxTotalRAMSize": 1 << 20, "totalRAMUsed": 1 << 10,
	}}})
	if err != nil {
		return err
	}
	return cloudProxy.SetFaults(countproxy.Fault{Service: "nova", Path: "/limits$", Action: countproxy.ActionAnswer,
		Answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}})
}

// changeNetwork changes the network of the zones of the vCenter in the CloudProfile of the shoot without workers.
func changeNetwork(ctx context.Context, network string) error {
	cluster := &extensionsv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: withoutMachines.Name}}
	if err := lab.Seed.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return err
	}
	profile, config := &gardencorev1beta1.CloudProfile{}, &v1alpha1.CloudProfileConfig{}
	if err := json.Unmarshal(cluster.Spec.CloudProfile.Raw, profile); err != nil {
		return err
	}
	if err := json.Unmarshal(profile.Spec.ProviderConfig.Raw, config); err != nil {
		return err
	}
	for _, site := range config.Sites {
		for _, zone := range site.Zones {
			if zone.VSphere != nil {
				zone.VSphere.Network = network
			}
		}
	}
	var err error
	if profile.Spec.ProviderConfig.Raw, err = json.Marshal(config); err != nil {
		return err
	}
	if cluster.Spec.CloudProfile.Raw, err = json.Marshal(profile); err != nil {
		return err
	}
	return lab.Seed.Client.Update(ctx, cluster)
}

// failingBucket is a BackupBucket without a Secret, which is reconciled every second.
type failingBucket struct {
	bucket *extensionsv1alpha1.BackupBucket
	stop   func()
}

// create creates the bucket, and lets it be reconciled until delete.
func (f *failingBucket) create(ctx context.Context) error {
	f.bucket = &extensionsv1alpha1.BackupBucket{
		ObjectMeta: metav1.ObjectMeta{Name: "alerts"},
		Spec: extensionsv1alpha1.BackupBucketSpec{DefaultSpec: extensionsv1alpha1.DefaultSpec{Type: v1alpha1.ProviderType}, Region: "west",
			SecretRef: corev1.SecretReference{Name: "missing", Namespace: "garden"}},
	}
	if err := lab.Seed.Client.Create(ctx, f.bucket); err != nil {
		return err
	}
	repeating, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(repeating, func(ctx context.Context) { _ = askFor(ctx, f.bucket.DeepCopy()) }, time.Second)
	}()
	f.stop = func() {
		cancel()
		<-done
	}
	return nil
}

// delete deletes the bucket without what the extension would do first.
func (f *failingBucket) delete(ctx context.Context) error {
	f.stop()
	if err := lab.Seed.Client.Patch(ctx, f.bucket, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":null,"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`))); err != nil {
		return err
	}
	return client.IgnoreNotFound(lab.Seed.Client.Delete(ctx, f.bucket))
}
