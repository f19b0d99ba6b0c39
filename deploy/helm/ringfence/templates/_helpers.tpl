{{/* The name of this release's objects, before that of the role. */}}
{{- define "ringfence.name" -}}
{{- if contains "ringfence" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-ringfence" (.Release.Name | trunc 30 | trimSuffix "-") }}
{{- end }}
{{- end }}

{{/* Which objects are of a role: of a dict with root and role. */}}
{{- define "ringfence.selector" -}}
app.kubernetes.io/name: ringfence
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "ringfence.labels" -}}
{{ include "ringfence.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* The pod of a role: of a dict with root, role, values (of the role), and data: the volume where it is not a claim. */}}
{{- define "ringfence.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "ringfence.labels" . | nindent 4 }}
  annotations:
    prometheus.io/scrape: 'true'
    prometheus.io/port: '8080'
    prometheus.io/path: /metrics
spec:
  serviceAccountName: {{ include "ringfence.name" $root }}
  # It asks Kubernetes for nothing.
  automountServiceAccountToken: false
  enableServiceLinks: false
  # Draining takes at most 15 s.
  terminationGracePeriodSeconds: 40
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "ringfence.selector" . | nindent 10 }}
  containers:
    - name: ringfence
      image: {{ printf "%s:%s" $root.Values.image.repository ($root.Values.image.tag | default $root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      env:
        - name: RINGFENCE_ENGINE
          value: distributed
        - name: RINGFENCE_ROLES
          value: {{ .role }}
        - name: RINGFENCE_PARTITIONS
          value: {{ $root.Values.partitions | quote }}
        - name: RINGFENCE_NATS_REPLICAS
          value: {{ $root.Values.nats.replicas | quote }}
        - name: RINGFENCE_NATS_URL
          valueFrom:
            secretKeyRef:
              name: {{ $root.Values.nats.existingSecret }}
              key: {{ .role }}
        {{- if $root.Values.nats.caSecret }}
        - name: RINGFENCE_NATS_TLS_CA
          value: /etc/ringfence/nats/ca.crt
        {{- end }}
        {{- range $name, $value := $root.Values.settings }}
        - name: {{ $name }}
          value: {{ $value | quote }}
        {{- end }}
      {{- with $root.Values.environmentSecret }}
      envFrom:
        - secretRef: { name: {{ . }} }
      {{- end }}
      ports:
        - name: http
          containerPort: 8080
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      {{- if eq .role "gateway" }}
      # New connections come for some seconds after a pod is told to end.
      lifecycle:
        preStop:
          exec: { command: [sleep, '5'] }
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      resources:
        {{- toYaml .values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /data
        - name: tmp
          mountPath: /tmp
        {{- if $root.Values.nats.caSecret }}
        - name: nats-ca
          mountPath: /etc/ringfence/nats
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { medium: Memory, sizeLimit: 64Mi }
    {{- with $root.Values.nats.caSecret }}
    - name: nats-ca
      secret: { secretName: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
    {{- end }}
    {{- with .data }}
    - name: data
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}

{{/* The claim of a StatefulSet's data: of a role's values. */}}
{{- define "ringfence.claim" -}}
metadata:
  name: data
spec:
  accessModes: [ReadWriteOnce]
  {{- with .storage.className }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests: { storage: {{ .storage.size }} }
{{- end }}
