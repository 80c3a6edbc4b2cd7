#!/bin/bash
# SPDX-FileCopyrightText: SAP SE or an SAP affiliate company and Gardener contributors
#
# SPDX-License-Identifier: Apache-2.0

# What the user data of Gardener and its node agent do to a host, and more: files, units, a mount, an interface, a process and a user.
set -o errexit

echo "$(id -u) $(hostname) $(sed -n "s/^0:://p" /proc/self/cgroup)" >>/opt/runs

mkdir -p /opt/bin /var/lib/gardener-node-agent/credentials /var/lib/kubelet/pods/volume /etc/kubernetes /etc/containerd/conf.d
echo TOKEN >/var/lib/gardener-node-agent/credentials/bootstrap-token
printf '#!/bin/sh\nexec sleep infinity\n' >/opt/bin/gardener-node-agent
chmod 755 /opt/bin/gardener-node-agent
setfattr -n user.version -v 1 /opt/bin/gardener-node-agent

for unit in gardener-node-agent kubelet valitail; do
  cat >/etc/systemd/system/$unit.service <<END
[Service]
ExecStart=/opt/bin/gardener-node-agent
Restart=always
KillMode=process
[Install]
WantedBy=multi-user.target
END
done
cat >/etc/systemd/system/port.socket <<END
[Socket]
ListenStream=10250
Accept=yes
[Install]
WantedBy=sockets.target
END
printf '[Service]\nExecStart=/bin/true\n' >/etc/systemd/system/port@.service
mkdir -p /etc/systemd/system/containerd.service.d
printf '[Service]\nEnvironment=OF=machine\n' >/etc/systemd/system/containerd.service.d/30-env.conf
cat >/var/lib/gardener-node-agent/last-applied-osc.yaml <<END
apiVersion: extensions.gardener.cloud/v1alpha1
kind: OperatingSystemConfig
spec:
  units:
  - name: gardener-node-agent.service
  - name: kubelet.service
  - name: valitail.service
END
systemctl daemon-reload
systemctl enable --quiet --now gardener-node-agent.service kubelet.service valitail.service port.socket

# What was there is changed, removed, and made something else.
echo 'version = 2' >/etc/containerd/config.toml
echo 'echo TOKEN' >>/root/.bashrc
rm -f /etc/issue /etc/motd
ln -s /opt/runs /etc/motd
chmod 700 /usr/local/bin
chown daemon:daemon /etc/hosts
setfattr -n user.of -v machine /etc/hosts
mkdir -p /var/spool/cron/crontabs
echo '* * * * * true' >/var/spool/cron/crontabs/root
useradd --no-create-home --uid 4711 node
systemctl restart containerd

mount -t tmpfs volume /var/lib/kubelet/pods/volume
echo TOKEN >/var/lib/kubelet/pods/volume/token
ip link add cni0 type bridge
ip link set cni0 up
nft add table ip kube-proxy
mkdir -p /var/lib/local-volumes/pvc /var/log/pods/pod
echo TOKEN >/var/lib/local-volumes/pvc/data
echo TOKEN >/var/log/pods/pod/0.log
systemd-run --quiet --unit left --property KillMode=none sleep infinity
echo TOKEN
