// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package owner

import "strings"

// metadataCluster is the metadata key with the name of the cluster that the Cinder CSI driver gives to volumes.
const metadataCluster = "cinder.csi.openstack.org/cluster"

// The descriptions of what is made for Services are <prefix><namespace>/<name><before the name of the cluster><cluster>.
const (
	floatingIPPrefix    = "Floating IP for Kubernetes external service "
	fromCluster         = " from cluster "
	securityGroupPrefix = "Security Group for "
	inCluster           = " Service LoadBalancer in cluster "
)

// OwnsLoadBalancer reports whether the cloud-controller-manager of the shoot gave a load balancer its name:
// kube_service_<cluster>_<namespace>_<service>. Neither a namespace nor a service has an underscore in its name.
func (o Owner) OwnsLoadBalancer(name string) bool {
	service, ok := strings.CutPrefix(name, servicePrefix+o.Shoot+"_")
	return ok && isPair(service, "_")
}

// OwnsFloatingIP reports whether the cloud-controller-manager of the shoot made a floating IP with the description.
func (o Owner) OwnsFloatingIP(description string) bool {
	return o.describesService(description, floatingIPPrefix, fromCluster)
}

// OwnsServiceSecurityGroup reports whether the cloud-controller-manager of the shoot made a security group with the
// description for a Service.
func (o Owner) OwnsServiceSecurityGroup(description string) bool {
	return o.describesService(description, securityGroupPrefix, inCluster)
}

// OwnsVolume reports whether the Cinder CSI driver of the shoot made a volume with the metadata.
func (o Owner) OwnsVolume(metadata map[string]string) bool {
	return metadata[metadataCluster] == o.Shoot
}

// describesService reports whether the description is that of an object of a Service in the shoot.
func (o Owner) describesService(description, before, after string) bool {
	rest, ok := strings.CutPrefix(description, before)
	if !ok {
		return false
	}
	service, ok := strings.CutSuffix(rest, after+o.Shoot)
	return ok && isPair(service, "/")
}

// isPair reports whether a text is a namespace and a name.
func isPair(text, separator string) bool {
	namespace, name, ok := strings.Cut(text, separator)
	return ok && isName(namespace) && isName(name)
}

func isName(text string) bool {
	return text != "" && !strings.ContainsAny(text, "_/ ")
}
