// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package rbacaudit compares what a user asked a kube-apiserver for, as its audit log tells, with what roles allow.
package rbacaudit
