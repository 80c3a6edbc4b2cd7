// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/infrastructure"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const (
	vsphereSiteName = "vc"
	vsphereShoot    = "shoot--bench--vc"
	vsphereNote     = "simulated vCenter"

	vsphereDatacenter = "DC0"
	vsphereCPUs       = 4
	vsphereMemory     = "8Gi"
	vsphereRootGiB    = 25
)

// vsphereSite is a site on a simulated vCenter of its own, and the product's code that works on it.
type vsphereSite struct {
	server    *vcenter.VCenter
	inspector *vim25.Client
	dir       string
	counter   *counter
	shoot     string

	sessions *client.Sessions
	machines platform.Machines
	site     *site.Site
	status   *v1alpha1.SiteStatus
	spec     *v1alpha1.MachineProviderSpec
}

// newVSphereSite starts a vCenter, makes the infrastructure of a shoot that has only this site and resolves a machine class.
func newVSphereSite(ctx context.Context, options vcenter.Options) (*vsphereSite, error) {
	return newVSphereSiteOf(ctx, vsphereShoot, options)
}

// newVSphereSiteOf does the same for a shoot that has other sites, too.
func newVSphereSiteOf(ctx context.Context, shoot string, options vcenter.Options) (s *vsphereSite, err error) {
	s = &vsphereSite{shoot: shoot}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	if s.counter, err = newCounter(); err != nil {
		return nil, err
	}
	if s.server, err = vcenter.Start(ctx, s.dir, options); err != nil {
		return nil, err
	}
	if s.inspector, err = s.server.Client(ctx); err != nil {
		return nil, err
	}
	s.site = s.newSite()
	s.restart()
	return s, s.prepare(ctx)
}

// newSite is a site with one zone.
func (s *vsphereSite) newSite() *site.Site {
	return &site.Site{
		Name:     vsphereSiteName,
		Platform: v1alpha1.PlatformVSphere,
		Shoot:    s.shoot,
		Profile: &v1alpha1.CloudProfileSite{
			Name:    vsphereSiteName,
			Region:  "west",
			TLS:     &v1alpha1.TLS{CACert: s.server.CA},
			VSphere: &v1alpha1.VSphereProfile{Server: "https://" + s.server.Address, Datacenter: vsphereDatacenter},
			Zones: []v1alpha1.SiteZone{{Name: "vc-a", VSphere: &v1alpha1.VSphereZone{
				ComputeCluster: vsphereDatacenter + "_C0", Datastore: "LocalDS_0", Network: vsphereDatacenter + "_DVPG0",
			}}},
		},
		Config:      &v1alpha1.InfrastructureSite{Name: vsphereSiteName},
		Credentials: site.Credentials{"username": vcenter.Username, "password": vcenter.Password},
	}
}

// restart forgets all sessions and what they know, as a new process has none.
func (s *vsphereSite) restart() {
	if s.sessions != nil {
		s.sessions.Close()
	}
	s.sessions = client.NewSessions(client.Intervals{Idle: time.Hour, KeepAlive: time.Hour})
	s.machines = machines.New(s.sessions)
}

func (s *vsphereSite) prepare(ctx context.Context) error {
	status, err := infrastructure.New(s.sessions).Reconcile(ctx, s.site, func(_ context.Context, state *v1alpha1.SiteState) error {
		s.site.State = state.DeepCopy()
		return nil
	})
	if err != nil {
		return err
	}
	s.status = status
	s.spec = &v1alpha1.MachineProviderSpec{Site: vsphereSiteName, Shoot: s.shoot}
	return machineclasses.New(s.sessions).Resolve(ctx, platform.MachineClassRequest{
		Site:        s.site,
		Status:      status,
		Zone:        &s.site.Profile.Zones[0],
		MachineType: &v1alpha1.SiteMachineType{Name: vsphereSiteName, VSphere: &v1alpha1.VSphereMachineType{}},
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(vsphereCPUs, resource.DecimalSI), corev1.ResourceMemory: resource.MustParse(vsphereMemory),
		},
		Image:      &v1alpha1.SiteMachineImage{Name: vsphereSiteName, VSphere: &v1alpha1.VSphereImage{Template: vcenter.Template}},
		VolumeSize: vsphereRootGiB,
		Pool:       poolName,
	}, s.spec)
}

func (s *vsphereSite) close() error {
	if s.sessions != nil {
		s.sessions.Close()
	}
	var err error
	if s.server != nil {
		err = s.server.Check()
		s.server.Stop(context.Background())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// request is for a machine with the name.
func (s *vsphereSite) request(name string) platform.MachineRequest {
	return platform.MachineRequest{
		Name:        s.shoot + "-" + name,
		Spec:        s.spec,
		Credentials: s.site.Credentials,
		UserData:    []byte("#cloud-config\n"),
	}
}

// create makes a machine as machine-controller-manager does: it asks for it first. The request has the machine's ID afterwards.
func (s *vsphereSite) create(ctx context.Context, request *platform.MachineRequest) error {
	_, err := s.machines.Get(ctx, *request)
	if err == nil {
		return fmt.Errorf("machine %s exists before it is created", request.Name)
	}
	if platform.ClassOf(err) != platform.ClassNotFound {
		return err
	}
	created, err := s.machines.Create(ctx, *request)
	if err != nil {
		return err
	}
	request.ProviderID = created.ProviderID
	if err := s.machines.Initialize(ctx, *request); err != nil {
		return err
	}
	found, err := object.NewSearchIndex(s.inspector).FindByInventoryPath(ctx, s.spec.VSphere.FolderPath+"/"+request.Name)
	if err != nil || found == nil {
		return errors.Join(fmt.Errorf("there is no virtual machine %s after it was created", request.Name), err)
	}
	return nil
}
