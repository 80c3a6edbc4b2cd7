{{/*
The labels by which the pods are found.
*/}}
{{- define "csi-manila.labels" -}}
app: kubernetes
role: csi-manila-controller
{{- end -}}

{{/*
A sidecar that stands between the apiserver of the shoot and the driver. One of all replicas works.
Arguments: a dict with "name", also the name of the image, "port", that of its metrics, "memory", "args" and "root", the context of the chart.
*/}}
{{- define "csi-manila.sidecar" -}}
- name: {{ .name }}
  image: {{ index .root.Values.images .name }}
  imagePullPolicy: IfNotPresent
  args:
  - --csi-address=/csi/csi.sock
  - --kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig
  - --leader-election=true
  - --leader-election-namespace=kube-system
  - --http-endpoint=:{{ .port }}
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
