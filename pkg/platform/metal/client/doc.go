// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package client holds the sessions at the Kubernetes APIs of the inventories of bare-metal sites that all parts of the platform
// share.
//
// An inventory may be newer than the types that it is read with, and other programs write to the same objects. So objects that exist
// are changed by merge patches that hold nothing but the fields to change.
package client
