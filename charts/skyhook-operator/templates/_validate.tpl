{{/* What the schema cannot say. Rendered by the Deployment. */}}
{{- define "skyhook.validate" -}}
{{- $manager := .Values.controllerManager -}}
{{- if eq .Release.Namespace "default" -}}
{{- fail "installing into the namespace \"default\" is not allowed for security reasons: package pods are privileged; choose another with --namespace" -}}
{{- end -}}
{{- if and $manager.selectors $manager.nodeAffinity.matchExpressions -}}
{{- fail "Cannot specify both controllerManager.selectors and controllerManager.nodeAffinity.matchExpressions" -}}
{{- end -}}
{{- include "skyhook.validateOrigin" . -}}
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
{{- /* A prefix as of DNS, a name of at most 63 characters, a value of a label: else the API server refuses the taint. */ -}}
{{- $prefix := "([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?" -}}
{{- $name := "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" -}}
{{- if not (regexMatch (printf "^%s%s(=(%s)?)?:(NoSchedule|PreferNoSchedule|NoExecute)$" $prefix $name $name) (default "" .runtimeRequiredTaint)) -}}
{{- fail (printf "%s.runtimeRequiredTaint is %q; write it as key=value:effect with effect NoSchedule, PreferNoSchedule or NoExecute" $at (default "" .runtimeRequiredTaint)) -}}
{{- end -}}
{{- end -}}

{{/* The values that are set and that only the existing operator's chart has. They are for parts that this one has not got. */}}
{{- define "skyhook.existingOnly" -}}
{{- $only := list -}}
{{- if .Values.cleanup }}{{ $only = append $only "cleanup" }}{{ end -}}
{{- if .Values.controllerManager.kubeRbacProxy }}{{ $only = append $only "controllerManager.kubeRbacProxy" }}{{ end -}}
{{- if .Values.controllerManager.manager.env.pauseImage }}{{ $only = append $only "controllerManager.manager.env.pauseImage" }}{{ end -}}
{{- range $name := list "removalImage" "removalTag" "removalDigest" -}}
{{- if get $.Values.webhook $name }}{{ $only = append $only (printf "webhook.%s" $name) }}{{ end -}}
{{- end -}}
{{ join ", " $only }}
{{- end -}}

{{/* Values of the existing operator's chart, whole or reused. They name its images, which this chart's pods cannot run: known
     are its registries, and copies elsewhere by the values that only its chart has. */}}
{{- define "skyhook.validateOrigin" -}}
{{- $manager := .Values.controllerManager.manager -}}
{{- $only := include "skyhook.existingOnly" . -}}
{{- $images := list -}}
{{- range $name := list "image" "agent" -}}
{{- $repository := (index $manager $name).repository | default "" -}}
{{- $theirs := regexMatch "(^|/)nvidia/(skyhook|nodewright)/[a-z-]+$" $repository -}}
{{- if or $theirs (and $only (not (hasPrefix "ghcr.io/skyhook-operator/" $repository))) -}}
{{- $images = append $images (printf "controllerManager.manager.%s (%s)" $name $repository) -}}
{{- end -}}
{{- end -}}
{{- if $images -}}
{{- $drop := "" -}}
{{- if $only }}{{ $drop = printf "; drop as well %s, which only that chart has" $only }}{{ end -}}
{{- fail (printf "these values are of the existing operator's chart, and name its images, which cannot run here: drop %s%s. After --reuse-values, use --reset-values and a file with the values that you mean; docs/migrate.md says which" (join ", " $images) $drop) -}}
{{- end -}}
{{- $instead := dict
      "jobStageTimeout" "set controllerManager.manager.env.defaultStageTimeout, or stageTimeout of a package"
      "jobBackoffLimit" "set controllerManager.manager.env.defaultMaxRetries, or maxRetries of a package"
      "legacyCleanupDelay" "nothing is renamed here, so there is nothing to clean up" -}}
{{- range $name := keys $instead | sortAlpha -}}
{{- if hasKey $manager.env $name -}}
{{- fail (printf "controllerManager.manager.env.%s is of another operator's chart: drop it; %s" $name (index $instead $name)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
