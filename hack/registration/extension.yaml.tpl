# Registers the extension with a Gardener that gardener-operator manages. Replace the references and images by where they were
# pushed to; with a digest a chart is not fetched again at each reconciliation.
apiVersion: operator.gardener.cloud/v1alpha1
kind: Extension
metadata:
  name: provider-hybrid
  annotations:
    security.gardener.cloud/pod-security-enforce: restricted
spec:
  deployment:
    admission:
      runtimeCluster:
        helm:
          ociRepository:
            ref: {{ .Ref "gardener-extension-admission-hybrid-runtime" }}
      virtualCluster:
        helm:
          ociRepository:
            ref: {{ .Ref "gardener-extension-admission-hybrid-application" }}
      values:
        image: {{ .Registry }}/gardener-extension-admission-hybrid:{{ .Tag "gardener-extension-admission-hybrid" }}
    extension:
      helm:
        ociRepository:
          ref: {{ .Ref "gardener-extension-provider-hybrid" }}
      values:
        image: {{ .Registry }}/gardener-extension-provider-hybrid:{{ .Tag "gardener-extension-provider-hybrid" }}
        # The images that shoots run, as text.
        imageVectorOverwrite: |
          images:
          {{- range .Own }}
          - name: {{ . }}
            repository: {{ $.Registry }}/{{ . }}
            tag: {{ $.Tag . }}
          {{- end }}
      # In the runtime cluster of the garden it serves backups and DNSRecords.
      runtimeClusterValues:
        image: {{ .Registry }}/gardener-extension-provider-hybrid:{{ .Tag "gardener-extension-provider-hybrid" }}
      injectGardenKubeconfig: true
  resources:
{{- range .Resources }}
  - kind: {{ .Kind }}
    type: {{ .Type }}
{{- end }}
