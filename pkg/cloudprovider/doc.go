// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package cloudprovider runs the cloud controllers of Kubernetes once for each site of a shoot. Each set of them sees the nodes and
// the Services of its site only, so that no site can harm or delay another.
package cloudprovider
