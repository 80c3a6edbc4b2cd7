// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

// Package infrastructure makes the network, subnet, router, security group and key pair of a shoot on an OpenStack site.
//
// A reconciliation looks at everything first, in parallel and by ID where the state knows it, and then makes only what is
// missing or different. If nothing is, the look is all that happens. What the state does not know is found by name and is
// ours if it is marked as ours.
//
// A deletion deletes what is ours, and what the shoot's Services left behind on the site. What is given is never changed, but for
// routes to the shoot's pods in the router.
package infrastructure
