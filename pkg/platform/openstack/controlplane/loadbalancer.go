// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/lists"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

const (
	// purposeDefault is the purpose of the class for Services without a class.
	purposeDefault = "default"
	// purposePrivate is the purpose of the class whose subnet is used for Services without a class, unless the class of purposeDefault has
	// one.
	purposePrivate = "private"
)

// loadBalancer returns the Octavia settings of the cloud controllers. Every OpenStack site is assumed to have Octavia.
func loadBalancer(s platform.ControlPlaneSite) (*v1alpha1.OpenStackLoadBalancer, error) {
	var settings v1alpha1.OpenStackLoadBalancerConfig
	if chosen := s.Settings.LoadBalancer; chosen != nil {
		if chosen.MetalLB != nil {
			return nil, platform.NewError(platform.ClassConfiguration,
				"controlPlaneConfig.sites.loadBalancer.metalLB: not supported by OpenStack sites")
		}
		if chosen.OpenStack != nil {
			settings = *chosen.OpenStack
		}
	}
	status := s.Status.OpenStack
	if status.SubnetID == "" {
		return nil, platform.NewError(platform.ClassConfiguration, "the Infrastructure's providerStatus has no subnet for the site")
	}

	balancer := &v1alpha1.OpenStackLoadBalancer{
		Provider:          s.Site.Profile.OpenStack.LoadBalancerProvider(settings),
		Members:           cmp.Or(settings.Members, v1alpha1.LoadBalancerMembersSite),
		SubnetID:          status.SubnetID,
		FloatingNetworkID: status.FloatingNetworkID,
		FloatingSubnetID:  status.FloatingSubnetID,
		FloatingNetworks:  s.Site.Profile.OpenStack.FloatingNetworks,
	}
	classes := settings.Classes
	if config := s.Site.Config; len(classes) == 0 && config != nil && config.OpenStack != nil {
		classes = s.Site.Profile.OpenStack.LoadBalancerClasses(config.OpenStack.FloatingPoolName)
	}
	resolvePurposes(balancer, classes)
	for _, class := range classes {
		balancer.Classes = append(balancer.Classes, complete(class, status))
	}
	return balancer, nil
}

// resolvePurposes applies the classes with a purpose to Services without a class.
func resolvePurposes(balancer *v1alpha1.OpenStackLoadBalancer, classes []v1alpha1.OpenStackLoadBalancerClass) {
	if class := byPurpose(classes, purposePrivate); class != nil && class.SubnetID != "" {
		balancer.SubnetID = class.SubnetID
	}
	class := byPurpose(classes, purposeDefault)
	if class == nil {
		return
	}
	if class.SubnetID != "" {
		balancer.SubnetID = class.SubnetID
	}
	if class.FloatingNetworkID != "" && class.FloatingNetworkID != balancer.FloatingNetworkID {
		// The subnet belongs to the previous network.
		balancer.FloatingNetworkID, balancer.FloatingSubnetID = class.FloatingNetworkID, ""
	}
	if class.FloatingSubnetID != "" {
		balancer.FloatingSubnetID = class.FloatingSubnetID
	}
}

func byPurpose(classes []v1alpha1.OpenStackLoadBalancerClass, purpose string) *v1alpha1.OpenStackLoadBalancerClass {
	return lists.Find(classes, func(class *v1alpha1.OpenStackLoadBalancerClass) bool { return class.Purpose == purpose })
}

// complete adds defaults to a class. Otherwise the library would take them from the class of purposeDefault.
func complete(class v1alpha1.OpenStackLoadBalancerClass, status *v1alpha1.OpenStackStatus) v1alpha1.OpenStackLoadBalancerClass {
	class.Purpose = ""
	class.FloatingNetworkID = cmp.Or(class.FloatingNetworkID, status.FloatingNetworkID)
	if class.FloatingSubnetID == "" && class.FloatingNetworkID == status.FloatingNetworkID {
		class.FloatingSubnetID = status.FloatingSubnetID
	}
	return class
}
