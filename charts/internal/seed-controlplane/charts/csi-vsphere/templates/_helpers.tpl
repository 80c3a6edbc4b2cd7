{{/*
The labels by which the pods are found.
*/}}
{{- define "csi-vsphere.labels" -}}
app: kubernetes
role: csi-vsphere-controller
{{- end -}}

{{- define "csi-vsphere.kubeconfig" -}}
/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig
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
A sidecar that stands between the API server of the shoot and the driver. One of all replicas works; the leases are in the shoot.
Arguments: a dict with "name", also the name of the image, "port", that of its metrics, "memory", "args" and "root", the context of the chart.
*/}}
{{- define "csi-vsphere.sidecar" -}}
- name: {{ .name }}
  image: {{ index .root.Values.images .name }}
  imagePullPolicy: IfNotPresent
  args:
  - --csi-address=/csi/csi.sock
  - --kubeconfig={{ include "csi-vsphere.kubeconfig" .root }}
  - --leader-election
  - --leader-election-namespace=kube-system
  - --http-endpoint=:{{ .port }}
  - --timeout=300s
  {{- range .args }}
  - {{ . }}
  {{- end }}
  - --v=2
  {{- include "hybrid.container.security" . | nindent 2 }}
  ports:
  - name: {{ trimPrefix "csi-" .name }}
    containerPort: {{ .port }}
    protocol: TCP
  resources:
    requests:
      cpu: 5m
      memory: {{ .memory }}
    limits:
      memory: 512Mi # it keeps the volumes and nodes of the shoot in memory
  volumeMounts:
  - name: socket
    mountPath: /csi
  {{- include "hybrid.kubeconfig.mount" . | nindent 2 }}
{{- end -}}
