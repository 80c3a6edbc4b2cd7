// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	machinev1alpha1 "github.com/gardener/machine-controller-manager/pkg/apis/machine/v1alpha1"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/driver"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/codes"
	"github.com/gardener/machine-controller-manager/pkg/util/provider/machinecodes/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/codec"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/csi/cinder"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/dns"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/machine"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	openstackclient "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/cloudcontrollers"
	platforms "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/driver"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/registry/extension"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	partInfrastructure = "infrastructure"
	partClasses        = "machineclasses"
	partMachines       = "machines"
	partNodes          = "nodes"
	partBalancers      = "load balancers"
	partProbe          = "probe"
	partFaults         = "faults"
	partDNS            = "dns"
	partTenantDNS      = "dns of a tenant"
	partCSI            = "csi"
)

// protocols are all far ends.
var protocols map[string]*protocol

func init() {
	protocols = map[string]*protocol{
		openStack: {
			world: func(id string) (peer, world, error) {
				project := "project" + id
				return newOpenStackPeer(project), world{Credentials: map[string]string{
					"domainName": "Default", "tenantName": project, "username": secretUser, "password": secretPassword,
				}}, nil
			},
			besides:    partMachines + "/list",
			operations: append(append(common(v1alpha1.PlatformOpenStack), openStackNodes()...), append(designate(), cinderCSI()...)...),
		},
		vSphere:  {world: vSphereWorld, own: ownVSphereWorld, besides: partMachines + "/list", operations: vSphereOperations()},
		metal3:   {world: metalWorld, besides: partMachines + "/list", operations: common(v1alpha1.PlatformMetal)},
		rfc2136:  {world: dnsWorld, operations: updates()},
		ironCore: {world: metalWorld, besides: partMachines + "/list", operations: common(v1alpha1.PlatformMetal)},
	}
}

// site is the site of the subject.
func (s *subject) site() *site.Site {
	profile := &v1alpha1.CloudProfileSite{
		Name: s.Site, Region: "west", DNSServers: []string{"192.0.2.53"}, TLS: &v1alpha1.TLS{CACert: s.CA},
		RequestTimeout: &metav1.Duration{Duration: s.timeout()},
	}
	config := v1alpha1.InfrastructureSite{Name: s.Site, Nodes: []string{"10.250.0.0/18"}}
	machineType := v1alpha1.SiteMachineType{Name: s.Site}
	switch s.platform() {
	case v1alpha1.PlatformOpenStack:
		profile.OpenStack = &v1alpha1.OpenStackProfile{
			AuthURL: "https://" + s.address + "/keystone/v3", Region: "RegionOne",
			FloatingPools: []v1alpha1.OpenStackFloatingPool{{Name: "public"}}, LoadBalancerProviders: []string{"amphora"},
			ServerGroupPolicies: []string{"soft-anti-affinity"},
		}
		profile.Zones = []v1alpha1.SiteZone{{Name: "zone-a", OpenStack: &v1alpha1.OpenStackZone{AvailabilityZone: "az1"}}}
		config.OpenStack = &v1alpha1.OpenStackInfrastructure{FloatingPoolName: "public",
			ShareNetwork: &v1alpha1.OpenStackShareNetwork{Enabled: true}}
		machineType.OpenStack = &v1alpha1.OpenStackMachineType{Flavor: "m1.small"}
	case v1alpha1.PlatformVSphere:
		vSphereSite(s, profile, &machineType)
	case v1alpha1.PlatformMetal:
		metalSite(s, profile, &machineType)
	}
	secret := map[string][]byte{}
	for key, value := range s.Credentials {
		secret[s.Site+"."+key] = []byte(value)
	}
	var state *v1alpha1.InfrastructureState
	if s.State != nil {
		state = &v1alpha1.InfrastructureState{Sites: []v1alpha1.SiteState{*s.State.DeepCopy()}}
	}
	sites, err := site.Resolve(site.Input{
		Shoot: s.Shoot, State: state, Secret: secret, Pods: []string{"100.96.0.0/11"},
		Profile: &v1alpha1.CloudProfileConfig{Sites: []v1alpha1.CloudProfileSite{*profile},
			MachineTypes: []v1alpha1.MachineType{{Name: "small", Sites: []v1alpha1.SiteMachineType{machineType}}}},
		Config: &v1alpha1.InfrastructureConfig{Networks: v1alpha1.Networks{Topology: v1alpha1.TopologyRouted},
			Sites: []v1alpha1.InfrastructureSite{config}},
	})
	if err != nil {
		panic(err)
	}
	result := site.Find(sites, s.Site)
	result.SSHPublicKey = []byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6rTGQzUbvFOdK0fEvhOE3uJBVBnN1ZKsiWXAtKhVDp hostile")
	return result
}

// timeout is that of a request. Honest far ends get more time, so that no busy machine is taken for a hostile one.
func (s *subject) timeout() time.Duration {
	if s.honest || s.address == s.Good {
		return honestTimeout
	}
	return requestTimeout
}

func (s *subject) platform() v1alpha1.Platform {
	switch s.Protocol {
	case openStack:
		return v1alpha1.PlatformOpenStack
	case vSphere:
		return v1alpha1.PlatformVSphere
	default:
		return v1alpha1.PlatformMetal
	}
}

func (s *subject) classRequest() platform.MachineClassRequest {
	at := s.site()
	r := platform.MachineClassRequest{
		Site: at, Status: s.Status, Zone: &at.Profile.Zones[0], MachineType: at.MachineTypes["small"], PodCIDRs: []string{"100.96.0.0/11"},
		Pool: "pool", Minimum: 1,
		Image: &v1alpha1.SiteMachineImage{Name: s.Site},
	}
	switch s.platform() {
	case v1alpha1.PlatformOpenStack:
		r.Image.OpenStack = &v1alpha1.OpenStackImage{ImageName: "gardenlinux"}
		r.VolumeType, r.VolumeSize = &v1alpha1.SiteVolumeType{Name: s.Site, OpenStack: &v1alpha1.OpenStackVolumeType{Type: "ssd"}}, 25
		r.Settings = v1alpha1.WorkerSite{Name: s.Site,
			OpenStack: &v1alpha1.OpenStackWorker{ServerGroup: &v1alpha1.OpenStackServerGroup{Policy: "soft-anti-affinity"}}}
	case v1alpha1.PlatformVSphere:
		vSphereClass(s, &r)
	case v1alpha1.PlatformMetal:
		r.Image.Metal = &v1alpha1.MetalImage{URL: "http://images.example/os.raw", Checksum: "0123", ChecksumType: "sha256", Format: "raw"}
	}
	return r
}

func (s *subject) machineName() string { return s.Shoot + "-pool-1" }

// call makes a call of the driver.
func (s *subject) call(do func(driver.Driver, *machinev1alpha1.Machine, *machinev1alpha1.MachineClass, *corev1.Secret) (any, error)) (any,
	error) {
	raw, err := codec.Encode(s.Spec)
	if err != nil {
		return nil, err
	}
	class := &machinev1alpha1.MachineClass{ObjectMeta: metav1.ObjectMeta{Name: "class", Namespace: s.Shoot}, Provider: machine.Provider,
		ProviderSpec: *raw}
	secret := &corev1.Secret{Data: map[string][]byte{"userData": []byte("#cloud-config\n")}}
	for key, value := range s.Credentials {
		secret.Data[s.Site+"."+key] = []byte(value)
	}
	if s.Protocol == ironCore {
		secret.Data["userData"] = []byte("{\"ignition\": {\"version\": \"3.4.0\"}}")
	}
	m := &machinev1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: s.machineName(), Namespace: s.Shoot, UID: types.UID("u")},
		Spec: machinev1alpha1.MachineSpec{ProviderID: s.ProviderID}}
	result, err := do(machine.NewDriver(platforms.Machines(), machine.DefaultTimeouts()), m, class, secret)
	var failure *status.Status
	if errors.As(err, &failure) {
		class := platform.ClassTransient
		if failure.Code() == codes.NotFound {
			class = platform.ClassNotFound
		}
		err = &platform.Error{Class: class, Progress: platform.IsProgress(failure.Cause()), Err: err}
	}
	return result, err
}

// common are the operations that all platforms have.
func common(of v1alpha1.Platform) []operation {
	infrastructure := func() platform.Infrastructure { return extension.Infrastructures()[of] }
	classes := func() platform.MachineClasses { return extension.MachineClasses()[of] }
	reconcile := func(ctx context.Context, s *subject) (any, error) {
		status, err := infrastructure().Reconcile(ctx, s.site(), s.persist)
		if err == nil {
			s.Status = status
		}
		return status, err
	}
	create := func(ctx context.Context, s *subject) (any, error) {
		return s.call(func(d driver.Driver, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass, secret *corev1.Secret) (any, error) {
			created, err := d.CreateMachine(ctx, &driver.CreateMachineRequest{Machine: m, MachineClass: class, Secret: secret})
			if err == nil {
				s.ProviderID = created.ProviderID
			}
			return created, err
		})
	}
	made := []string{partInfrastructure + "/reconcile"}
	classed := append(made[:1:1], partClasses+"/resolve")
	running := append(classed[:2:2], partMachines+"/create")
	node := func(s *subject) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: s.machineName(),
				Labels: map[string]string{v1alpha1.LabelSite: s.Site}}, Spec: corev1.NodeSpec{ProviderID: s.ProviderID},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.250.0.9"}}},
		}
	}
	nodes := func(do func(context.Context, *subject, platform.NodeMachines) (any, error)) func(context.Context, *subject) (any, error) {
		return func(ctx context.Context, s *subject) (any, error) {
			opened, err := cloudcontrollers.Nodes()[of].Open(ctx,
				platform.NodesRequest{Shoot: s.Shoot, Site: s.cloudController(), Credentials: s.Credentials, Client: fake.NewClientset()})
			if err != nil {
				return nil, err
			}
			return do(ctx, s, opened.Machines)
		}
	}
	probed := func(ctx context.Context, s *subject) (any, error) {
		return extension.Probes()[of].Probe(ctx, s.site(), []string{s.Shoot})
	}
	operations := []operation{
		{part: partInfrastructure, name: "validate", lenient: true, run: func(ctx context.Context, s *subject) (any, error) {
			at := s.site()
			return infrastructure().Validate(ctx, at, platform.ValidationRequest{Path: field.NewPath("sites").Index(0), Demands: []platform.Demand{{
				Pool: "pool", Path: field.NewPath("workers").Index(0), MachineTypeName: "small", MachineType: at.MachineTypes["small"], Minimum: 1,
				Maximum:     2,
				VolumeSizes: []int{25}, VolumeType: s.classRequest().VolumeType, Zones: []platform.ZoneDemand{{Name: at.Profile.Zones[0].Name,
					Minimum: 1, Maximum: 2}},
			}}})
		}},
		{part: partInfrastructure, name: "reconcile", mutates: true, run: reconcile},
		{part: partInfrastructure, name: "reconcile again", mutates: true, needs: made, run: reconcile},
		{part: partInfrastructure, name: "orphans", needs: running,
			run: func(ctx context.Context, s *subject) (any, error) { return infrastructure().Orphans(ctx, s.site()) }},
		{part: partInfrastructure, name: "delete", mutates: true, needs: made, run: func(ctx context.Context, s *subject) (any, error) {
			return nil, infrastructure().Delete(ctx, s.site(), s.persist)
		}},
		{part: partClasses, name: "resolve", mutates: true, needs: made, run: func(ctx context.Context, s *subject) (any, error) {
			spec := &v1alpha1.MachineProviderSpec{Site: s.Site, Shoot: s.Shoot}
			err := classes().Resolve(ctx, s.classRequest(), spec)
			if s.Protocol == ironCore {
				spec.UserDataFormat = v1alpha1.UserDataFormatIgnition
			}
			if err == nil {
				s.Spec = spec
			}
			return spec, err
		}},
		{part: partMachines, name: "create", awaits: "SOAP RetrievePropertiesEx Task info", mutates: true, needs: classed, run: create},
		{part: partMachines, name: "get", proves: true, needs: running, run: func(ctx context.Context, s *subject) (any, error) {
			return s.call(func(d driver.Driver, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass, secret *corev1.Secret) (any,
				error) {
				return d.GetMachineStatus(ctx, &driver.GetMachineStatusRequest{Machine: m, MachineClass: class, Secret: secret})
			})
		}},
		{part: partMachines, name: "list", needs: running, run: func(ctx context.Context, s *subject) (any, error) {
			return platforms.Machines()[of].List(ctx, platform.MachineRequest{Spec: s.Spec, Credentials: s.Credentials})
		}},
		{part: partMachines, name: "list of the driver", needs: running, lenient: true, run: func(ctx context.Context, s *subject) (any, error) {
			return s.call(func(d driver.Driver, _ *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass, secret *corev1.Secret) (any,
				error) {
				return d.ListMachines(ctx, &driver.ListMachinesRequest{MachineClass: class, Secret: secret})
			})
		}},
		{part: partMachines, name: "delete", forces: "SOAP PowerOffVM_Task VirtualMachine", proves: true, mutates: true, needs: running,
			run: func(ctx context.Context, s *subject) (any, error) {
				return s.call(func(d driver.Driver, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass, secret *corev1.Secret) (any,
					error) {
					return d.DeleteMachine(ctx, &driver.DeleteMachineRequest{Machine: m, MachineClass: class, Secret: secret})
				})
			}},
		{part: partNodes, name: "exists", proves: true, needs: running,
			run: nodes(func(ctx context.Context, s *subject, m platform.NodeMachines) (any, error) {
				return m.Exists(ctx, node(s))
			})},
		{part: partNodes, name: "shut down", proves: true, needs: running,
			run: nodes(func(ctx context.Context, s *subject, m platform.NodeMachines) (any, error) {
				return m.ShutDown(ctx, node(s))
			})},
		{part: partNodes, name: "describe", needs: running,
			run: nodes(func(ctx context.Context, s *subject, m platform.NodeMachines) (any, error) {
				return m.Describe(ctx, node(s))
			})},
		{part: partNodes, name: "describe a node without ID", needs: running,
			run: nodes(func(ctx context.Context, s *subject, m platform.NodeMachines) (any, error) {
				joining := node(s)
				joining.Spec.ProviderID = ""
				if id, ok := strings.CutPrefix(s.ProviderID, "vsphere://"); ok {
					joining.Status.NodeInfo.SystemUUID = id
				}
				return m.Describe(ctx, joining)
			})},
		{part: partProbe, name: "probe", lenient: true, run: probed},
	}
	if of == v1alpha1.PlatformOpenStack {
		operations = append(operations,
			operation{part: partClasses, name: "clean up", mutates: true, needs: classed, run: func(ctx context.Context, s *subject) (any, error) {
				return nil, classes().(platform.Cleaner).CleanUp(ctx, s.site(), nil)
			}})
	}
	if of != v1alpha1.PlatformMetal {
		operations = append(operations,
			operation{part: partMachines, name: "initialize", needs: running, lenient: true,
				run: func(ctx context.Context, s *subject) (any, error) {
					return s.call(func(d driver.Driver, m *machinev1alpha1.Machine, class *machinev1alpha1.MachineClass, secret *corev1.Secret) (any,
						error) {
						return d.InitializeMachine(ctx, &driver.InitializeMachineRequest{Machine: m, MachineClass: class, Secret: secret})
					})
				}})
	} else {
		operations = append(operations, operation{part: partFaults, name: "probe", needs: running, lenient: true, run: probed})
	}
	return operations
}

// cloudController is the site for the cloud controllers.
func (s *subject) cloudController() *v1alpha1.CloudControllerSite {
	result := &v1alpha1.CloudControllerSite{Name: s.Site}
	switch s.platform() {
	case v1alpha1.PlatformOpenStack:
		result.OpenStack = &v1alpha1.OpenStackCloudController{
			Connection: openstackclient.ConnectionOf(s.site().Profile), ProjectID: projectID(s.Credentials["tenantName"]),
			Zones: []v1alpha1.OpenStackCloudControllerZone{{Name: "zone-a", AvailabilityZone: "az1"}},
		}
		if s.Status != nil {
			result.OpenStack.LoadBalancer = &v1alpha1.OpenStackLoadBalancer{Provider: "amphora", SubnetID: s.Status.OpenStack.SubnetID,
				FloatingNetworkID: s.Status.OpenStack.FloatingNetworkID}
		}
	case v1alpha1.PlatformVSphere:
		vSphereController(s, result)
	case v1alpha1.PlatformMetal:
		metalController(s, result)
	}
	return result
}

// openStackNodes are the operations for load balancers.
func openStackNodes() []operation {
	balancing := func(do func(context.Context, *subject, platform.LoadBalancers, *corev1.Service, []*corev1.Node) (any,
		error)) func(context.Context, *subject) (any, error) {
		return func(ctx context.Context, s *subject) (any, error) {
			service := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: types.UID("5e1f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21")},
				Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
					Ports: []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP}}},
			}
			nodes := []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n"},
				Spec: corev1.NodeSpec{ProviderID: "openstack:///6a0f1f5e-0c5a-4d59-8a0b-6f5d6b1d3e21"}, Status: corev1.NodeStatus{
					Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.250.0.5"}},
				}}}
			opened, err := cloudcontrollers.Nodes()[v1alpha1.PlatformOpenStack].Open(ctx, platform.NodesRequest{
				Shoot: s.Shoot, Site: s.cloudController(), Credentials: s.Credentials, Client: fake.NewClientset(service.DeepCopy()),
			})
			if err != nil {
				return nil, err
			}
			balancers, err := opened.OpenLoadBalancers(ctx)
			if err != nil {
				return nil, err
			}
			result, err := do(ctx, s, balancers, service, nodes)
			// The cloud controllers name the site and cut messages.
			return result, platform.InSite(s.Site, err)
		}
	}
	made := []string{partInfrastructure + "/reconcile"}
	ensured := append(made[:1:1], partBalancers+"/ensure")
	return []operation{
		{part: partBalancers, patient: true, name: "ensure", mutates: true, needs: made,
			run: balancing(func(ctx context.Context, s *subject, b platform.LoadBalancers, service *corev1.Service, nodes []*corev1.Node) (any,
				error) {
				return b.EnsureLoadBalancer(ctx, s.Shoot, service, nodes)
			})},
		{part: partBalancers, patient: true, name: "get", needs: ensured,
			run: balancing(func(ctx context.Context, s *subject, b platform.LoadBalancers, service *corev1.Service, _ []*corev1.Node) (any, error) {
				found, exists, err := b.GetLoadBalancer(ctx, s.Shoot, service)
				return []any{found, exists}, err
			})},
		{part: partBalancers, patient: true, name: "update", mutates: true, needs: ensured,
			run: balancing(func(ctx context.Context, s *subject, b platform.LoadBalancers, service *corev1.Service, nodes []*corev1.Node) (any,
				error) {
				return nil, b.UpdateLoadBalancer(ctx, s.Shoot, service,
					append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Status: corev1.NodeStatus{
						Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.250.0.6"}},
					}}))
			})},
		{part: partBalancers, patient: true, name: "delete", mutates: true, needs: ensured,
			run: balancing(func(ctx context.Context, s *subject, b platform.LoadBalancers, service *corev1.Service, _ []*corev1.Node) (any, error) {
				return nil, b.EnsureLoadBalancerDeleted(ctx, s.Shoot, service)
			})},
	}
}

func testRecord() dns.Record {
	record, err := dns.NewRecord("api.example.test", dns.TypeA, []string{"192.0.2.1"}, nil)
	if err != nil {
		panic(err)
	}
	return record
}

func dnsOperations(part, kind string, open func(*subject) dns.Access) []operation {
	with := func(do func(context.Context, dns.Provider, string, dns.Record) (any, error)) func(context.Context, *subject) (any, error) {
		return func(ctx context.Context, s *subject) (any, error) {
			provider, err := dnsServices()[kind].Open(ctx, open(s))
			if err != nil {
				return nil, err
			}
			record := testRecord()
			zone, err := provider.Zone(ctx, "", record.Name)
			if err != nil {
				return nil, err
			}
			return do(ctx, provider, zone, record)
		}
	}
	tenant := part == partTenantDNS
	made := []string{part + "/ensure"}
	return []operation{
		{part: part, proves: true, tenant: tenant, silent: tenant, name: "zone",
			run: with(func(_ context.Context, _ dns.Provider, zone string, _ dns.Record) (any, error) { return zone, nil })},
		{part: part, proves: true, tenant: tenant, silent: tenant, name: "ensure", mutates: true,
			run: with(func(ctx context.Context, p dns.Provider, zone string, record dns.Record) (any, error) {
				return nil, p.Ensure(ctx, zone, record, false)
			})},
		{part: part, proves: true, tenant: tenant, silent: tenant, name: "ensure again", mutates: true, repairs: true, needs: made,
			run: with(func(ctx context.Context, p dns.Provider, zone string, record dns.Record) (any, error) {
				return nil, p.Ensure(ctx, zone, record, true)
			})},
		{part: part, proves: true, tenant: tenant, silent: tenant, name: "delete", mutates: true, needs: made,
			run: with(func(ctx context.Context, p dns.Provider, zone string, record dns.Record) (any, error) {
				return nil, p.Delete(ctx, zone, record)
			})},
	}
}

func designate() []operation {
	ofSite := dnsOperations(partDNS, v1alpha1.DNSTypeDesignate, func(s *subject) dns.Access {
		return dns.Access{Credentials: dns.Credentials(s.Credentials), Site: s.site().Profile}
	})
	ofTenant := dnsOperations(partTenantDNS, v1alpha1.DNSTypeDesignate, func(s *subject) dns.Access {
		credentials := dns.Credentials{"authURL": "https://" + s.address + "/keystone/v3", "caCert": s.CA}
		for key, value := range s.Credentials {
			credentials[key] = value
		}
		return dns.Access{Credentials: credentials, Region: "RegionOne"}
	})
	return append(ofSite, ofTenant...)
}

// cinderCSI are the operations of the controller of the CSI driver.
func cinderCSI() []operation {
	with := func(do func(context.Context, *subject, *cinder.Controller, map[string]string) (any, error)) func(context.Context, *subject) (any,
		error) {
		return func(ctx context.Context, s *subject) (any, error) {
			file, err := os.CreateTemp("", "hostile-")
			if err != nil {
				return nil, err
			}
			defer func() { _ = os.Remove(file.Name()) }()
			fmt.Fprintf(file,
				"[Global %q]\nauth-url=https://%s/keystone/v3\nregion=RegionOne\ndomain-name=Default\ntenant-name=%s\nusername=%s\npassword=%q\n"+
					"request-timeout=%s\ncafilecontents=%s\n",
				s.Site, s.address, s.Credentials["tenantName"], secretUser, secretPassword, s.timeout(), quoted(s.CA))
			_ = file.Close()
			return do(ctx, s, cinderController(s, file.Name()), map[string]string{"cloud": s.Site})
		}
	}
	capability := &csi.VolumeCapability{
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
	}
	remember := func(s *subject, key, value string) {
		if s.Values == nil {
			s.Values = map[string]string{}
		}
		s.Values[key] = value
	}
	server := func(s *subject) string {
		const prefix = "openstack:///"
		return s.ProviderID[len(prefix):]
	}
	volume := []string{partCSI + "/create volume"}
	running := []string{partInfrastructure + "/reconcile", partClasses + "/resolve", partMachines + "/create"}
	attached := append(append(running[:3:3], volume...), partCSI+"/attach")
	return []operation{
		{part: partCSI, name: "create volume", mutates: true,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				answer, err := c.CreateVolume(ctx, &csi.CreateVolumeRequest{
					Name: "pvc-1", Secrets: secrets, CapacityRange: &csi.CapacityRange{RequiredBytes: 1 << 30},
					VolumeCapabilities: []*csi.VolumeCapability{capability}, Parameters: map[string]string{"type": "ssd"},
				})
				if err == nil {
					remember(s, "volume", answer.Volume.VolumeId)
				}
				return nil, err
			})},
		{part: partCSI, name: "delete volume", mutates: true, needs: volume,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				_, err := c.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: s.Values["volume"], Secrets: secrets})
				return nil, err
			})},
		{part: partCSI, name: "attach", mutates: true, needs: append(running[:3:3], volume...),
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				_, err := c.ControllerPublishVolume(ctx,
					&csi.ControllerPublishVolumeRequest{VolumeId: s.Values["volume"], NodeId: server(s), VolumeCapability: capability, Secrets: secrets})
				return nil, err
			})},
		{part: partCSI, name: "detach", mutates: true, needs: attached,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				_, err := c.ControllerUnpublishVolume(ctx,
					&csi.ControllerUnpublishVolumeRequest{VolumeId: s.Values["volume"], NodeId: server(s), Secrets: secrets})
				return nil, err
			})},
		{part: partCSI, name: "list volumes", needs: volume,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, _ map[string]string) (any, error) {
				answer, err := c.ListVolumes(ctx, &csi.ListVolumesRequest{})
				return answer, err
			})},
		{part: partCSI, name: "get volume", needs: volume,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, _ map[string]string) (any, error) {
				answer, err := c.ControllerGetVolume(ctx, &csi.ControllerGetVolumeRequest{VolumeId: s.Values["volume"]})
				return answer, err
			})},
		{part: partCSI, name: "expand", mutates: true, needs: volume,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				_, err := c.ControllerExpandVolume(ctx,
					&csi.ControllerExpandVolumeRequest{VolumeId: s.Values["volume"], Secrets: secrets,
						CapacityRange: &csi.CapacityRange{RequiredBytes: 3 << 30}})
				return nil, err
			})},
		{part: partCSI, name: "create snapshot", mutates: true, needs: volume,
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				answer, err := c.CreateSnapshot(ctx,
					&csi.CreateSnapshotRequest{Name: "snapshot-1", SourceVolumeId: s.Values["volume"], Secrets: secrets})
				if err == nil {
					remember(s, "snapshot", answer.Snapshot.SnapshotId)
				}
				return nil, err
			})},
		{part: partCSI, name: "delete snapshot", mutates: true, needs: append(volume[:1:1], partCSI+"/create snapshot"),
			run: with(func(ctx context.Context, s *subject, c *cinder.Controller, secrets map[string]string) (any, error) {
				_, err := c.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: s.Values["snapshot"], Secrets: secrets})
				return nil, err
			})},
	}
}
