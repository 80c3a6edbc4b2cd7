{{- define "gvDetails" -}}
`{{ .GroupVersionString }}`

{{ .Doc }}

## Documents

Each has the fields `apiVersion`, which is `{{ .GroupVersionString }}`, and `kind`, which is its name.
{{ range .SortedTypes }}{{ if not .References }}{{ if .Members }}
{{ template "type" . }}
{{- end }}{{ end }}{{ end }}
## Types
{{ range .SortedTypes }}{{ if .References }}
{{ template "type" . }}
{{- end }}{{ end }}
{{- end -}}
