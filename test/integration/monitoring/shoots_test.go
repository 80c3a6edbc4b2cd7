// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/test/partitions"
)

const (
	vc, racks, hall = partitions.SiteVSphere, partitions.SiteMetal3, partitions.SiteIronCore
)

// The names of the shoots say what goes wrong with them.
const (
	down         = "down"
	unreachable  = "api"
	unauthorized = "auth"
	cut          = "cut"
	full         = "full"
	hosts        = "host"
)

// sizes are the machines of the shoots at their sites. Each has as many hosts and one more.
var sizes = map[string]map[string]int{
	down:         {vc: 1, racks: 1},
	unreachable:  {hall: 1},
	unauthorized: {vc: 1},
	cut:          {racks: 2},
	full:         {racks: 1},
	hosts:        {racks: 1},
}

// createShoots creates all shoots at the same time.
func createShoots(ctx context.Context) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, creation)
	defer cancel()
	var (
		group sync.WaitGroup
		mutex sync.Mutex
	)
	for name, machines := range sizes {
		group.Go(func() {
			defer GinkgoRecover()
			s, err := lab.NewShoot(ctx, partitions.ShootOptions{
				Name: name, Machines: machines, Health: 30 * time.Second, Creation: 5 * time.Minute,
				Quarantine: v1alpha1.Quarantine{Window: &metav1.Duration{Duration: time.Minute}},
			})
			Expect(err).NotTo(HaveOccurred())
			mutex.Lock()
			defer mutex.Unlock()
			shoots[name] = s
		})
	}
	group.Wait()
	Expect(slices.Collect(maps.Keys(shoots))).To(HaveLen(len(sizes)), "all shoots are created")
}

// setPassword sets the password of a vCenter in the Secret of a shoot.
func setPassword(ctx context.Context, s *partitions.Shoot, password string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudprovider", Namespace: s.Name}}
	patch := fmt.Sprintf(`{"stringData":{%q:%q}}`, vc+".password", password)
	return s.Seed.Client.Patch(ctx, secret, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// reconcile asks for a reconciliation of the Infrastructure of a shoot, as gardenlet does.
func reconcile(ctx context.Context, s *partitions.Shoot) error {
	infrastructures := &extensionsv1alpha1.InfrastructureList{}
	if err := s.Seed.Client.List(ctx, infrastructures, client.InNamespace(s.Name)); err != nil {
		return err
	}
	return askFor(ctx, &infrastructures.Items[0])
}

// askFor asks for a reconciliation of an object.
func askFor(ctx context.Context, object client.Object) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1beta1constants.GardenerOperation,
		v1beta1constants.GardenerOperationReconcile)
	return lab.Seed.Client.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

// hostOf is a host of a shoot at racks that is in use, or one that is not.
func hostOf(ctx context.Context, shoot string, used bool) (string, error) {
	all, err := lab.Inventory.Hosts(ctx)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "m3-"+shoot+"-") && (all[name].Consumer != "") == used {
			return name, nil
		}
	}
	return "", fmt.Errorf("shoot %s has no such host", shoot)
}
