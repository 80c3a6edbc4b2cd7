{{/*
What the provisioner reads: the folders for volumes, and the pod that makes and removes one on its host. The latter writes to the host,
which only root may.
*/}}
{{- define "local-volumes.config" -}}
config.json: |
  {{ dict "nodePathMap" (list (dict "node" "DEFAULT_PATH_FOR_NON_LISTED_NODES" "paths" .Values.paths)) | toJson }}
helperPod.yaml: |
  apiVersion: v1
  kind: Pod
  metadata:
    name: local-volumes-helper
    labels:
      app: kubernetes
      role: local-volumes-helper
  spec:
    automountServiceAccountToken: false
    enableServiceLinks: false
    priorityClassName: system-node-critical
    terminationGracePeriodSeconds: 0
    containers:
    - name: helper-pod
      image: {{ index .Values.images "local-path-helper" }}
      imagePullPolicy: IfNotPresent
      resources:
        requests:
          cpu: 5m
          memory: 8Mi
        limits:
          memory: 64Mi
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        runAsUser: 0
        seccompProfile:
          type: RuntimeDefault
{{- end -}}
