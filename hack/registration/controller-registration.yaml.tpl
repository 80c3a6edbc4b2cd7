# Registers the extension with a Gardener whose ControllerRegistrations are managed by hand. Where gardener-operator manages
# them use extension.yaml instead. Replace the image by where it was pushed to. `make generate` packs the chart.
apiVersion: core.gardener.cloud/v1
kind: ControllerDeployment
metadata:
  name: provider-hybrid
helm:
  rawChart: {{ .Chart }}
  values:
    image: registry.example.com/gardener-extension-provider-hybrid:{{ .Version }}
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
