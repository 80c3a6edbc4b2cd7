// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package bastion creates and deletes the bastions of a vSphere site. A bastion is a virtual machine in a folder of the shoot, in the
// network of the nodes.
//
// A vCenter without NSX does not filter traffic. The bastion does, with rules in its user data, which is read once: if the
// allowed ranges change, the virtual machine is replaced.
package bastion

import (
	"context"
	"net/netip"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machineclasses"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/machines"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

type bastions struct {
	sessions *client.Sessions
	classes  platform.MachineClasses
	machines platform.Machines
}

// New returns the Bastions part of the vSphere platform.
func New(sessions *client.Sessions) platform.Bastions {
	return &bastions{sessions: sessions, classes: machineclasses.New(sessions), machines: machines.New(sessions)}
}

// IsPublic implements platform.Bastions. Whether the network of the nodes is reached from elsewhere is not known.
func (b *bastions) IsPublic(*site.Site) bool { return false }

// Ensure implements platform.Bastions.
func (b *bastions) Ensure(ctx context.Context, request platform.BastionRequest) (_ platform.Bastion, err error) {
	s := request.Site
	defer platform.NameSite(s.Name, &err)
	if request.Status == nil || request.Status.VSphere == nil {
		return platform.Bastion{}, platform.NewError(platform.ClassTransient, "the infrastructure of the site is not ready")
	}
	script, err := restricted(request.UserData, request.Ingress)
	if err != nil {
		return platform.Bastion{}, err
	}
	session, err := b.open(ctx, s)
	if err != nil {
		return platform.Bastion{}, err
	}
	found, err := find(ctx, session, s, request.Name)
	if err != nil {
		return platform.Bastion{}, err
	}
	if found != nil && !isOf(found, script) {
		if err := b.Delete(ctx, s, request.Name); err != nil && !platform.IsProgress(err) {
			return platform.Bastion{}, err
		}
		return platform.Bastion{}, platform.NewProgress("virtual machine %q is replaced, because its allowed ranges have changed", request.Name)
	}
	if found == nil || found.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
		return platform.Bastion{}, b.create(ctx, request, script)
	}
	// A creation that was interrupted may not have attached it. It is a no-op otherwise.
	tags := []string{request.Status.VSphere.OwnerTagID}
	if err := client.Classify(session.Tags().AttachMultipleTagsToObject(ctx, tags, found)); err != nil {
		return platform.Bastion{}, err
	}
	return running(request.Name, found)
}

// running returns the bastion, or an error of progress until its address is known.
func running(name string, vm *client.VirtualMachine) (platform.Bastion, error) {
	var result platform.Bastion
	for _, address := range vm.Addresses() {
		if ip, err := netip.ParseAddr(address.Address); err == nil {
			result.NodeAddresses = append(result.NodeAddresses, ip)
		}
	}
	if len(result.NodeAddresses) == 0 {
		return result, platform.NewProgress("virtual machine %q has not reported an address yet", name)
	}
	result.Address = result.NodeAddresses[0]
	return result, nil
}

// create creates the virtual machine and returns an error of progress, or completes what an interrupted call left behind.
func (b *bastions) create(ctx context.Context, request platform.BastionRequest, script []byte) error {
	machine, err := request.Machine()
	if err != nil {
		return err
	}
	spec := &v1alpha1.MachineProviderSpec{Site: request.Site.Name, Shoot: request.Site.Shoot, UserDataFormat: userdata.FormatOf(machine.Image)}
	if err := b.classes.Resolve(ctx, machine, spec); err != nil {
		return err
	}
	data, err := userdata.Wrap(spec.UserDataFormat, script)
	if err != nil {
		return err
	}
	if _, err := b.machines.Create(ctx, platform.MachineRequest{
		Name: request.Name, Spec: spec, Credentials: request.Site.Credentials, UserData: data, Bastion: true,
	}); err != nil {
		return err
	}
	return platform.NewProgress("virtual machine %q is being created", request.Name)
}

// properties are read of a bastion.
var properties = []string{"name", "parent", "config.uuid", "runtime.powerState", "guest.net", client.ExtraConfigProperty(owner.KeyShoot),
	client.ExtraConfigProperty(owner.KeySite), client.ExtraConfigProperty(owner.KeyUserData)}

func (b *bastions) open(ctx context.Context, s *site.Site) (*client.Session, error) {
	connection, err := connectionOf(s)
	if err != nil {
		return nil, err
	}
	return b.sessions.Get(ctx, s.Name, connection, s.Credentials)
}

// find returns the virtual machine of the bastion, nil if there is none.
func find(ctx context.Context, session *client.Session, s *site.Site, name string) (*client.VirtualMachine, error) {
	o := owner.Owner{Shoot: s.Shoot, Site: s.Name}.OfBastions()
	return session.FindByUUID(ctx, o.UUID(name), client.Search{
		Name:       name,
		InFolder:   func(*client.VirtualMachine) bool { return true },
		Properties: properties,
		Check: func(vm *client.VirtualMachine) error {
			switch {
			case vm.Config == nil:
				return platform.NewProgress("virtual machine %q is still being made", name)
			case !o.OwnsVM(vm.ExtraConfig):
				return platform.NewError(platform.ClassConflict, "%w: virtual machine %q (%s) has the UUID of the bastion, but not its marks",
					client.ErrForeign, platform.Printable(vm.Name), vm.Self.Value)
			}
			return nil
		},
	})
}

// Delete implements platform.Bastions.
func (b *bastions) Delete(ctx context.Context, s *site.Site, name string) (err error) {
	defer platform.NameSite(s.Name, &err)
	if s.State == nil || s.State.VSphere == nil {
		return nil // there never was a folder for it
	}
	connection, err := connectionOf(s)
	if err != nil {
		return err
	}
	for _, folder := range s.State.VSphere.Folders {
		if err := b.machines.Delete(ctx, platform.MachineRequest{
			Name: name, Credentials: s.Credentials, Bastion: true,
			Spec: &v1alpha1.MachineProviderSpec{Site: s.Name, Shoot: s.Shoot, VSphere: &v1alpha1.VSphereMachineSpec{
				Connection: connection, Folder: folder.ID, FolderPath: folder.Path,
			}},
		}); err != nil {
			return err
		}
	}
	return nil
}

// connectionOf prefers the connection of the CloudProfile, which may have a new address or certificate authority, over that of the state.
func connectionOf(s *site.Site) (v1alpha1.VSphereConnection, error) {
	var connection v1alpha1.VSphereConnection
	if s.State != nil && s.State.VSphere != nil {
		connection = s.State.VSphere.Connection
	}
	switch {
	case s.Profile != nil && s.Profile.VSphere != nil:
		return client.ConnectionWithIPAM(s, connection.InstanceUUID), nil
	case connection.Server == "":
		return connection, platform.NewError(platform.ClassConfiguration, "the CloudProfile no longer has a vSphere site of this name")
	default:
		return connection, nil
	}
}
