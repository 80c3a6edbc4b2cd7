// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/controller/sitehealth"
	"github.com/gardener/gardener-extension-provider-hybrid/test/countproxy"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/metal"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/pki"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	shootName = "shoot--local--hybrid"

	vcenterService = "vcenter"
	look           = 500 * time.Millisecond
)

// lab is a shoot with machines on all sites.
type lab struct {
	dir      string
	progress io.Writer
	// binaries is the folder with our executables, and metrics the URL of the extension's metrics.
	binaries, metrics string

	bed       *openstack.Bed
	ownBed    bool
	project   *openstack.Project
	server    *vcenter.VCenter
	inventory *metal.Inventory
	proxy     *countproxy.Proxy
	authority string
	shoot     *shoot.Shoot
}

// work is the folder in which commands run.
func (l *lab) work() string { return filepath.Join(l.dir, "work") }

// start starts the landscape and creates the shoot.
func (l *lab) start(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"build our executables", l.build},
		{"start OpenStack, unless it runs", l.startOpenStack},
		{"start a vCenter", l.startVCenter},
		{"start an inventory with hosts", l.startInventory},
		{"start a seed", l.startSeed},
		{"create a shoot", l.createShoot},
		{"write manifests", l.writeManifests},
	} {
		fmt.Fprintf(l.progress, "> %s\n", step.what)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// stop ends what start started.
func (l *lab) stop(ctx context.Context) error {
	var errs []error
	if l.shoot != nil {
		l.shoot.Stop()
		errs = append(errs, l.shoot.Sweep(ctx))
	}
	if l.inventory != nil {
		l.inventory.Stop()
	}
	if l.proxy != nil {
		errs = append(errs, l.proxy.Close())
	}
	if l.server != nil {
		l.server.Stop(ctx)
	}
	if l.project != nil {
		errs = append(errs, l.project.Delete(ctx))
	}
	if l.ownBed {
		errs = append(errs, l.bed.Stop(ctx, l.progress))
	}
	return errors.Join(errs...)
}

// folder makes a folder for data.
func (l *lab) folder(name string) (string, error) {
	path := filepath.Join(l.dir, name)
	return path, os.Mkdir(path, 0o750)
}

func (l *lab) build(ctx context.Context) error {
	dir, err := l.folder("binaries")
	if err != nil {
		return err
	}
	l.binaries, err = landscape.BuildOwn(ctx, dir, l.progress, "./cmd/...")
	return err
}

func (l *lab) startOpenStack(ctx context.Context) (err error) {
	if l.bed, err = openstack.NewBed(); err != nil {
		return err
	}
	if l.ownBed, err = l.bed.Start(ctx, l.progress); err != nil {
		return err
	}
	l.project, err = l.bed.NewProject(ctx, "pictures-"+rand.String(5), rand.String(20))
	return err
}

// startVCenter starts a vCenter and a proxy in front of it, which can be taken down.
func (l *lab) startVCenter(ctx context.Context) error {
	dir, err := l.folder("vcenter")
	if err != nil {
		return err
	}
	if l.server, err = vcenter.Start(ctx, dir, vcenter.Options{Guest: time.Second}); err != nil {
		return err
	}
	authority, err := pki.NewAuthority()
	if err != nil {
		return err
	}
	pair, err := authority.Server("proxy")
	if err != nil {
		return err
	}
	l.authority = authority.PEM
	l.proxy, err = countproxy.New(countproxy.Service{Name: vcenterService, Upstream: "https://" + l.server.Address, CA: l.server.CA,
		Certificate: pair.Certificate, Key: pair.Key})
	return err
}

func (l *lab) startInventory(ctx context.Context) error {
	dir, err := l.folder("inventory")
	if err != nil {
		return err
	}
	if l.inventory, err = metal.Start(ctx, metal.Options{Dir: dir, Metal3: true, IronCore: true, IPAM: true}); err != nil {
		return err
	}
	if err := l.inventory.Grant(ctx); err != nil {
		return err
	}
	if err := l.inventory.MakePool(ctx,
		metal.Pool{Name: "racks", Addresses: []string{"10.250.8.10-10.250.11.250"}, Prefix: 22, Gateway: "10.250.8.1"}); err != nil {
		return err
	}
	for _, batch := range []metal.Batch{
		{Prefix: "rack-1-s", Count: 3, Labels: map[string]string{"rack": "r1", "size": "s"}},
		{Prefix: "rack-1-l", Count: 3, Labels: map[string]string{"rack": "r1", "size": "l"}},
	} {
		if _, err := l.inventory.MakeHosts(ctx, batch); err != nil {
			return err
		}
	}
	_, err = l.inventory.MakeServers(ctx, metal.Batch{Prefix: "hall-1-s", Count: 3, Labels: map[string]string{"hall": "h1", "size": "s"}})
	return err
}

func (l *lab) startSeed(ctx context.Context) error {
	dir, err := l.folder("seed")
	if err != nil {
		return err
	}
	ports, err := landscape.FreePorts(1)
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	l.metrics = "http://" + address + "/metrics"
	l.shoot, err = shoot.Start(ctx, shoot.Options{
		Name: shootName, Dir: dir, Bed: l.bed, Project: l.project, VCenter: l.server, Inventory: l.inventory,
		Binaries:      landscape.DefaultBinaries().WithOwn(l.binaries),
		ExtensionArgs: []string{"--site-probe-interval=5s", "--metrics-bind-address=" + address},
	})
	return err
}

// createShoot creates the Infrastructure and the Worker as gardenlet does, and waits until they are reconciled.
func (l *lab) createShoot(ctx context.Context) error {
	if err := l.shoot.CreateCluster(ctx, func(site *v1alpha1.CloudProfileSite) {
		if site.VSphere != nil {
			site.VSphere.Server, site.TLS = l.proxy.URL(vcenterService), &v1alpha1.TLS{CACert: l.authority}
		}
	}); err != nil {
		return err
	}
	if err := l.keepFirstPool(ctx); err != nil {
		return err
	}
	infrastructure, err := l.shoot.Infrastructure()
	if err != nil {
		return err
	}
	if err := l.shoot.Create(ctx, infrastructure); err != nil {
		return err
	}
	worker, err := l.shoot.Worker(infrastructure)
	if err != nil {
		return err
	}
	worker.Spec.Pools = worker.Spec.Pools[:1]
	return l.shoot.Create(ctx, worker)
}

// keepFirstPool drops the other pools of the Shoot: played hosts have less than their machine type.
func (l *lab) keepFirstPool(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	if err := l.shoot.Seed.Client.Get(ctx, client.ObjectKey{Name: shootName}, cluster); err != nil {
		return err
	}
	kept := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, kept); err != nil {
		return err
	}
	kept.Spec.Provider.Workers = kept.Spec.Provider.Workers[:1]
	content, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	cluster.Spec.Shoot = runtime.RawExtension{Raw: content}
	return l.shoot.Seed.Client.Update(ctx, cluster)
}

// writeManifests writes what users of hybridctl have.
func (l *lab) writeManifests(ctx context.Context) error {
	work, err := l.folder("work")
	if err != nil {
		return err
	}
	cluster, err := extensionscontroller.GetCluster(ctx, l.shoot.Seed.Client, shootName)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := l.shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: shootName, Name: v1beta1constants.SecretNameCloudProvider},
		secret); err != nil {
		return err
	}
	given := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "sites", Namespace: cluster.Shoot.Namespace}, Data: secret.Data}
	another := cluster.Shoot.DeepCopy()
	another.Name, another.Status = "another", gardencorev1beta1.ShootStatus{}
	for name, object := range map[string]client.Object{"cloudprofile.yaml": cluster.CloudProfile, "shoot.yaml": cluster.Shoot,
		"another.yaml": another, "secret.yaml": given} {
		content, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(work, name), content, 0o600); err != nil {
			return err
		}
	}
	return os.Symlink(l.shoot.Seed.Cluster.Kubeconfig, filepath.Join(work, "seed.kubeconfig"))
}

// takeDownVCenter lets the vCenter refuse connections, and waits until the extension has noticed it.
func (l *lab) takeDownVCenter(ctx context.Context) error {
	if err := l.proxy.TakeDown(vcenterService); err != nil {
		return err
	}
	infrastructure := &extensionsv1alpha1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "hybrid", Namespace: shootName}}
	return wait.PollUntilContextCancel(ctx, look, true, func(ctx context.Context) (bool, error) {
		err := l.shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure)
		condition := v1beta1helper.GetCondition(infrastructure.Status.Conditions,
			gardencorev1beta1.ConditionType(sitehealth.ConditionPrefix+shoot.VSphereSite))
		return condition != nil && condition.Reason == sitehealth.ReasonUnreachable, err
	})
}
