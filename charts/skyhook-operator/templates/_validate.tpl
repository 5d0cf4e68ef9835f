{{/* What the schema cannot say. Rendered by the Deployment. */}}
{{- define "skyhook.validate" -}}
{{- $manager := .Values.controllerManager -}}
{{- if eq .Release.Namespace "default" -}}
{{- fail "installing into the namespace \"default\" is not allowed for security reasons: package pods are privileged; choose another with --namespace" -}}
{{- end -}}
{{- if and $manager.selectors $manager.nodeAffinity.matchExpressions -}}
{{- fail "Cannot specify both controllerManager.selectors and controllerManager.nodeAffinity.matchExpressions" -}}
{{- end -}}
{{- $minAvailable := ($manager.podDisruptionBudget).minAvailable -}}
{{- $kept := int $minAvailable -}}
{{- if kindIs "string" $minAvailable -}}
{{- $kept = int (ceil (divf (mulf (trimSuffix "%" $minAvailable) $manager.replicas) 100)) -}}
{{- end -}}
{{- if and $minAvailable (ge $kept (int $manager.replicas)) -}}
{{- fail "controllerManager.podDisruptionBudget.minAvailable must be less than controllerManager.replicas, or nodes could never be drained" -}}
{{- end -}}
{{- if and .Values.webhook.certManager.enable (not .Values.webhook.enable) -}}
{{- fail "webhook.certManager.enable needs webhook.enable: without webhooks there is nothing to make a certificate for" -}}
{{- end -}}
{{- $pods := .Values.metrics.podMonitor -}}
{{- if and $pods.enable .Values.metrics.serviceMonitor.enable -}}
{{- fail "metrics.podMonitor.enable and metrics.serviceMonitor.enable must not both be true, or Prometheus would have every series twice" -}}
{{- end -}}
{{- if and $pods.enable .Values.metrics.secure (not $pods.tokenSecret) -}}
{{- fail "metrics.podMonitor.tokenSecret must name a Secret with a token when metrics.secure is true: a PodMonitor cannot use Prometheus' own token; or use metrics.serviceMonitor" -}}
{{- end -}}
{{- if and .Values.rbac.aggregateViewerRole (not .Values.rbac.createSkyhookViewerRole) -}}
{{- fail "rbac.aggregateViewerRole needs rbac.createSkyhookViewerRole: there is no role to add to view" -}}
{{- end -}}
{{- if and (gt (int $manager.replicas) 1) (ne (toString $manager.manager.env.leaderElection) "true") -}}
{{- fail "controllerManager.manager.env.leaderElection must be true when controllerManager.replicas is more than 1" -}}
{{- end -}}
{{- end -}}
