// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	_ "k8s.io/kubectl/pkg/cmd"
	_ "k8s.io/kubernetes/test/e2e"

	_ "github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
)
