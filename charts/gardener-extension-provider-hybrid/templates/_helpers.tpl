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

{{- /* Not empty where the extension runs in a seed. A self-hosted shoot can be one, too. */ -}}
{{- define "inSeed" -}}
{{- if and (not .Values.gardener.runtimeCluster.enabled) (or (not .Values.gardener.selfHostedShootCluster) .Values.gardener.seed) }}true{{ end }}
{{- end -}}
