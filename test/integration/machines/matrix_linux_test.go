// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package machines_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/gardener/gardener-extension-provider-hybrid/test/landscape/shoot"
)

// sendScript lets a node listen, and it and its pod send packets.
//
//go:embed send.sh.tmpl
var sendScript string

// Who sends packets, and who gets them.
const (
	kindNode    = "node"
	kindPod     = "pod"
	kindOutside = "outside"
)

// Ports of nodes and pods, on which something listens.
const (
	kubeletPort = 10250
	nodePort    = 30080
)

// A packet of the overlay has at most this size, with the headers of IP and ICMP.
const (
	overlayMTU = 1450
	headers    = 28
)

// place is where packets come from, or go to.
type place struct{ kind, pool string }

func (p place) String() string { return strings.TrimSpace(p.kind + " " + p.pool) }

// row is a row of the matrix.
type row struct {
	from, to place
	port     int
	passes   bool
	// reason says why it passes or not.
	reason string
}

func (r row) String() string {
	verb := "reaches"
	if !r.passes {
		verb = "does not reach"
	}
	return fmt.Sprintf("%s %s %s port %d: %s", r.from, verb, r.to, r.port, r.reason)
}

// rowsOf is the matrix: a row for each kind and site of who sends, and who gets.
func rowsOf() []row {
	var all []row
	add := func(from, to place, port int, passes bool, reason string) {
		all = append(all, row{from: from, to: to, port: port, passes: passes, reason: reason})
	}
	for _, to := range sites {
		filtered := to == shoot.Sites[0]
		reason := map[bool]string{true: "no rule allows it", false: "the extension does not filter there"}[filtered]
		for _, from := range sites {
			if from == to {
				continue
			}
			for _, kind := range []string{kindNode, kindPod} {
				add(place{kind, from}, place{kindNode, to}, kubeletPort, true, "nodes of other sites may")
				add(place{kind, from}, place{kindNode, to}, otherPort, !filtered, reason)
				add(place{kind, from}, place{kindPod, to}, otherPort, true, "the overlay may")
			}
		}
		outside := place{kind: kindOutside}
		add(outside, place{kindNode, to}, nodePort, true, "it is the port of a Service")
		add(outside, place{kindNode, to}, kubeletPort, !filtered, reason)
		add(outside, place{kindNode, to}, otherPort, !filtered, reason)
		for _, kind := range []string{kindNode, kindPod} {
			add(place{kind, to}, outside, otherPort, true, "nothing is filtered")
		}
	}
	for _, kind := range []string{kindNode, kindPod} {
		for _, to := range []string{kindNode, kindPod} {
			add(place{kind, peerPool}, place{to, shoot.Sites[0]}, otherPort, true, "they are of one site")
			add(place{kind, shoot.Sites[0]}, place{to, peerPool}, otherPort, true, "they are of one site")
		}
	}
	return all
}

// matrixSpecs need nodes, which addressOf finds.
func matrixSpecs(addressOf func(ctx context.Context, pool string) (name, address string), at onNode) {
	pools := append(slices.Clone(sites[:]), peerPool)
	addresses := map[place]string{{kind: kindOutside}: administrator.String()}
	// try sends packets for rows that have one place to come from, at the same time, and returns which of them passed.
	try := func(ctx context.Context, from place, rows []row) ([]bool, error) {
		passed := make([]bool, len(rows))
		if from.kind == kindOutside {
			for i, r := range rows {
				dialing, cancel := context.WithTimeout(ctx, dialTime)
				conn, err := dialFrom(administrator)(dialing, "tcp", fmt.Sprintf("%s:%d", addresses[r.to], r.port))
				cancel()
				if passed[i] = err == nil; passed[i] {
					_ = conn.Close()
				}
			}
			return passed, nil
		}
		var script strings.Builder
		for i, r := range rows {
			fmt.Fprintf(&script, "send %d %s %s %d &\n", i, from.kind, addresses[r.to], r.port)
		}
		out, err := at(ctx, from.pool, ". /root/send.sh\n"+script.String()+"wait\n")
		for _, line := range strings.Fields(out) {
			var i int
			if _, err := fmt.Sscanf(line, "passed-%d", &i); err == nil && i < len(passed) {
				passed[i] = true
			}
		}
		return passed, err
	}
	// passes tries one row.
	passes := func(ctx context.Context, r row) (bool, error) {
		passed, err := try(ctx, r.from, []row{r})
		return passed[0], err
	}

	It("should send packets wherever they may, and nowhere else", func(ctx SpecContext) {
		parsed := template.Must(template.New("send").Parse(sendScript))
		for _, pool := range pools {
			name, address := addressOf(ctx, pool)
			var pod string
			Eventually(ctx, func() (err error) {
				if pod, err = peerAt(ctx, name); err == nil && pod == "" {
					err = fmt.Errorf("no peer runs on %s", name)
				}
				return err
			}, joinTime, time.Second).Should(Succeed())
			addresses[place{kindNode, pool}], addresses[place{kindPod, pool}] = address, pod
			var script bytes.Buffer
			Expect(parsed.Execute(&script, map[string]any{"Pod": pod, "NodePort": nodePort, "Other": otherPort})).To(Succeed())
			out, err := at(ctx, pool, script.String())
			Expect(err).NotTo(HaveOccurred(), "%s: %s", pool, out)
		}

		var wrong []string
		begin := time.Now()
		all := rowsOf()
		for len(all) > 0 {
			from := all[0].from
			var rows, rest []row
			for _, r := range all {
				if r.from == from {
					rows = append(rows, r)
				} else {
					rest = append(rest, r)
				}
			}
			all = rest
			passed, err := try(ctx, from, rows)
			Expect(err).NotTo(HaveOccurred(), from.String())
			for i, r := range rows {
				GinkgoWriter.Println(map[bool]string{true: "as it should", false: "WRONG"}[passed[i] == r.passes], "|", r)
				if passed[i] != r.passes {
					wrong = append(wrong, r.String())
				}
			}
		}
		AddReportEntry("matrix", fmt.Sprintf("%d rows in %.0f s", len(rowsOf()), time.Since(begin).Seconds()))
		Expect(wrong).To(BeEmpty())
	}, SpecTimeout(specTime))

	It("should carry packets of full size between the pods of all sites", func(ctx SpecContext) {
		for _, from := range sites {
			script := strings.Builder{}
			script.WriteString(". /root/send.sh\n")
			for _, to := range sites {
				if from != to {
					fmt.Fprintf(&script, "pod ping -q -c 3 -i 0.2 -W 5 -M do -s %d %s\n", overlayMTU-headers, addresses[place{kindPod, to}])
				}
			}
			out, err := at(ctx, from, script.String())
			Expect(err).NotTo(HaveOccurred(), "%s: %s", from, out)
			Expect(strings.Count(out, " 0% packet loss")).To(Equal(len(sites)-1), out)
		}
	}, SpecTimeout(specTime))

	// seen is the address with which a node of a site is seen on another one.
	seen := func(ctx context.Context, from, to string) (string, error) {
		return at(ctx, from, fmt.Sprintf("socat -u TCP:%s:%d,connect-timeout=3 -", addresses[place{kindNode, to}], bgpPort))
	}

	It("should be seen with their own addresses on other sites", func(ctx SpecContext) {
		for _, to := range sites {
			for _, from := range sites {
				if from != to {
					Expect(seen(ctx, from, to)).To(Equal(addresses[place{kindNode, from}]), "%s to %s", from, to)
				}
			}
		}
	}, SpecTimeout(specTime))

	It("should be seen with the address of their router while that translates, and be ready", func(ctx SpecContext) {
		from, to := shoot.Sites[0], shoot.MetalSites[0]
		DeferCleanup(lab.stack.translate, false)
		gateway, err := lab.stack.translate(ctx, true)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, seen, flowTime, time.Second).WithArguments(from, to).Should(Equal(gateway))
		Expect(seen(ctx, to, from)).To(Equal(addresses[place{kindNode, to}]), "the other direction is as before")
		become(ctx, from, corev1.ConditionTrue)
		Expect(lab.stack.translate(ctx, false)).To(Equal(gateway))
		Eventually(ctx, seen, flowTime, time.Second).WithArguments(from, to).Should(Equal(addresses[place{kindNode, from}]))
	}, SpecTimeout(specTime))

	DescribeTable("should fail a row of the matrix without what lets it pass", func(ctx SpecContext, from, to place, port int,
		remove func(context.Context) (restore func(context.Context))) {
		r := row{from: from, to: to, port: port}
		Expect(passes(ctx, r)).To(BeTrue())
		restore := remove(ctx)
		Eventually(ctx, passes, flowTime, time.Second).WithArguments(r).Should(BeFalse())
		restore(ctx)
		Eventually(ctx, passes, flowTime, time.Second).WithArguments(r).Should(BeTrue())
	},
		Entry("node to node of another site", place{kindNode, shoot.MetalSites[0]}, place{kindNode, shoot.Sites[0]}, kubeletPort,
			without(func(r rules.SecGroupRule) bool { return r.PortRangeMin == kubeletPort }), SpecTimeout(specTime)),
		Entry("pod to pod of another site", place{kindPod, shoot.VSphereSite}, place{kindPod, shoot.Sites[0]}, otherPort,
			without(func(r rules.SecGroupRule) bool { return r.PortRangeMin == 8472 }), SpecTimeout(specTime)),
		Entry("node to node of the same site", place{kindNode, peerPool}, place{kindNode, shoot.Sites[0]}, otherPort,
			without(func(r rules.SecGroupRule) bool { return r.RemoteGroupID != "" }), SpecTimeout(specTime)),
		Entry("pod to pod of the same site", place{kindPod, peerPool}, place{kindPod, shoot.Sites[0]}, otherPort,
			withoutPairs(func() string { return addresses[place{kindNode, peerPool}] }), SpecTimeout(specTime)),
		Entry("outside to the port of a Service", place{kind: kindOutside}, place{kindNode, shoot.Sites[0]}, nodePort,
			without(func(r rules.SecGroupRule) bool { return r.PortRangeMin == 30000 }), SpecTimeout(specTime)),
		Entry("node to outside", place{kindNode, shoot.Sites[0]}, place{kind: kindOutside}, otherPort,
			without(func(r rules.SecGroupRule) bool { return r.Direction == "egress" }), SpecTimeout(specTime)),
	)
}

// without removes rules from the nodes' security group by hand. The reconciliation of the Infrastructure restores them.
func without(is func(rules.SecGroupRule) bool) func(context.Context) func(context.Context) {
	return func(ctx context.Context) func(context.Context) {
		GinkgoHelper()
		pages, err := rules.List(lab.stack.network, rules.ListOpts{SecGroupID: lab.stack.group}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		all, err := rules.ExtractRules(pages)
		Expect(err).NotTo(HaveOccurred())
		removed := 0
		for _, rule := range all {
			if is(rule) {
				Expect(rules.Delete(ctx, lab.stack.network, rule.ID).ExtractErr()).To(Succeed())
				removed++
			}
		}
		Expect(removed).NotTo(BeZero())
		return func(ctx context.Context) {
			GinkgoHelper()
			Expect(lab.reconcileInfrastructure(ctx)).To(Succeed())
		}
	}
}

// withoutPairs removes the address pairs of a node's port.
func withoutPairs(address func() string) func(context.Context) func(context.Context) {
	return func(ctx context.Context) func(context.Context) {
		GinkgoHelper()
		pages, err := ports.List(lab.stack.network, ports.ListOpts{FixedIPs: []ports.FixedIPOpts{{IPAddress: address()}}}).AllPages(ctx)
		Expect(err).NotTo(HaveOccurred())
		found, err := ports.ExtractPorts(pages)
		Expect(err).NotTo(HaveOccurred())
		Expect(found).To(HaveLen(1))
		Expect(found[0].AllowedAddressPairs).NotTo(BeEmpty())
		set := func(ctx context.Context, pairs []ports.AddressPair) {
			GinkgoHelper()
			_, err := ports.Update(ctx, lab.stack.network, found[0].ID, ports.UpdateOpts{AllowedAddressPairs: &pairs}).Extract()
			Expect(err).NotTo(HaveOccurred())
		}
		set(ctx, []ports.AddressPair{})
		return func(ctx context.Context) { set(ctx, found[0].AllowedAddressPairs) }
	}
}
