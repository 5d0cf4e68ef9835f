{{/* An image reference: digest and tag, digest alone, or tag, by default the chart's appVersion.
     Takes a list of the image's values and the root. */}}
{{- define "skyhook.image" -}}
{{- $image := index . 0 -}}
{{- $root := index . 1 -}}
{{- if and $image.digest $image.tag -}}
{{ $image.repository }}:{{ $image.tag }}@{{ $image.digest }}
{{- else if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default $root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The number at the end of a listen address. */}}
{{- define "skyhook.port" -}}
{{ regexFind "[0-9]+$" . }}
{{- end -}}

{{/* Memory grows with nodes times packages, CPU with nodes alone. Requests are half of the memory and, beyond 2,500
     nodes, a quarter of the CPU. */}}
{{- define "skyhook.resources" -}}
{{- with .Values.controllerManager.manager.resources -}}
{{- toYaml . -}}
{{- else -}}
{{- /* Some twice the peaks in docs/numbers.md, so that a rollout stays below the limit. */ -}}
{{- $nodes := float64 .Values.estimatedNodeCount -}}
{{- $memory := maxf 512 (addf 256 (mulf $nodes (addf 0.02 (mulf 0.004 (float64 .Values.estimatedPackageCount))))) -}}
limits:
  cpu: {{ int (minf 4000 (maxf 1000 (mulf 0.4 $nodes))) }}m
  memory: {{ int $memory }}Mi
requests:
  cpu: {{ int (minf 1000 (maxf 100 (mulf 0.1 $nodes))) }}m
  memory: {{ int (divf $memory 2) }}Mi
{{- end -}}
{{- end -}}

{{/* Where the operator listens for reviews: on the port that the Service calls, unless it calls the container's by name. */}}
{{- define "skyhook.webhookPort" -}}
{{- $target := (index .Values.webhookService.ports 0).targetPort | default 9443 -}}
{{ if kindIs "string" $target }}9443{{ else }}{{ int $target }}{{ end }}
{{- end -}}

{{- define "skyhook.env" -}}
{{- $env := .Values.controllerManager.manager.env -}}
- { name: METRICS_PORT, value: {{ $env.metricsPort | quote }} }
- { name: METRICS_SECURE, value: {{ .Values.metrics.secure | quote }} }
- { name: METRICS_SERVICE_NAME, value: {{ include "skyhook.metricsService" . | quote }} }
- { name: PROBE_PORT, value: {{ $env.probePort | quote }} }
- { name: LEADER_ELECTION, value: {{ $env.leaderElection | quote }} }
- { name: LOG_LEVEL, value: {{ $env.logLevel | quote }} }
- { name: NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }
- { name: POD_NAME, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
- { name: IMAGE_PULL_SECRET, value: {{ .Values.imagePullSecret | default "" | quote }} }
- { name: COPY_DIR_ROOT, value: {{ $env.copyDirRoot | quote }} }
- { name: AGENT_LOG_ROOT, value: {{ $env.agentLogRoot | quote }} }
- { name: REAPPLY_ON_REBOOT, value: {{ $env.reapplyOnReboot | quote }} }
- { name: DETECT_REPLACED_HOSTS, value: {{ $env.detectReplacedHosts | quote }} }
- { name: DRAIN_FORCE, value: {{ $env.drainForce | quote }} }
- { name: DISCOVER_UNINSTALL, value: {{ $env.discoverUninstall | quote }} }
- { name: PACKAGE_PRIORITY_CLASS, value: {{ $env.packagePriorityClass | default "" | quote }} }
- { name: DEFAULT_STAGE_TIMEOUT, value: {{ $env.defaultStageTimeout | default "" | quote }} }
- { name: DEFAULT_MAX_RETRIES, value: {{ if not (kindIs "invalid" $env.defaultMaxRetries) }}{{ $env.defaultMaxRetries | toString | quote }}{{ else }}""{{ end }} }
- { name: INTERRUPT_MEMORY, value: {{ $env.interruptMemory | default "256Mi" | quote }} }
- { name: PIN_IMAGES, value: {{ $env.pinImages | quote }} }
- { name: REQUIRE_DIGEST, value: {{ $env.requireDigest | quote }} }
- { name: ALLOWED_REGISTRIES, value: {{ join "," $env.allowedRegistries | quote }} }
- { name: FORBID_AGENT_IMAGE_OVERRIDE, value: {{ $env.forbidAgentImageOverride | quote }} }
- { name: PACKAGE_PULL_POLICY, value: {{ $env.packagePullPolicy | quote }} }
- { name: PACKAGE_REGISTRY, value: {{ $env.packageRegistry | default "" | quote }} }
- { name: DEFAULT_TOLERATIONS, value: {{ $env.defaultTolerations | default list | toJson | quote }} }
- { name: KUBERNETES_CLUSTER_DOMAIN, value: {{ .Values.kubernetesClusterDomain | quote }} }
- { name: RUNTIME_REQUIRED_TAINT, value: {{ $env.runtimeRequiredTaint | quote }} }
- { name: ENABLE_WEBHOOKS, value: {{ .Values.webhook.enable | quote }} }
{{- if .Values.webhook.enable }}
- { name: WEBHOOK_SECRET_NAME, value: {{ .Values.webhook.secretName | quote }} }
- { name: WEBHOOK_SERVICE_NAME, value: {{ .Values.webhook.serviceName | quote }} }
- { name: WEBHOOK_PORT, value: ":{{ include "skyhook.webhookPort" . }}" }
- { name: WEBHOOK_MANAGE_CERTIFICATE, value: {{ not .Values.webhook.certManager.enable | quote }} }
{{- end }}
- { name: AGENT_IMAGE, value: {{ include "skyhook.image" (list .Values.controllerManager.manager.agent .) | quote }} }
{{- end -}}
