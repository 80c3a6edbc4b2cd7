// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	"github.com/hashicorp/go-version"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	library "k8s.io/cloud-provider-openstack/pkg/openstack"
	"k8s.io/cloud-provider-openstack/pkg/util"
	openstackutil "k8s.io/cloud-provider-openstack/pkg/util/openstack"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/openstack/client"
)

// ovn is the Octavia provider without amphorae: members see client addresses, and their ports must permit them.
const ovn = "ovn"

const (
	monitorDelay      = time.Minute
	monitorTimeout    = 30 * time.Second
	monitorMaxRetries = 5
)

// newCloud returns the library's cloud provider with our session. Its constructor would log in on its own, without the site's proxy and
// timeouts, and would wait for Keystone indefinitely. So the constructor's fields are set here. The cloud provider sends events until ctx
// is done.
func newCloud(ctx context.Context, session *client.Session, shoot kubernetes.Interface,
	balancer *v1alpha1.OpenStackLoadBalancer) (*library.OpenStack, error) {
	options, err := loadBalancerOptions(balancer)
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: shoot.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "cloud-provider-openstack"})
	provider, endpoints := session.Provider()
	cloud := &library.OpenStack{}
	return cloud, client.SetFields(cloud, map[string]any{
		"provider":      provider,
		"epOpts":        &endpoints,
		"lbOpts":        options,
		"kclient":       shoot,
		"eventRecorder": recorder,
	})
}

// loadBalancerOptions returns the library's defaults with the settings of the site.
func loadBalancerOptions(config *v1alpha1.OpenStackLoadBalancer) (library.LoadBalancerOpts, error) {
	defaults, err := library.ReadConfig(strings.NewReader(""))
	if err != nil {
		return library.LoadBalancerOpts{}, platform.NewError(platform.ClassConfiguration, "cloud-provider-openstack has no defaults: %w", err)
	}
	options := defaults.LoadBalancer
	if config == nil {
		options.Enabled = false
		return options, nil
	}
	options.LBProvider = config.Provider
	options.SubnetID = config.SubnetID
	options.FloatingNetworkID = config.FloatingNetworkID
	options.FloatingSubnetID = config.FloatingSubnetID
	options.CreateMonitor = true
	options.MonitorDelay = util.MyDuration{Duration: monitorDelay}
	options.MonitorTimeout = util.MyDuration{Duration: monitorTimeout}
	options.MonitorMaxRetries = monitorMaxRetries
	options.ManageSecurityGroups = config.Provider == ovn
	if config.Provider == ovn {
		options.LBMethod = "SOURCE_IP_PORT"
	}

	options.LBClasses = map[string]*library.LBClass{}
	for _, class := range config.Classes {
		options.LBClasses[class.Name] = &library.LBClass{
			FloatingNetworkID: class.FloatingNetworkID,
			FloatingSubnetID:  class.FloatingSubnetID,
			NetworkID:         class.NetworkID,
			SubnetID:          class.SubnetID,
		}
	}
	return options, nil
}

// minVersion is the first load balancing API version with tags, by which the library finds its load balancers.
var minVersion = version.Must(version.NewVersion("2.5"))

var versionMutex sync.Mutex

// readVersion lets the library read the version of the load balancing API, which it keeps in a global variable: the first site that it
// queries determines the features for all sites. Sites with an unsupported version are rejected before the library sees them.
func readVersion(ctx context.Context, balancing *gophercloud.ServiceClient, provider string) error {
	versions, err := client.List(ctx, apiversions.List(balancing), apiversions.ExtractAPIVersions)
	if err != nil {
		return err
	}
	if !isSupported(versions) {
		return platform.NewError(platform.ClassConfiguration, "loadBalancer: the load balancing API must have version 2.5 or later")
	}
	versionMutex.Lock()
	defer versionMutex.Unlock()
	if !openstackutil.IsOctaviaFeatureSupported(ctx, balancing, openstackutil.OctaviaFeatureTags, provider) {
		return platform.NewError(platform.ClassTransient, "the load balancing API does not answer")
	}
	return nil
}

// isSupported reports whether the library supports the version that it considers current: the last one of the list.
func isSupported(versions []apiversions.APIVersion) bool {
	if len(versions) == 0 {
		return false
	}
	current, err := version.NewVersion(versions[len(versions)-1].ID)
	return err == nil && current.GreaterThanOrEqual(minVersion)
}
