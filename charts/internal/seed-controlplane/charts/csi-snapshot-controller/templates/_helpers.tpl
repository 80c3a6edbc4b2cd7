{{/*
The labels by which the pods are found.
*/}}
{{- define "csi-snapshot-controller.labels" -}}
app: kubernetes
role: csi-snapshot-controller
{{- end -}}
