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

{{- /* Ports that a pod listens on differ, and so do those of the Service. */ -}}
{{- define "checkPorts" -}}
{{- $metrics := tpl (toString .Values.metricsPort) . -}}
{{- $health := tpl (toString .Values.healthPort) . -}}
{{- $pairs := list (list "metricsPort" $metrics "healthPort" $health) -}}
{{- $server := tpl (toString .Values.webhooks.serverPort) . -}}
{{- $pairs = append $pairs (list "metricsPort" $metrics "webhooks.serverPort" $server) -}}
{{- $pairs = append $pairs (list "healthPort" $health "webhooks.serverPort" $server) -}}
{{- $pairs = append $pairs (list "metricsPort" $metrics "webhooks.servicePort" (toString .Values.webhooks.servicePort)) -}}
{{- range $pairs -}}
{{- if eq (index . 1) (index . 3) -}}
{{- fail (printf "%s and %s are both %s, they must differ" (index . 0) (index . 2) (index . 1)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
