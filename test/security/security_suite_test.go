// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package security_test repeats attacks that worked on other controllers against the code of this one. Each spec has the name of the
// advisory, or of the issue if there was none:
//
//   - CVE-2025-47282 (external-dns-management): a DNS credential names its own endpoint.
//   - CVE-2025-47283 (Gardener): a project's Secret is not what admission saw.
//   - CVE-2025-47284 (Gardener): a project's Secret and objects carry more than they should.
//   - GHSA-227x-7mh8-3cf6 (Gardener extensions): input of tenants becomes part of a program.
//   - CVE-2022-24817 (Flux): a kubeconfig runs a command.
//   - CVE-2025-29781 and GHSA-pqfh-xh7w-7h3p (Metal3): a reference has a namespace.
//   - argo-rollouts#4707: an answer is reflected into a status.
//   - argo-cd#2705: messages make a port scanner.
//   - CVE-2025-55190 and CVE-2026-42880 (Argo CD): secrets in what is shown.
//   - redirects: tokens go where an answer says.
//
// These cannot apply:
//
//   - GHSA-gfjv-gqf2-c888 (Gardener): nothing here decides by who a subject of a role is.
//   - CVE-2019-12494 (Gardener): nothing of the extension in the seed relays connections from a shoot.
package security_test

import (
	"testing"

	"github.com/gardener/gardener-extension-provider-hybrid/test/suite"
)

func TestSecurity(t *testing.T) {
	suite.Run(t, "Security Suite")
}
