{{/*
The nodes of a site. Argument: the values of the site.
*/}}
{{- define "metallb.nodes" -}}
hybrid.provider.extensions.gardener.cloud/site: {{ .name }}
{{- end -}}

{{- define "metallb.nodeSelectors" -}}
nodeSelectors:
- matchLabels:
    {{- include "metallb.nodes" . | nindent 4 }}
{{- end -}}

{{/*
The arguments that both programs have. Argument: the values of the site.
*/}}
{{- define "metallb.args" -}}
- --port=9120
- --health-probe-port=17472
- --log-level=info
- --namespace=metallb-{{ .name }}
{{- with .loadBalancerClass }}
- --lb-class={{ . }}
{{- end }}
{{- end -}}
