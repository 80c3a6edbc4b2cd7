// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

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
