{{/*
The volume with the kubeconfig of a service account of the shoot.
Arguments: a dict with "account", the name of the service account, and "root", the context of the chart.
*/}}
{{- define "hybrid.kubeconfig.volume" -}}
- name: kubeconfig
  projected:
    defaultMode: 420
    sources:
    - secret:
        name: {{ .root.Values.global.genericTokenKubeconfigSecretName }}
        optional: false
        items:
        - key: kubeconfig
          path: kubeconfig
    - secret:
        name: shoot-access-{{ .account }}
        optional: false
        items:
        - key: token
          path: token
{{- end -}}

{{/*
The mount of that volume. The kubeconfig is /var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig.
*/}}
{{- define "hybrid.kubeconfig.mount" -}}
- name: kubeconfig
  mountPath: /var/run/secrets/gardener.cloud/shoot/generic-kubeconfig
  readOnly: true
{{- end -}}

{{/*
What every pod of the control plane has.
*/}}
{{- define "hybrid.pod.security" -}}
automountServiceAccountToken: false
priorityClassName: gardener-system-300
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/*
What every container of the control plane has.
*/}}
{{- define "hybrid.container.security" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
    - ALL
{{- end -}}
