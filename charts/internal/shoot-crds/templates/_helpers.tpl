{{/*
The custom resource definitions of a folder. They stay in the shoot when they are not needed any more, because all objects of
their kinds would go with them.
Arguments: a dict with "folder", the name of the folder in files, and "root", the context of the chart.
*/}}
{{- define "hybrid.crds" -}}
{{- range $path, $content := .root.Files.Glob (printf "files/%s/*.yaml" .folder) }}
{{- $crd := $content | toString | fromYaml }}
{{- $annotations := dict "resources.gardener.cloud/keep-object" "true" | merge ($crd.metadata.annotations | default dict) }}
{{- $_ := set $crd.metadata "annotations" $annotations }}
---
{{ $crd | toYaml }}
{{- end }}
{{- end -}}
