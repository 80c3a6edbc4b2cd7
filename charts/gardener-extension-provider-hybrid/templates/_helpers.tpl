{{- /* A seed can be the runtime cluster of its garden, so that the names of what is not in a namespace differ. */ -}}
{{- define "name" -}}
gardener-extension-provider-hybrid{{ if .Values.gardener.runtimeCluster.enabled }}-runtime{{ end }}
{{- end -}}

{{- define "role" -}}
extensions.gardener.cloud:provider-hybrid{{ if .Values.gardener.runtimeCluster.enabled }}:runtime{{ end }}
{{- end -}}

{{- define "labels" -}}
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
