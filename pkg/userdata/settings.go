// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package userdata

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/ignition"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
)

// shellRegexp matches the first line of scripts that other commands of a shell can be added to.
var shellRegexp = regexp.MustCompile(`^#! ?/(usr/)?bin/(env )?(ba|da)?sh[^\n]*\n`)

// settingsHead begins the settings, and settingsTail ends them. Contents are encoded, so that none of them is a command. What fails does
// not keep the machine from what is next.
const (
	settingsHead = `# Settings of the site.
(
set +e
umask 022
site_file() { mkdir -p "${1%/*}" && printf %s "$2" | base64 -d >"$1"; }
`
	settingsTail = ":\n)\n"
)

// proxiedUnits are the units whose requests go through the proxy.
var proxiedUnits = []string{"containerd", "gardener-node-init", "gardener-node-agent", "kubelet"}

// caScript adds the authorities to those of the operating system in the same places as Gardener does with its own, which an update by
// gardener-node-agent keeps. See pkg/component/extensions/operatingsystemconfig/original/components/rootcertificates of Gardener.
const caScript = `mkdir -p /etc/pki/trust/anchors
cp "$local_certs/site-ca.crt" /etc/pki/trust/anchors/site-ca.pem
if [ -f /etc/debian_version ]; then
  cp -a /usr/local/share/ca-certificates/. "$local_certs" 2>/dev/null
  update-ca-certificates --localcertsdir "$local_certs"
else
  if grep -q flatcar /etc/os-release; then cp "$local_certs/site-ca.crt" /etc/ssl/certs/site-ca.pem; fi
  update-ca-certificates
fi
`

// withSettings returns the user data with the settings, which it applies before anything else. The error is of
// platform.ClassConfiguration.
func withSettings(settings *v1alpha1.NodeSettings, userData []byte) ([]byte, error) {
	script := settingsScript(settings)
	if first := shellRegexp.Find(userData); first != nil {
		return bytes.Join([][]byte{first, script, userData[len(first):]}, nil), nil
	}
	if ignition.VersionOf(userData) == "" {
		return nil, platform.NewError(platform.ClassConfiguration,
			"nodeSettings: the user data must be a script of sh or bash, or an Ignition config")
	}
	return Extend(userData, []ignition.File{ignition.NewFile(settingsPath, 0o700, append([]byte("#!/bin/sh\n"), script...))},
		ignition.Unit{Name: "gardener-site-settings.service", Enabled: true, Contents: settingsUnit})
}

const (
	settingsPath = "/opt/bin/gardener-site-settings"
	settingsUnit = `[Unit]
Description=Apply the settings of the site once
Before=containerd.service gardener-node-init.service gardener-user-data.service
ConditionFirstBoot=yes

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=` + settingsPath + `

[Install]
WantedBy=multi-user.target
`
)

// settingsScript returns commands of a shell that apply the settings.
func settingsScript(settings *v1alpha1.NodeSettings) []byte {
	var script strings.Builder
	file := func(path, content string) {
		fmt.Fprintf(&script, "site_file %s %s\n", path, base64.StdEncoding.EncodeToString([]byte(content)))
	}
	script.WriteString(settingsHead)
	if servers := settings.NTPServers; len(servers) > 0 {
		file("/etc/systemd/timesyncd.conf.d/90-site.conf", "[Time]\nNTP="+strings.Join(servers, " ")+"\n")
		script.WriteString("for folder in /etc/chrony/conf.d /etc/chrony.d; do\n[ ! -d $folder ] || ")
		file("$folder/90-site.conf", "server "+strings.Join(servers, " iburst prefer\nserver ")+" iburst prefer\n")
		script.WriteString("done\nfor unit in systemd-timesyncd chrony chronyd; do systemctl try-restart $unit 2>/dev/null; done\n")
	}
	for i := range settings.RegistryMirrors {
		mirror := &settings.RegistryMirrors[i]
		file("/etc/containerd/certs.d/"+mirror.Upstream+"/hosts.toml", hostsOf(mirror))
	}
	if settings.CABundle != "" {
		script.WriteString("local_certs=/var/lib/ca-certificates-local\n")
		file("$local_certs/site-ca.crt", strings.TrimSpace(settings.CABundle)+"\n")
		script.WriteString(caScript)
	}
	if proxy := settings.Proxy; proxy != nil {
		script.WriteString("for unit in " + strings.Join(proxiedUnits, " ") + "; do\n")
		// gardener-node-agent deletes the folders of drop-ins in /etc/systemd/system.
		file("/etc/systemd/system.control/$unit.service.d/90-site-proxy.conf", fmt.Sprintf(
			"[Service]\nEnvironment=\"HTTP_PROXY=%[1]s\" \"HTTPS_PROXY=%[1]s\" \"NO_PROXY=%[2]s\"\n", proxy.URL,
			strings.Join(proxy.NoProxy, ",")))
		script.WriteString("done\nsystemctl daemon-reload\n")
	}
	if settings.Proxy != nil || settings.CABundle != "" {
		script.WriteString("systemctl try-restart containerd\n")
	}
	script.WriteString(settingsTail)
	return []byte(script.String())
}

// hostsOf returns containerd's configuration of the registry. containerd itself is the last resort for the server.
func hostsOf(mirror *v1alpha1.RegistryMirror) string {
	var text strings.Builder
	for _, endpoint := range mirror.Endpoints {
		fmt.Fprintf(&text, "[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", endpoint)
		if parsed, err := url.Parse(endpoint); err == nil && strings.Trim(parsed.Path, "/") != "" {
			text.WriteString("  override_path = true\n")
		}
	}
	return text.String()
}
