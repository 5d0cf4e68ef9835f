-- Argo CD's health of a Skyhook or a DeploymentPolicy, see docs/gitops.md.
local generation = obj.metadata.generation
local status = obj.status or {}
local conditions = {}
for _, c in ipairs(status.conditions or {}) do
  conditions[c.type] = c
end

-- What is true of the spec as it is now, not as it was before the last commit.
local function is(kind)
  local c = conditions[kind]
  return c ~= nil and c.status == "True" and c.observedGeneration == generation
end

if is("Stalled") then
  return {status = "Degraded", message = conditions.Stalled.message}
end
if status.observedGeneration ~= generation then
  return {status = "Progressing", message = "the operator has not seen generation " .. tostring(generation) .. " yet"}
end
if obj.kind == "DeploymentPolicy" then
  return {status = "Healthy", message = ""}
end
if is("Ready") then
  return {status = "Healthy", message = conditions.Ready.message}
end
if is("Reconciling") then
  return {status = "Progressing", message = conditions.Reconciling.message}
end
-- Paused, disabled, or everything is stopped: a person wants it so.
return {status = "Suspended", message = conditions.Ready.message}
