{{- define "type" -}}
### {{ .Name }}

{{ if .IsAlias }}A {{ markdownRenderTypeLink .UnderlyingType }}. {{ end }}{{ .Doc }}
{{ if .References }}
Used by{{ range $i, $reference := .SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $reference }}{{ end }}.
{{ end }}
{{- if .Members }}
| Field | Type | Description |
| --- | --- | --- |
{{ range .Members -}}
| `{{ .Name }}` | {{ markdownRenderType .Type }} | {{ if .Validation }}Optional. {{ end }}{{ markdownRenderFieldDoc .Doc }} |
{{ end }}
{{- end }}
{{- end -}}
