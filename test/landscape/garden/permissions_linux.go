// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package garden

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1beta1constants "github.com/gardener/gardener/pkg/apis/core/v1beta1/constants"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gardener/gardener-extension-provider-hybrid/test/charts/rbacaudit"
)

const (
	// extensionName is the name of the extension's executable, image, Deployment and service account.
	extensionName = "gardener-extension-provider-hybrid"
	// mcmAccount is the service account of machine-controller-manager and our driver beside it, whose roles are Gardener's.
	mcmAccount = v1beta1constants.DeploymentNameMachineControllerManager
	// rolePrefix is what the names of our roles in shoots begin with.
	rolePrefix = "extensions.gardener.cloud:provider-hybrid:"
)

// Lasting are the service accounts whose permissions do not end with a shoot.
var Lasting = []string{extensionName, admissionName, admissionAccount}

// The service accounts of our executables, and of those that have roles of ours, by cluster. Those of a shoot have the processes of its
// control plane there.
var (
	ofVirtual = []string{admissionAccount}
	ofSeed    = []string{extensionName, admissionName, mcmAccount}
	ofShoot   = []string{mcmAccount, "cloud-controller-manager", "csi-cinder-controller", "csi-snapshot-controller",
		"local-volumes-controller"}
)

// elsewhere tells for service accounts with roles of ours in a shoot who shows that all rules are needed: a shoot that nobody uses needs
// few of them.
var elsewhere = map[string]string{
	"cloud-controller-manager": "test/integration/ccm",
	"csi-cinder-controller":    "test/integration/csi",
	"csi-snapshot-controller":  "test/integration/csi",
	"local-volumes-controller": "test/integration/volumes",
	"metallb-controller":       "test/integration/loadbalancers",
	// The simulated vCenter has no volumes that could be attached, and nodes are played. The rules are those of the driver's own manifests
	// as far as hack/vsphere-csi.sh needs them.
	"csi-vsphere-controller": "nobody",
	"csi-vsphere-node":       "nobody",
	// MetalLB's speakers answer on the network of nodes, which are played.
	"metallb-speaker": "nobody",
}

// Unknown are the service accounts with roles of ours in a shoot of which nothing says who shows that all rules are needed.
func Unknown(ctx context.Context, shoot client.Client) ([]string, error) {
	bindings, err := rbacaudit.Bindings(ctx, shoot)
	if err != nil {
		return nil, err
	}
	var result []string
	for _, binding := range bindings {
		if strings.HasPrefix(binding.Role.Name, rolePrefix) && elsewhere[binding.Account] == "" {
			result = append(result, binding.User())
		}
	}
	return result, nil
}

// Unused are the permissions of our extension and of the admission component that they had no use for until now, and that no other suite
// shows to be needed. What is not needed in the second seed is needed in the first one.
func (g *Garden) Unused(ctx context.Context) ([]string, error) {
	var result []string
	for _, log := range g.auditLogs() {
		if log.cluster == SecondName {
			continue
		}
		bindings, err := rbacaudit.Bindings(ctx, log.client)
		if err != nil {
			return nil, fmt.Errorf("roles of %s: %w", log.cluster, err)
		}
		requests, err := log.requests()
		if err != nil {
			return nil, err
		}
		for _, user := range lasting(bindings) {
			permissions, err := rbacaudit.Granted(bindings, user)
			if err != nil {
				return nil, err
			}
			for _, p := range rbacaudit.Unused(permissions, requests[user]) {
				if rbacaudit.ShownBy(p) == "" {
					result = append(result, fmt.Sprintf("%s: %s has no use for %s", log.cluster, user, p))
				}
			}
		}
	}
	slices.Sort(result)
	return result, nil
}

// lasting are the users of a cluster that have roles of our charts.
func lasting(bindings []rbacaudit.Binding) []string {
	var users []string
	for _, b := range bindings {
		if slices.Contains(Lasting, b.Account) {
			users = append(users, b.User())
		}
	}
	slices.Sort(users)
	return slices.Compact(users)
}
