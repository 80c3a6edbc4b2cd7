// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/ipam"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes"
	kubernetesowner "github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/kubernetes/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/transport"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
)

// addresses returns the address claims of the shoot on the site, nil if it never had any.
func (f *flow) addresses() (*ipam.Addresses, error) {
	if f.connection.IPAM == nil {
		return nil, nil
	}
	session, err := f.session.IPAM()
	if err != nil {
		return nil, err
	}
	return ipam.New(session.Client(), session.Namespace, kubernetesowner.Owner{Shoot: f.owner.Shoot, Site: f.owner.Site}), nil
}

// claims returns the names of the machines that have an address claim.
func (f *flow) claims(ctx context.Context) ([]string, error) {
	addresses, err := f.addresses()
	if addresses == nil {
		return nil, err
	}
	return addresses.Machines(ctx)
}

// checkIPAM rejects address pools in another namespace than that of the state, unless the shoot has no address there.
func (f *flow) checkIPAM(ctx context.Context) error {
	former, present := f.State().Connection.IPAM, client.IPAMOf(f.site)
	if former == nil || present != nil && present.Namespace == former.Namespace {
		return nil
	}
	machines, err := f.claims(ctx)
	if err != nil || len(machines) == 0 {
		return err
	}
	return platform.NewError(platform.ClassConfiguration,
		"vsphere.ipam: %d machines of the shoot have addresses from pools in namespace %q at %s, which the CloudProfile no longer has; "+
			"nothing is touched until it has them again", len(machines), former.Namespace, former.Server)
}

// releaseAddresses releases the addresses that are left when no machine is: that of a machine whose creation was interrupted, and whose
// machine class is gone.
func (f *flow) releaseAddresses(ctx context.Context) error {
	machines, err := f.claims(ctx)
	if err != nil || len(machines) == 0 {
		return err
	}
	addresses, err := f.addresses()
	if err != nil {
		return err
	}
	return errors.Join(platform.Each(len(machines), func(i int) error { return addresses.Release(ctx, machines[i]) })...)
}

// ipamPool returns the reference of the pool that addresses come from, nil if there is none.
func (v *validation) ipamPool() *corev1.TypedLocalObjectReference {
	if config := v.site.Config; config != nil && config.VSphere != nil && config.VSphere.IPAM != nil {
		return &config.VSphere.IPAM.PoolRef
	}
	return nil
}

// checkIPAMAccess checks that the API of the address pools answers, and that the credentials have all permissions there.
func (v *validation) checkIPAMAccess(ctx context.Context, result *platform.Result) error {
	if v.ipamPool() == nil {
		return nil
	}
	result.At(v.profile("ipam"))
	session, err := v.session.IPAM()
	if err != nil {
		return err
	}
	denied, err := kubernetes.Denied(ctx, session.Client(), ipam.Permissions(session.Namespace))
	switch {
	case platform.ClassOf(err) == platform.ClassUnauthenticated:
		result.At(v.site.SecretPath("token"))
	case transport.IsUntrusted(err):
		result.At(v.profile("ipam").Child("tls"))
	}
	if err != nil {
		return err
	}
	if len(denied) > 0 {
		result.Forbidden(v.site.SecretPath("token"), "the credentials may not %s",
			strings.Join(kubernetes.DescribePermissions(denied), ", or "))
	}
	v.pool = ipam.Check{API: session.Client(), Namespace: session.Namespace, Site: v.site, Ref: v.ipamPool(),
		Path: v.path.Child("ipam", "poolRef"), Listed: len(v.site.Profile.VSphere.IPAM.AddressPools) > 0}
	return nil
}

// checkPool checks that the pool of addresses exists, and that the addresses belong to the site.
func (v *validation) checkPool(ctx context.Context, result *platform.Result) error {
	return v.pool.Pool(ctx, result)
}

// checkPoolSize counts the addresses of the pool, which machines of other shoots may have.
func (v *validation) checkPoolSize(_ context.Context, result *platform.Result) error {
	v.pool.Size(v.demands, result)
	return nil
}

// checkBalancerAddresses finds addresses of load balancers that the pool gives to machines, too.
func (v *validation) checkBalancerAddresses(_ context.Context, result *platform.Result) error {
	v.pool.BalancerAddresses(v.controlPlane.LoadBalancer, result)
	return nil
}
