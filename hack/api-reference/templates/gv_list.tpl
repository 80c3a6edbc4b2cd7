{{- define "gvList" -}}
# Provider API

{{ range . -}}
{{ template "gvDetails" . }}
{{- end }}
{{- end -}}
