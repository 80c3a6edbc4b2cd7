// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// ProjectID returns the ID of the project that the credentials are for. Errors are classified.
func (s *Session) ProjectID() (string, error) {
	result, ok := s.provider.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return "", platform.NewError(platform.ClassTransient, "the login has no project")
	}
	project, err := result.ExtractProject()
	if err != nil {
		return "", Classify(err)
	}
	if project == nil {
		return "", platform.NewError(platform.ClassConfiguration, "credentials: they are not for a project")
	}
	return project.ID, nil
}

// CheckProject refuses credentials that are for another project than the one with the ID. Each project will do if the ID is empty.
// Errors are classified.
func (s *Session) CheckProject(id string) error {
	if id == "" {
		return nil
	}
	own, err := s.ProjectID()
	if err != nil {
		return err
	}
	if own != id {
		return platform.NewError(platform.ClassConfiguration,
			"credentials: they are for project %q, but the shoot is in project %q; nothing is touched until they are for that project again", own, id)
	}
	return nil
}
