// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	metalclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/inventories"
	metalmachines "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/metal/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	cloudControllerManager = "cloud-controller-manager-hybrid"
	// ccmMachines is how many machines each site has from the start, further ones are for the sites that are well while another hangs.
	ccmMachines, ccmFurther = 4, 8
	// ccmGuest is how long a virtual machine takes until it has an address.
	ccmGuest = 100 * time.Millisecond
)

// cloudControllers is a cloud-controller-manager with a site of each platform, and machines without nodes.
type cloudControllers struct {
	*lab

	cloud   *Bed
	vc      *vsphereSite
	metal   *metalSite
	process *landscape.Process
	// joining are the nodes of the machines by site, of the first machines and of the further ones.
	joining, further map[string][]joining
}

// newCloudControllers starts kube-apiserver, the sites and the cloud-controller-manager.
func newCloudControllers(ctx context.Context, b *Bed) (*cloudControllers, error) {
	c := &cloudControllers{joining: map[string][]joining{}, further: map[string][]joining{}}
	if err := c.start(ctx, b); err != nil {
		return nil, errors.Join(err, c.close(ctx))
	}
	return c, nil
}

func (c *cloudControllers) start(ctx context.Context, b *Bed) (err error) {
	if c.cloud, err = b.another(ctx); err != nil {
		return err
	}
	if err := c.cloud.prepare(ctx); err != nil {
		return err
	}
	if c.lab, err = newLab(ctx, b.progress, c.cloud.shoot); err != nil {
		return err
	}
	fmt.Fprintln(b.progress, "  start a vCenter and an inventory")
	if c.vc, err = newVSphereSiteOf(ctx, c.namespace, vcenter.Options{Guest: ccmGuest}); err != nil {
		return err
	}
	if c.metal, err = newMetalSite(ctx, c.namespace); err != nil {
		return err
	}
	if err := c.metal.makeHosts(ctx, ccmMachines+ccmFurther); err != nil {
		return err
	}
	fmt.Fprintln(b.progress, "  create machines")
	if err := errors.Join(c.createServers(ctx), c.createVirtualMachines(ctx), c.claimHosts(ctx)); err != nil {
		return err
	}
	return c.run()
}

// createServers makes the first machines of the cloud, and names those that further nodes say they are: nobody can ask for them.
func (c *cloudControllers) createServers(ctx context.Context) error {
	requests, err := c.cloud.machineRequests(ctx)
	if err != nil {
		return err
	}
	for i, request := range requests {
		if err := c.cloud.createMachine(ctx, request); err != nil {
			return err
		}
		servers, err := c.cloud.inspector.Servers(ctx, request.Name)
		if err != nil {
			return err
		}
		for id := range servers {
			c.joining[siteName] = append(c.joining[siteName], joining{name: request.Name, systemUUID: id})
		}
		c.further[siteName] = append(c.further[siteName], joining{name: fmt.Sprintf("%s-waiting-%d", c.namespace, i)})
	}
	return nil
}

func (c *cloudControllers) createVirtualMachines(ctx context.Context) error {
	for i := range ccmMachines + ccmFurther {
		request := c.vc.request(fmt.Sprintf("vm-%d", i))
		if err := c.vc.create(ctx, &request); err != nil {
			return err
		}
		c.add(vsphereSiteName, i, joining{name: request.Name, systemUUID: path.Base(request.ProviderID)})
	}
	return nil
}

func (c *cloudControllers) claimHosts(ctx context.Context) error {
	sessions := metalclient.NewSessions()
	defer sessions.Close()
	machines := metalmachines.New(sessions, inventories.Open)
	for i := range ccmMachines + ccmFurther {
		request := platform.MachineRequest{
			Name: fmt.Sprintf("%s-host-%d", c.namespace,
				i), Spec: c.metal.spec, Credentials: c.metal.site.Credentials, UserData: []byte("#cloud-config\n"),
		}
		if _, err := machines.Create(ctx, request); err != nil {
			return err
		}
		c.add(metalSiteName, i, joining{name: request.Name, address: fmt.Sprintf("10.250.64.%d", i+1)})
	}
	return nil
}

func (c *cloudControllers) add(site string, number int, node joining) {
	if number < ccmMachines {
		c.joining[site] = append(c.joining[site], node)
	} else {
		c.further[site] = append(c.further[site], node)
	}
}

// run starts the cloud-controller-manager with the arguments that the chart has, apart from certificates.
func (c *cloudControllers) run() error {
	config, credentials, err := c.config()
	if err != nil {
		return err
	}
	folder := filepath.Join(c.dir, "credentials")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for key, value := range credentials {
		if err := os.WriteFile(filepath.Join(folder, key), []byte(value), 0o600); err != nil {
			return err
		}
	}
	raw, err := codec.Encode(config)
	if err != nil {
		return err
	}
	file := filepath.Join(c.dir, "config.yaml")
	if err := os.WriteFile(file, raw.Raw, 0o600); err != nil {
		return err
	}
	c.process = &landscape.Process{
		Name: cloudControllerManager, Path: filepath.Join(c.dir, cloudControllerManager), LogFile: filepath.Join(c.dir, "logs",
			cloudControllerManager+".log"),
		Args: []string{
			"--cloud-config=" + file, "--credentials-directory=" + folder, "--kubeconfig=" + c.Cluster.Kubeconfig,
			"--leader-elect-resource-namespace=kube-system", "--concurrent-service-syncs=10", "--bind-address=127.0.0.1", "--secure-port=0", "--v=2",
		},
	}
	return c.process.Start()
}

// config is what the extension would make for the sites, and the credentials by the keys that they have in the shoot's Secret.
func (c *cloudControllers) config() (*v1alpha1.CloudControllerManagerConfiguration, map[string]string, error) {
	config := &v1alpha1.CloudControllerManagerConfiguration{Shoot: c.namespace, Region: "west", DefaultSite: siteName}
	credentials, registry := map[string]string{}, extension.ControlPlanes()
	for _, s := range []platform.ControlPlaneSite{
		{Site: c.cloud.site, Status: c.cloud.status},
		{Site: c.vc.site, Status: c.vc.status},
		{Site: c.metal.site, Status: &v1alpha1.SiteStatus{Name: metalSiteName, Metal: &v1alpha1.MetalStatus{}}},
	} {
		part, err := registry.For(s.Site.Platform)
		if err != nil {
			return nil, nil, err
		}
		controller, err := part.CloudController(s)
		if err != nil {
			return nil, nil, err
		}
		config.Sites = append(config.Sites, *controller)
		for key, value := range s.Site.Credentials {
			credentials[s.Site.Name+"."+key] = value
		}
	}
	v1alpha1.SetCloudControllerManagerConfigurationDefaults(config)
	return config, credentials, nil
}

// close removes everything that was made and stops what was started.
func (c *cloudControllers) close(ctx context.Context) error {
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	var errs []error
	if c.process != nil {
		errs = append(errs, c.process.Check())
		c.process.Stop(cleanup)
	}
	if c.lab != nil {
		c.lab.close()
	}
	if c.metal != nil {
		errs = append(errs, c.metal.close())
	}
	if c.vc != nil {
		errs = append(errs, c.vc.close())
	}
	if c.cloud != nil {
		errs = append(errs, c.cloud.close(cleanup))
	}
	return errors.Join(errs...)
}

// all are the nodes of several sites.
func all(nodes map[string][]joining, sites ...string) map[string][]joining {
	result := map[string][]joining{}
	for site, list := range nodes {
		if slices.Contains(sites, site) {
			result[site] = list
		}
	}
	return result
}
