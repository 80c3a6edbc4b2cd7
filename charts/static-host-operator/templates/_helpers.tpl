{{- define "name" -}}
static-host-operator
{{- end -}}

{{- define "labels" -}}
app.kubernetes.io/name: {{ include "name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "check" -}}
{{- if has .Release.Namespace .Values.namespaces -}}
{{- fail (printf "namespaces has %s, the namespace of the release, which has the Secrets for SSH: shoots must not reach them" .Release.Namespace) -}}
{{- end -}}
{{- if eq (toString .Values.metricsPort) (toString .Values.healthPort) -}}
{{- fail (printf "metricsPort and healthPort are both %v, they must differ" .Values.metricsPort) -}}
{{- end -}}
{{- end -}}
