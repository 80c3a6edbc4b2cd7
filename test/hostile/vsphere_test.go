// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter/control"
)

const vSpherePassword = vcenter.Password

// simulator is govmomi's vCenter, one for most rows: each has a folder, a tag and virtual machines of its own. Other shoots came before.
var simulator struct {
	once sync.Once
	*vSpherePeer
	err error
}

// vSpherePeer is a vCenter.
type vSpherePeer struct {
	*httputil.ReverseProxy
	server *vcenter.VCenter
	dir    string
}

func startVSphere() (*vSpherePeer, error) {
	dir, err := os.MkdirTemp("", "hostile-")
	if err != nil {
		return nil, err
	}
	server, err := vcenter.Start(context.Background(), dir, vcenter.Options{Guest: 1})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: server.Address})
	proxy.ErrorLog = quiet
	insecure := &tls.Config{InsecureSkipVerify: true} // #nosec G402 -- of the test
	proxy.Transport = &http.Transport{TLSClientConfig: insecure, MaxIdleConnsPerHost: 64}
	return &vSpherePeer{ReverseProxy: proxy, server: server, dir: dir}, nil
}

// Close ends the vCenter. It returns an error if it ended by itself.
func (v *vSpherePeer) Close() error {
	err := v.server.Check()
	v.server.Stop(context.Background())
	return errors.Join(err, os.RemoveAll(v.dir))
}

// createCategory creates the category of the tags of shoots, as the first shoot does.
func (v *vSpherePeer) createCategory(ctx context.Context) error {
	client, err := v.server.Client(ctx)
	if err != nil {
		return err
	}
	session := rest.NewClient(client)
	if err := session.Login(ctx, url.UserPassword(vcenter.Username, vcenter.Password)); err != nil {
		return err
	}
	_, err = tags.NewManager(session).CreateCategory(ctx, &tags.Category{Name: owner.TagCategory, Cardinality: "MULTIPLE"})
	return err
}

func startSimulator() {
	if simulator.vSpherePeer, simulator.err = startVSphere(); simulator.err == nil {
		simulator.err = simulator.createCategory(context.Background())
	}
}

func stopSimulator() error {
	if simulator.vSpherePeer == nil {
		return nil
	}
	return simulator.Close()
}

var vSphereCredentials = map[string]string{"username": vcenter.Username, "password": vcenter.Password}

func vSphereWorld(string) (peer, world, error) {
	simulator.once.Do(startSimulator)
	return simulator.ReverseProxy, world{Credentials: vSphereCredentials}, simulator.err
}

// ownVSphereWorld is a vCenter that no shoot was on, and in which something else is being cloned without end.
func ownVSphereWorld() (peer, world, error) {
	peer, err := startVSphere()
	if err == nil {
		err = peer.beginClone(context.Background())
	}
	return peer, world{Credentials: vSphereCredentials}, err
}

// beginClone begins to clone the template, and returns while its task is running.
func (v *vSpherePeer) beginClone(ctx context.Context) error {
	client, err := v.server.Client(ctx)
	if err != nil {
		return err
	}
	if err := v.server.Set(ctx, control.Settings{Task: suiteTimeout}); err != nil {
		return err
	}
	finder := find.NewFinder(client)
	template, err := finder.VirtualMachine(ctx, "/DC0/vm/"+vcenter.Template)
	if err != nil {
		return err
	}
	folder, err := finder.Folder(ctx, "/DC0/vm")
	if err != nil {
		return err
	}
	pool, err := finder.ResourcePool(ctx, "/DC0/host/DC0_C1/Resources")
	if err != nil {
		return err
	}
	spec := types.VirtualMachineCloneSpec{Location: types.VirtualMachineRelocateSpec{Pool: new(pool.Reference())}}
	if _, err := template.Clone(ctx, folder, "of-another", spec); err != nil {
		return err
	}
	return v.server.Set(ctx, control.Settings{})
}

// queriesEvents reports whether the events of running clones are asked for, which is not done if there are none.
func queriesEvents(shape string) bool {
	return shape == "SOAP QueryEvents EventManager"
}

// vSphereOperations are those that all platforms have, and what depends on what else is in the vCenter: the first shoot creates what all of
// them share, and a deletion looks who is being cloned.
func vSphereOperations() []operation {
	operations := common(v1alpha1.PlatformVSphere)
	for i := range operations {
		o := &operations[i]
		o.leaves = queriesEvents
		if o.part != partInfrastructure {
			continue
		}
		own := *o
		own.own, own.leaves = true, nil
		switch o.name {
		case "reconcile":
			own.name = "reconcile first"
			own.leaves = func(shape string) bool { return shape != "POST /rest/com/vmware/cis/tagging/category" }
		case "delete":
			own.name = "delete beside a clone"
			own.leaves = func(shape string) bool { return !queriesEvents(shape) }
		default:
			continue
		}
		operations = append(operations, own)
	}
	return operations
}

func vSphereSite(s *subject, profile *v1alpha1.CloudProfileSite, machineType *v1alpha1.SiteMachineType) {
	profile.VSphere = &v1alpha1.VSphereProfile{Server: "https://" + s.address, Datacenter: "DC0"}
	profile.Zones = []v1alpha1.SiteZone{{Name: "zone-a",
		VSphere: &v1alpha1.VSphereZone{ComputeCluster: "DC0_C0", Datastore: "LocalDS_0", Network: "DC0_DVPG0"}}}
	machineType.VSphere = &v1alpha1.VSphereMachineType{}
}

func vSphereClass(s *subject, request *platform.MachineClassRequest) {
	request.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi")}
	request.Image.VSphere = &v1alpha1.VSphereImage{Template: vcenter.Template}
	request.VolumeSize = 25
	request.Settings = v1alpha1.WorkerSite{Name: s.Site, VSphere: &v1alpha1.VSphereWorker{AntiAffinity: true}}
}

func vSphereController(s *subject, of *v1alpha1.CloudControllerSite) {
	of.VSphere = &v1alpha1.VSphereCloudController{
		Connection: vSphereConnection(s),
		Zones:      []v1alpha1.VSphereCloudControllerZone{{Name: "zone-a", ComputeCluster: "DC0_C0"}},
	}
	if s.Status == nil {
		return
	}
	for _, zone := range s.Status.VSphere.Zones {
		of.VSphere.Zones = []v1alpha1.VSphereCloudControllerZone{{Name: zone.Name, ComputeCluster: zone.ComputeCluster,
			ResourcePool: zone.ResourcePool, Folder: zone.Folder}}
	}
}
