# Registers the extension with a Gardener whose ControllerRegistrations are managed by hand. Where gardener-operator manages
# them use extension.yaml instead. Replace the images by where they were pushed to. `make generate` packs the chart.
apiVersion: core.gardener.cloud/v1
kind: ControllerDeployment
metadata:
  name: provider-hybrid
helm:
  rawChart: {{ .Chart }}
  values:
    image: registry.example.com/gardener-extension-provider-hybrid:{{ .Version }}
    # The images that shoots run, as text.
    imageVectorOverwrite: |
      images:
      - name: machine-controller-manager-provider-hybrid
        repository: registry.example.com/machine-controller-manager-provider-hybrid
        tag: {{ .Version }}
      - name: cloud-controller-manager-hybrid
        repository: registry.example.com/cloud-controller-manager-hybrid
        tag: {{ .Version }}
      - name: cinder-csi-plugin-hybrid
        repository: registry.example.com/cinder-csi-plugin-hybrid
        tag: {{ .Version }}
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
