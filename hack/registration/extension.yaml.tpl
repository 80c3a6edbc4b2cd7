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
            ref: registry.example.com/charts/gardener-extension-admission-hybrid-runtime:{{ .Version }}
      virtualCluster:
        helm:
          ociRepository:
            ref: registry.example.com/charts/gardener-extension-admission-hybrid-application:{{ .Version }}
      values:
        image: registry.example.com/gardener-extension-admission-hybrid:{{ .Version }}
    extension:
      helm:
        ociRepository:
          ref: registry.example.com/charts/gardener-extension-provider-hybrid:{{ .Version }}
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
      # In the runtime cluster of the garden it serves backups and DNSRecords.
      runtimeClusterValues:
        image: registry.example.com/gardener-extension-provider-hybrid:{{ .Version }}
      injectGardenKubeconfig: true
  resources:
{{- range .Resources }}
  - kind: {{ .Kind }}
    type: {{ .Type }}
{{- end }}
