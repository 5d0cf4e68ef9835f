{{- define "skyhook.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The prefix of namespaced names: the release, with the chart's name unless that is in it. */}}
{{- define "skyhook.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "skyhook.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "skyhook.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "skyhook.manager" -}}
{{ include "skyhook.fullname" . }}-controller-manager
{{- end -}}

{{/* One name whatever the release is called, by which existing scrape configurations call it. */}}
{{- define "skyhook.metricsService" -}}
skyhook-operator-controller-manager-metrics-service
{{- end -}}

{{/* What a certificate has to name: the Service that the API server calls, and that of the metrics. */}}
{{- define "skyhook.certificateNames" -}}
{{- $service := printf "%s.%s.svc" .Values.webhook.serviceName .Release.Namespace -}}
- {{ $service }}
- {{ $service }}.{{ .Values.kubernetesClusterDomain }}
{{- if .Values.metrics.secure }}
- {{ include "skyhook.metricsService" . }}.{{ .Release.Namespace }}.svc
{{- end }}
{{- end -}}

{{/* How Prometheus knows whom it talks to. */}}
{{- define "skyhook.scrapeTLS" -}}
{{- if .Values.webhook.enable -}}
serverName: {{ include "skyhook.metricsService" . }}.{{ .Release.Namespace }}.svc
ca:
  secret:
    name: {{ .Values.webhook.secretName }}
    key: ca.crt
{{- else -}}
# Without webhooks there is no authority: the certificate signs itself.
insecureSkipVerify: true
{{- end -}}
{{- end -}}

{{- define "skyhook.selectorLabels" -}}
app.kubernetes.io/name: {{ include "skyhook.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "skyhook.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "skyhook.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
