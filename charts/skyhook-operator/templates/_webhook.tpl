{{/* One validating webhook. Takes a list of the kind in lower case, its resource, the operations and the root.
     Only changes of a spec are asked about: without the operator, objects can still be paused, and deleted. */}}
{{- define "skyhook.webhook" -}}
{{- $kind := index . 0 -}}
{{- $root := index . 3 -}}
- name: validate-{{ $kind }}.nvidia.com
  clientConfig:
    service:
      name: {{ $root.Values.webhook.serviceName }}
      namespace: {{ $root.Release.Namespace }}
      path: /validate-skyhook-nvidia-com-v1alpha1-{{ $kind }}
      port: {{ (index $root.Values.webhookService.ports 0).port }}
  rules:
    - apiGroups: [skyhook.nvidia.com]
      apiVersions: [v1alpha1]
      resources: [{{ index . 1 }}]
      operations: {{ index . 2 | toJson }}
      scope: "*"
  matchConditions:
    - name: not-being-deleted
      expression: request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp)
    - name: spec-changed
      expression: >-
        request.operation != 'UPDATE' || has(object.spec) != has(oldObject.spec) ||
        has(object.spec) && object.spec != oldObject.spec
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  matchPolicy: Equivalent
  sideEffects: None
  timeoutSeconds: 10
{{- end -}}
