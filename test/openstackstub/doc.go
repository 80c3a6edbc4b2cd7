// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package openstackstub answers like OpenStack where a measurement needs more servers, projects or speed than a real one on a
// developer's machine has. It has the requests that this project sends and no others: what it does not know it refuses, so
// that a gap is seen. It is for figures, never for the proof that something works.
package openstackstub
