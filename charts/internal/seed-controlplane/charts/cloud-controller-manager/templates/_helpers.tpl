{{/*
The labels by which the pods are found.
*/}}
{{- define "cloud-controller-manager.labels" -}}
app: kubernetes
role: cloud-controller-manager
{{- end -}}
