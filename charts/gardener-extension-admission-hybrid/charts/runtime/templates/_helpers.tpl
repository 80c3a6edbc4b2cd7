{{- define "name" -}}
gardener-extension-admission-hybrid
{{- end -}}

{{- define "labels" -}}
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* Ports that a pod listens on differ, and so do those of the Service. */ -}}
{{- define "checkPorts" -}}
{{- $metrics := toString .Values.metricsPort -}}
{{- $health := toString .Values.healthPort -}}
{{- $server := toString .Values.webhooks.serverPort -}}
{{- range list
  (list "metricsPort" $metrics "healthPort" $health)
  (list "metricsPort" $metrics "webhooks.serverPort" $server)
  (list "healthPort" $health "webhooks.serverPort" $server)
  (list "metricsPort" $metrics "webhooks.servicePort" (toString .Values.webhooks.servicePort)) -}}
{{- if eq (index . 1) (index . 3) -}}
{{- fail (printf "%s and %s are both %s, they must differ" (index . 0) (index . 2) (index . 1)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
