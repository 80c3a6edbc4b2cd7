// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package sitefaults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// VCenterService and InventoryService are the services of the proxy before the other sites than those of OpenStack.
	VCenterService   = "vcenter"
	InventoryService = "inventory"

	look = 200 * time.Millisecond
)

// Options say what a lab is made of.
type Options struct {
	// Dir is the folder for data, keys and logs.
	Dir string
	// Bed is the OpenStack, which runs. The lab has a project of its own in it.
	Bed *openstack.Bed
	// Binaries are the executables.
	Binaries landscape.Binaries
	// Progress gets lines about what is done.
	Progress io.Writer
	// ProbeInterval is how often sites are asked; that of the product if it is zero.
	ProbeInterval time.Duration
}

// Lab is a shoot whose Infrastructure nobody reconciles, so that nobody asks the sites but who wants to know how they are.
type Lab struct {
	// Shoot has the processes.
	Shoot *shoot.Shoot
	// Metrics is the URL of the extension's metrics.
	Metrics string
	// Infrastructure is the object that is written about.
	Infrastructure *extensionsv1alpha1.Infrastructure

	FarEnds

	server *vcenter.VCenter
}

// Start starts the lab and waits until all sites are well. Stop ends what was started, also after an error.
func Start(ctx context.Context, o Options) (*Lab, error) {
	l := &Lab{}
	l.SetCredentials = l.setCredentials
	return l, l.start(ctx, o)
}

func (l *Lab) start(ctx context.Context, o Options) (err error) {
	name, dirs := "shoot--sites--"+rand.String(5), map[string]string{}
	for _, part := range []string{"vcenter", "inventory", "seed"} {
		dirs[part] = filepath.Join(o.Dir, part)
		if err := os.Mkdir(dirs[part], 0o750); err != nil {
			return err
		}
	}
	if l.Project, err = o.Bed.NewProject(ctx, name, rand.String(20)); err != nil {
		return err
	}
	if l.Cloud, err = countproxy.New(openstack.Services()...); err != nil {
		return err
	}
	fmt.Fprintln(o.Progress, "  start a vCenter and an inventory")
	if l.server, err = vcenter.Start(ctx, dirs["vcenter"], vcenter.Options{}); err != nil {
		return err
	}
	if l.Inventory, err = metal.Start(ctx, metal.Options{Dir: dirs["inventory"], Metal3: true, IronCore: true}); err != nil {
		return err
	}
	if err := l.Inventory.Grant(ctx); err != nil {
		return err
	}
	authority, err := l.startProxy()
	if err != nil {
		return err
	}

	fmt.Fprintln(o.Progress, "  start a seed")
	interval := cmp.Or(o.ProbeInterval, sitehealth.DefaultProbeInterval)
	ports, err := landscape.FreePorts(1)
	if err != nil {
		return err
	}
	metrics := "127.0.0.1:" + strconv.Itoa(ports[0])
	l.Metrics = "http://" + metrics + "/metrics"
	l.Shoot, err = shoot.Start(ctx, shoot.Options{
		Name: name, Dir: dirs["seed"], Bed: o.Bed, VCenter: l.server, Inventory: l.Inventory, Binaries: o.Binaries,
		ExtensionArgs: []string{"--disable-controllers=infrastructure", "--site-probe-interval=" + interval.String(),
			"--metrics-bind-address=" + metrics},
	})
	if err != nil {
		return err
	}
	authURL := l.Cloud.Rewrite(l.Project.Credentials.AuthURL)
	if err := l.Shoot.CreateCluster(ctx, func(site *v1alpha1.CloudProfileSite) {
		switch {
		case site.OpenStack != nil:
			site.OpenStack.AuthURL = authURL
		case site.VSphere != nil:
			site.VSphere.Server, site.TLS = l.Others.URL(VCenterService), &v1alpha1.TLS{CACert: authority}
		case site.Metal != nil:
			site.Metal.Server, site.TLS = l.Others.URL(InventoryService), &v1alpha1.TLS{CACert: authority}
		}
	}); err != nil {
		return err
	}
	own := map[string]string{}
	for key, value := range l.Project.Credentials.SiteCredentials() {
		own[shoot.Sites[0]+"."+key] = value
	}
	if err := l.SetCredentials(ctx, own); err != nil {
		return err
	}
	if l.Infrastructure, err = l.Shoot.Infrastructure(); err != nil {
		return err
	}
	if err := l.Shoot.Seed.Client.Create(ctx, l.Infrastructure); err != nil {
		return err
	}
	for _, site := range Sites() {
		if _, err := l.Await(ctx, site, sitehealth.ReasonAvailable); err != nil {
			return err
		}
	}
	return nil
}

// startProxy starts the proxy before vCenter and inventory and returns the authority that its certificates are trusted with.
func (l *Lab) startProxy() (string, error) {
	authority, err := pki.NewAuthority()
	if err != nil {
		return "", err
	}
	pair, err := authority.Server("proxy")
	if err != nil {
		return "", err
	}
	l.Others, err = countproxy.New(
		countproxy.Service{Name: VCenterService, Upstream: "https://" + l.server.Address, CA: l.server.CA, Certificate: pair.Certificate,
			Key: pair.Key},
		countproxy.Service{Name: InventoryService, Upstream: l.Inventory.Server(), CA: l.Inventory.CA(), Certificate: pair.Certificate,
			Key: pair.Key},
	)
	return authority.PEM, err
}

// Stop ends what Start started.
func (l *Lab) Stop(ctx context.Context) error {
	if l.Shoot != nil {
		l.Shoot.Stop()
	}
	if l.Inventory != nil {
		l.Inventory.Stop()
	}
	if l.server != nil {
		l.server.Stop(ctx)
	}
	var errs []error
	for _, proxy := range []*countproxy.Proxy{l.Cloud, l.Others} {
		if proxy != nil {
			errs = append(errs, proxy.Close())
		}
	}
	if l.Project != nil {
		errs = append(errs, l.Project.Delete(ctx))
	}
	return errors.Join(errs...)
}

// Sites are the sites of the shoot. The first is its default site.
func Sites() []string {
	return append([]string{shoot.Sites[0], shoot.VSphereSite}, shoot.MetalSites[:]...)
}

func (l *Lab) setCredentials(ctx context.Context, entries map[string]string) error {
	secret := &corev1.Secret{}
	if err := l.Shoot.Seed.Client.Get(ctx, client.ObjectKey{Namespace: l.Shoot.Name, Name: "cloudprovider"}, secret); err != nil {
		return err
	}
	for key, value := range entries {
		secret.Data[key] = []byte(value)
	}
	return l.Shoot.Seed.Client.Update(ctx, secret)
}

// Condition returns a condition of the Infrastructure, nil if there is none of the type.
func (l *Lab) Condition(ctx context.Context, conditionType gardencorev1beta1.ConditionType) (*gardencorev1beta1.Condition, error) {
	infra := &extensionsv1alpha1.Infrastructure{}
	if err := l.Shoot.Seed.Client.Get(ctx, client.ObjectKeyFromObject(l.Infrastructure), infra); err != nil {
		return nil, err
	}
	return v1beta1helper.GetCondition(infra.Status.Conditions, conditionType), nil
}

// told is how long it takes at most until a site's condition reports a fault, or its end: a minute, as is documented, and the probe
// before it.
const told = 75 * time.Second

// ConditionOf is the type of the condition of a site that has the reason.
func ConditionOf(site, reason string) gardencorev1beta1.ConditionType {
	prefix := sitehealth.ConditionPrefix
	if slices.Contains([]string{sitehealth.ReasonHasRoom, sitehealth.ReasonQuota, sitehealth.ReasonExhausted}, reason) {
		prefix = sitehealth.RoomConditionPrefix
	}
	return gardencorev1beta1.ConditionType(prefix + site)
}

// Await waits until the condition of a site has the reason, and returns how long that took.
func (l *Lab) Await(ctx context.Context, site, reason string) (time.Duration, error) {
	start, last := time.Now(), &gardencorev1beta1.Condition{}
	err := wait.PollUntilContextTimeout(ctx, look, told, true, func(ctx context.Context) (bool, error) {
		condition, err := l.Condition(ctx, ConditionOf(site, reason))
		if err != nil || condition == nil {
			return false, err
		}
		last = condition
		return last.Reason == reason, nil
	})
	if err != nil {
		return 0, fmt.Errorf("the condition of site %q has the reason %q (%s) and not %q: %w", site, last.Reason, last.Message, reason, err)
	}
	return time.Since(start), nil
}

// Requests lets some time pass and returns the requests that reached each site meanwhile.
func (l *Lab) Requests(ctx context.Context, during time.Duration) (map[string][]countproxy.Request, error) {
	const label = "counted"
	for _, proxy := range []*countproxy.Proxy{l.Cloud, l.Others} {
		proxy.SetLabel(label)
		defer proxy.SetLabel("")
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(during):
	}
	found := map[string][]countproxy.Request{shoot.Sites[0]: l.Cloud.Requests(label)}
	for _, request := range l.Others.Requests(label) {
		site := shoot.MetalSites[0]
		switch {
		case request.Service == VCenterService:
			site = shoot.VSphereSite
		case slices.Contains(ironCoreResources, resourceOf(request)):
			site = shoot.MetalSites[1]
		}
		found[site] = append(found[site], request)
	}
	return found, nil
}
