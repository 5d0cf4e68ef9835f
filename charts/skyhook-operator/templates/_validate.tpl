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
{{- if and $minAvailable (ge (int $minAvailable) (int $manager.replicas)) -}}
{{- fail "controllerManager.podDisruptionBudget.minAvailable must be less than controllerManager.replicas, or nodes could never be drained" -}}
{{- end -}}
{{- if and .Values.webhook.certManager.enable (not .Values.webhook.enable) -}}
{{- fail "webhook.certManager.enable needs webhook.enable: without webhooks there is nothing to make a certificate for" -}}
{{- end -}}
{{- if and (gt (int $manager.replicas) 1) (ne (toString $manager.manager.env.leaderElection) "true") -}}
{{- fail "controllerManager.manager.env.leaderElection must be true when controllerManager.replicas is more than 1" -}}
{{- end -}}
{{- end -}}
