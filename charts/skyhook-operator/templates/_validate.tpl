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
{{- fail "controllerManager.podDisruptionBudget.minAvailable must be less than controllerManager.replicas, or nodes could never be drained; set it to 0 for no budget, or raise replicas" -}}
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
{{- include "skyhook.validateSettings" $manager.manager.env -}}
{{- if and (gt (int $manager.replicas) 1) (ne (toString $manager.manager.env.leaderElection) "true") -}}
{{- fail "controllerManager.manager.env.leaderElection must be true when controllerManager.replicas is more than 1" -}}
{{- end -}}
{{- end -}}

{{/* Settings with a form of their own. The schema could only tell the pattern that they do not match. */}}
{{- define "skyhook.validateSettings" -}}
{{- $at := "controllerManager.manager.env" -}}
{{- with .packageRegistry -}}
{{- if not (regexMatch "^[^ ,/]*[.:][^ ,/]*(/[^ ,/:]+)*$" .) -}}
{{- fail (printf "%s.packageRegistry is %q; name a registry without a scheme, with or without the beginning of a path, like registry.example.com:5000/copies" $at .) -}}
{{- end -}}
{{- end -}}
{{- range .allowedRegistries -}}
{{- if not (regexMatch "^[^ ,/]+(/[^ ,/]+)*$" .) -}}
{{- fail (printf "%s.allowedRegistries has %q; name a registry without a scheme, with or without the beginning of a path, like ghcr.io/org" $at .) -}}
{{- end -}}
{{- end -}}
{{- if not (regexMatch "^[^=:]+(=[^:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$" (default "" .runtimeRequiredTaint)) -}}
{{- fail (printf "%s.runtimeRequiredTaint is %q; write it as key=value:effect with effect NoSchedule, PreferNoSchedule or NoExecute" $at (default "" .runtimeRequiredTaint)) -}}
{{- end -}}
{{- end -}}
