// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package manila

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/sharedfilesystems/v2/shares"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// maxPath is the maximum length of the path of a share, in bytes.
const maxPath = 1024

var (
	pathRegexp = regexp.MustCompile(`^/[A-Za-z0-9/._@:+=~-]+$`)
	// ownNames are the last labels of names of the node itself.
	ownNames = []string{"localhost", "localdomain"}
	// thisNetwork are addresses that Linux takes for those of the node itself.
	thisNetwork = netip.MustParsePrefix("0.0.0.0/8")
	broadcast   = netip.AddrFrom4([4]byte{255, 255, 255, 255})
)

// export is where a share is mounted from.
type export struct {
	server, path string
}

// exportOf returns the location that nodes mount a share from, a preferred one first. Nodes mount whatever it names, so a location is not
// used unless it can only be a folder of another host. The error is of ClassTransient.
func exportOf(locations []shares.ExportLocation) (export, error) {
	var reason error
	for _, preferred := range []bool{true, false} {
		for _, location := range locations {
			if location.IsAdminOnly || location.Preferred != preferred {
				continue
			}
			found, err := parseExport(location.Path)
			if err == nil {
				return found, nil
			}
			if reason == nil {
				reason = err
			}
		}
	}
	if reason == nil {
		reason = platform.NewError(platform.ClassTransient, "the share has no export location for nodes")
	}
	return export{}, reason
}

func parseExport(location string) (export, error) {
	host, folder, found := strings.Cut(location, ":/")
	folder = "/" + folder
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	switch {
	case !found:
		return refuse(location, "it must have the form <host>:/<path>")
	case len(folder) > maxPath || !pathRegexp.MatchString(folder) || path.Clean(folder) != folder:
		return refuse(location, "its path must be absolute and clean, without special characters")
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if !isOther(address) {
			return refuse(location, "its address is not that of another host")
		}
		return export{server: address.Unmap().String(), path: folder}, nil
	}
	host = strings.ToLower(host)
	last := host[strings.LastIndexByte(host, '.')+1:]
	// Resolvers read names whose last label is a number, such as 127.1, as addresses.
	if len(validation.IsDNS1123Subdomain(host)) > 0 || last[0] >= '0' && last[0] <= '9' || slices.Contains(ownNames, last) {
		return refuse(location, "its host must be an IP address or the DNS name of another host")
	}
	return export{server: host, path: folder}, nil
}

func refuse(location, reason string) (export, error) {
	return export{}, platform.NewError(platform.ClassTransient, "export location %q is not used: %s", platform.Printable(location), reason)
}

// isOther reports whether the address can be that of a file server, rather than of the node itself or its link.
func isOther(address netip.Addr) bool {
	plain := address.Unmap()
	return address.Zone() == "" && plain != broadcast && !thisNetwork.Contains(plain) && !plain.IsUnspecified() && !plain.IsLoopback() &&
		!plain.IsLinkLocalUnicast() && !plain.IsMulticast()
}
