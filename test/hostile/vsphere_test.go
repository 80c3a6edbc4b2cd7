// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/vcenter"
)

const vSpherePassword = vcenter.Password

// simulator is govmomi's vCenter, one for all rows: each has a folder, a tag and virtual machines of its own.
var simulator struct {
	once   sync.Once
	dir    string
	server *vcenter.VCenter
	proxy  *httputil.ReverseProxy
	err    error
}

func startSimulator() {
	if simulator.dir, simulator.err = os.MkdirTemp("", "hostile-"); simulator.err != nil {
		return
	}
	if simulator.server, simulator.err = vcenter.Start(context.Background(), simulator.dir, vcenter.Options{Guest: 1}); simulator.err != nil {
		return
	}
	simulator.proxy = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: simulator.server.Address})
	simulator.proxy.ErrorLog = quiet
	insecure := &tls.Config{InsecureSkipVerify: true} // #nosec G402 -- of the test
	simulator.proxy.Transport = &http.Transport{TLSClientConfig: insecure, MaxIdleConnsPerHost: 64}
}

func stopSimulator() error {
	if simulator.server == nil {
		return nil
	}
	err := simulator.server.Check()
	simulator.server.Stop(context.Background())
	_ = os.RemoveAll(simulator.dir)
	return err
}

func vSphereWorld(string) (peer, world, error) {
	simulator.once.Do(startSimulator)
	return simulator.proxy, world{Credentials: map[string]string{"username": vcenter.Username, "password": vcenter.Password}}, simulator.err
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
