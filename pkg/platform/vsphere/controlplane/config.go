// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/site"
)

const (
	configFile = "csi-vsphere.conf"
	caFile     = "ca.crt"
	// configFolder is where the chart mounts the files.
	configFolder = "/etc/cloud"
	distribution = "Gardener"
	// maxClusterID is the length of a cluster-id.
	maxClusterID = 64
)

// filesOf returns the files of the driver's Secret. Settings that all vCenters share are in the section Global, where the driver and its
// syncer read them. s is one of the sites.
func filesOf(s *site.Site, vCenters []vCenter) (map[string]string, error) {
	if len(s.Shoot) > maxClusterID {
		return nil, mistake("the technical ID %q must have at most %d characters, the limit of the CSI driver for the ID of a cluster", s.Shoot,
			maxClusterID)
	}
	var (
		files = map[string]string{}
		w     = &writer{}
	)
	w.section("Global", "")
	w.set("cluster-id", s.Shoot)
	w.set("cluster-distribution", distribution)
	if ca := bundle(vCenters); ca != "" {
		files[caFile] = ca
		w.set("ca-file", configFolder+"/"+caFile)
	}
	if thumbprint := vCenters[0].tls.Thumbprint; thumbprint != "" {
		w.set("thumbprint", thumbprintOf(thumbprint))
	}
	for _, v := range vCenters {
		w.section("VirtualCenter", v.host)
		w.set("port", v.port)
		w.set("user", v.login.user)
		w.set("password", v.login.password)
		w.set("datacenters", strings.Join(v.datacenters, ","))
		if v.tls.InsecureSkipVerify {
			w.set("insecure-flag", "true")
		}
	}
	w.section("Labels", "")
	topology := s.Profile.VSphere.Topology
	w.set("topology-categories", topology.RegionCategory+","+topology.ZoneCategory)
	files[configFile] = w.String()
	return files, nil
}

// bundle returns the certificates that the vCenters are trusted with, each once.
func bundle(vCenters []vCenter) string {
	var result []string
	seen := map[string]bool{}
	for _, v := range vCenters {
		ca := strings.TrimSpace(v.tls.CACert)
		if ca != "" && !seen[ca] {
			seen[ca] = true
			result = append(result, ca+"\n")
		}
	}
	return strings.Join(result, "")
}

// thumbprintOf returns the thumbprint as the driver compares it: bytes in capitals, divided by colons.
func thumbprintOf(thumbprint string) string {
	digits := strings.ToUpper(strings.ReplaceAll(thumbprint, ":", ""))
	var result []string
	for ; len(digits) > 2; digits = digits[2:] {
		result = append(result, digits[:2])
	}
	return strings.Join(append(result, digits), ":")
}

// writer writes a file in the format of git's configuration, in which the driver reads its own.
type writer struct {
	strings.Builder
}

func (w *writer) section(name, subsection string) {
	if w.Len() > 0 {
		w.WriteString("\n")
	}
	if subsection == "" {
		fmt.Fprintf(w, "[%s]\n", name)
		return
	}
	fmt.Fprintf(w, "[%s %s]\n", name, quote(subsection))
}

func (w *writer) set(key, value string) {
	fmt.Fprintf(w, "%s = %s\n", key, quote(value))
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)

func quote(value string) string {
	return `"` + escapes.Replace(value) + `"`
}
