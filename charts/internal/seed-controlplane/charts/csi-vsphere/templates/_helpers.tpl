{{- define "csi-vsphere.kubeconfig" -}}
/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig
{{- end -}}

{{/*
The arguments that all sidecars have. Leases are in the shoot.
*/}}
{{- define "csi-vsphere.sidecar.args" -}}
- --csi-address=/csi/csi.sock
- --kubeconfig={{ include "csi-vsphere.kubeconfig" . }}
- --leader-election
- --leader-election-namespace=kube-system
- --timeout=300s
- --v=2
{{- end -}}

{{/*
The environment of the driver and of its syncer. The namespace is that of their objects in the shoot.
*/}}
{{- define "csi-vsphere.env" -}}
- name: KUBECONFIG
  value: {{ include "csi-vsphere.kubeconfig" . }}
- name: CSI_NAMESPACE
  value: kube-system
- name: VSPHERE_CSI_CONFIG
  value: /etc/cloud/csi-vsphere.conf
- name: LOGGER_LEVEL
  value: PRODUCTION
{{- with .Values.proxy }}
- name: HTTPS_PROXY
  value: {{ quote .url }}
- name: NO_PROXY
  value: {{ quote .noProxy }}
{{- end }}
{{- end -}}

{{/*
What else all sidecars that speak to the API server have.
*/}}
{{- define "csi-vsphere.sidecar" -}}
{{ include "hybrid.container.security" . }}
volumeMounts:
- name: socket
  mountPath: /csi
{{ include "hybrid.kubeconfig.mount" . }}
{{- end -}}
