// SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
//
// SPDX-License-Identifier: Apache-2.0

package bastion

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gardener/gardener-extension-provider-hybrid/pkg/apis/hybrid/v1alpha1"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/client"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/platform/vsphere/owner"
	"github.com/gardener/gardener-extension-provider-hybrid/pkg/userdata"
)

// restriction installs the rules, also for the next boot. It ends the user data if that fails, before the user is created that may log in:
// a bastion without its rules cannot be used.
const restriction = `set -e
nft="$(command -v nft)" || { echo "There is no nft: the bastion cannot restrict SSH and is not set up." >&2; exit 1; }
mkdir -p /etc/gardener-bastion
cat > /etc/gardener-bastion/ssh.nft <<'RULES'
table inet gardener_bastion
delete table inet gardener_bastion
table inet gardener_bastion {
  chain input {
    type filter hook input priority -5; policy accept;
%s    tcp dport 22 drop
  }
}
RULES
cat > /etc/systemd/system/gardener-bastion.service <<UNIT
[Unit]
Description=Allow SSH from the ranges of the bastion alone
DefaultDependencies=no
Before=network-pre.target
Wants=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=$nft -f /etc/gardener-bastion/ssh.nft

[Install]
WantedBy=sysinit.target
UNIT
"$nft" -f /etc/gardener-bastion/ssh.nft
systemctl enable gardener-bastion.service
`

// restricted returns the script with rules that allow SSH from the ranges alone.
func restricted(script []byte, ingress []netip.Prefix) ([]byte, error) {
	shebang, rest, _ := bytes.Cut(script, []byte("\n"))
	if !bytes.HasPrefix(shebang, []byte("#!")) {
		return nil, platform.NewError(platform.ClassConfiguration, "spec.userData must be a script")
	}
	var rules strings.Builder
	for _, cidr := range ingress {
		family := "ip"
		if cidr.Addr().Is6() {
			family = "ip6"
		}
		fmt.Fprintf(&rules, "    %s saddr %s tcp dport 22 accept\n", family, cidr.Masked())
	}
	return slices.Concat(shebang, []byte("\n"), fmt.Appendf(nil, restriction, rules.String()), rest), nil
}

// isOf reports whether the virtual machine was created with the script, in the format of any image.
func isOf(vm *client.VirtualMachine, script []byte) bool {
	return slices.ContainsFunc([]v1alpha1.UserDataFormat{v1alpha1.UserDataFormatScript, v1alpha1.UserDataFormatIgnition},
		func(format v1alpha1.UserDataFormat) bool {
			data, err := userdata.Wrap(format, script)
			return err == nil && owner.HashOf(data) == vm.ExtraConfig[owner.KeyUserData]
		})
}
