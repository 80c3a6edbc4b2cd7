// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/kubelets"
	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/openstack"
	"github.com/gardener/gardener-extension-provider-hybrid/test/openstackstub"
)

const stubNote = "a stub of OpenStack answers"

// stubCloud is a site on the stub.
type stubCloud struct {
	*cloud

	stub *openstackstub.Stub
}

// newStubCloud starts the stub and a proxy in front of it.
func newStubCloud(shoot string, settings openstackstub.Settings) (*stubCloud, error) {
	settings.Flavors, settings.Images = []string{flavorName, "m1.tiny"}, []string{imageName, "gardenlinux-1877.3.0"}
	stub, err := openstackstub.New(settings)
	if err != nil {
		return nil, err
	}
	c, err := newCloud(shoot, stubCredentials(stub, 0), stub.Services()...)
	if err != nil {
		return nil, errors.Join(err, stub.Close())
	}
	return &stubCloud{cloud: c, stub: stub}, nil
}

func (s *stubCloud) close() error {
	return errors.Join(s.cloud.close(), s.stub.Close())
}

// stubProject is the name of a project of the stub.
func stubProject(number int) string {
	return fmt.Sprintf("project-%d", number)
}

// stubCredentials are those of a project of the stub.
func stubCredentials(stub *openstackstub.Stub, project int) openstack.Credentials {
	return openstack.Credentials{
		AuthURL: stub.AuthURL(), Region: openstackstub.Region, Domain: "Default",
		Project: stubProject(project), Username: stubProject(project), Password: "stub",
	}
}

// newStubLab starts a seed with machine-controller-manager and the driver on the stub.
func newStubLab(ctx context.Context, progress io.Writer, settings openstackstub.Settings) (*stubCloud, *lab, error) {
	s, err := newStubCloud(stubShoot, settings)
	if err != nil {
		return nil, nil, err
	}
	l, err := newLab(ctx, progress, s.shoot)
	if err != nil {
		return nil, nil, errors.Join(err, s.close())
	}
	if err := s.startMachines(ctx, l); err != nil {
		l.close()
		return nil, nil, errors.Join(err, s.close())
	}
	return s, l, nil
}

func (s *stubCloud) startMachines(ctx context.Context, l *lab) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	l.playKubelets(s.active, look)
	if err := l.deploy(ctx, s.cloud); err != nil {
		return err
	}
	return errors.Join(l.MCM.Start(), l.Driver.Start())
}

// active is what the kubelets see.
func (s *stubCloud) active(context.Context) (map[string]kubelets.Server, error) {
	result := map[string]kubelets.Server{}
	for id, address := range s.stub.Active(stubProject(0)) {
		result[id] = kubelets.Server{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}
	}
	return result, nil
}
