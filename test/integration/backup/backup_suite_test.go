// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package backup_test makes and deletes backups in real object stores: versitygw with TLS, versions and object lock, and Swift.
package backup_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestBackup(t *testing.T) {
	suite.Run(t, "Backup Suite")
}
