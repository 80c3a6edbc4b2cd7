# Registers the extension with a Gardener whose ControllerRegistrations are managed by hand. Where gardener-operator manages
# them use extension.yaml instead. Replace the images by where they were pushed to. `make generate` packs the chart.
apiVersion: core.gardener.cloud/v1
kind: ControllerDeployment
metadata:
  name: provider-hybrid
helm:
{{- if .Published "gardener-extension-provider-hybrid" }}
  ociRepository:
    ref: {{ .Ref "gardener-extension-provider-hybrid" }}
{{- else }}
  rawChart: {{ .Chart }}
{{- end }}
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
injectGardenKubeconfig: true
---
apiVersion: core.gardener.cloud/v1beta1
kind: ControllerRegistration
metadata:
  name: provider-hybrid
  annotations:
    security.gardener.cloud/pod-security-enforce: restricted
spec:
  deployment:
    deploymentRefs:
    - name: provider-hybrid
  resources:
{{- range .Resources }}
  - kind: {{ .Kind }}
    type: {{ .Type }}
{{- end }}
