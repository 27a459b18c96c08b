{{- define "culvert.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "culvert.selector" -}}
app.kubernetes.io/name: culvert
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "culvert.labels" -}}
{{ include "culvert.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Values that `helm upgrade --reuse-values` brings from before the chart had these. */ -}}
{{- define "culvert.include" -}}
{{- .Values.include | default dict | toYaml }}
{{- end }}

{{- /* `podSecurityContext: null` leaves no key either: only values from before `ingress.path` get the image's user. */ -}}
{{- define "culvert.podSecurityContext" -}}
{{- if hasKey .Values.ingress "path" }}
{{- with .Values.podSecurityContext }}{{ toYaml . }}{{ end }}
{{- else }}
{{- dict "runAsUser" 10001 "runAsGroup" 10001 "fsGroup" 10001 "fsGroupChangePolicy" "OnRootMismatch" | toYaml }}
{{- end }}
{{- end }}

{{- /* Folders of ConfigMaps and Secrets with parts of the configuration. */ -}}
{{- define "culvert.included" -}}
{{- $include := include "culvert.include" . | fromYaml }}
folders:
  {{- range $include.configMaps }}
  - /etc/culvert-include/configmap-{{ . }}
  {{- end }}
  {{- range $include.secrets }}
  - /etc/culvert-include/secret-{{ . }}
  {{- end }}
{{- end }}

{{- /* What would start, and then lose data or serve wrongly. */ -}}
{{- define "culvert.check" -}}
{{- $storage := .Values.config.storage | default dict }}
{{- $several := or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}
{{- if and $several (not (and $storage.database $storage.state)) }}
{{- fail "replicas share PostgreSQL and Redis: set config.storage.database and config.storage.state, or replicas: 1" }}
{{- end }}
{{- if and $several .Values.persistence.enabled }}
{{- fail "persistence is for replicas: 1: what replicas share stands in PostgreSQL, Redis and Qdrant" }}
{{- end }}
{{- if and (not $storage.database) (not .Values.persistence.enabled) }}
{{- fail "without config.storage.database accounts and usage would be gone with the pod: set it, or persistence.enabled" }}
{{- end }}
{{- end }}
