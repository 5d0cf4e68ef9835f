package faults

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// Plan is a world and what happens to it, as plain data: it can be printed, kept, and made smaller.
type Plan struct {
	Seed uint64 `json:"seed"`
	// Schedule seeds the choices of the scheduler, which are not part of the world.
	Schedule uint64 `json:"schedule"`
	// Profile names what this world is about.
	Profile string `json:"profile"`
	// Steps is how long things happen.
	Steps int `json:"steps"`
	// Reapply is the operator's option REAPPLY_ON_REBOOT.
	Reapply bool `json:"reapply,omitempty"`
	// Lag is how reluctantly events reach the caches: 0 at once, up to 9.
	Lag int `json:"lag,omitempty"`
	// Offset of the first operator's clock, in seconds.
	Offset int `json:"offset,omitempty"`
	// Replaces is after how many seconds the cloud replaces a node whose host died; 0 for never.
	Replaces int `json:"replaces,omitempty"`

	Nodes    []NodePlan    `json:"nodes"`
	Policies []PolicyPlan  `json:"policies,omitempty"`
	Skyhooks []SkyhookPlan `json:"skyhooks"`
	Pods     []PodPlan     `json:"pods,omitempty"`
	Scripts  []Script      `json:"scripts,omitempty"`

	Happenings []Happening `json:"happenings,omitempty"`
}

// NodePlan is one host.
type NodePlan struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	// Ephemeral hosts forget at a reboot what agents left, such as which interrupts they did.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Graceful hosts end their pods as Failed when they go down.
	Graceful bool `json:"graceful,omitempty"`
	// PodsFirst hosts report their pods after a boot before their new boot id.
	PodsFirst bool `json:"podsFirst,omitempty"`
}

// PolicyPlan is one DeploymentPolicy.
type PolicyPlan struct {
	Name string                        `json:"name"`
	Spec v1alpha1.DeploymentPolicySpec `json:"spec"`
}

// SkyhookPlan is one Skyhook. At is the step at which it is created.
type SkyhookPlan struct {
	Name string               `json:"name"`
	Spec v1alpha1.SkyhookSpec `json:"spec"`
	At   int                  `json:"at,omitempty"`
}

// Kinds of foreign pods.
const (
	podManaged   = "managed"   // its controller creates it elsewhere when it is gone
	podReturning = "returning" // its controller creates it on the very node again
	podDaemon    = "daemon"
	podMirror    = "mirror"
	podAlone     = "alone" // nobody creates it again
	podProtected = "protected"
	podEmptyDir  = "emptydir"
)

// PodPlan is one pod of somebody else.
type PodPlan struct {
	Name string `json:"name"`
	Node string `json:"node"`
	Kind string `json:"kind"`
	// Grace is how many seconds it takes to end.
	Grace int `json:"grace,omitempty"`
	// Lives is after how many seconds it ends by itself; 0 for never.
	Lives int `json:"lives,omitempty"`
	// Budget names the disruption budget that guards it, of which the last pod may not be evicted.
	Budget string `json:"budget,omitempty"`
}

// Kinds of scripts.
const (
	scriptFails    = "fails"    // exits 1 Times times
	scriptSlow     = "slow"     // takes Times seconds
	scriptPull     = "pull"     // the image cannot be pulled until the world rests
	scriptCreating = "creating" // ContainerCreating until the world rests
	scriptHangs    = "hangs"    // does not end until the world rests
	scriptKills    = "kills"    // its host dies for good
	scriptBreaks   = "breaks"   // a health checker taints its node for good
)

// Script is how one package behaves, by accident: a package whose own content is bad fails until that is edited, see
// poisoned. Empty fields match everything.
type Script struct {
	Kind    string         `json:"kind"`
	Skyhook string         `json:"skyhook,omitempty"`
	Package string         `json:"package,omitempty"`
	Version string         `json:"version,omitempty"`
	Stage   v1alpha1.Stage `json:"stage,omitempty"`
	Node    string         `json:"node,omitempty"`
	Times   int            `json:"times,omitempty"`
}

// Happening is one thing that happens to the world at a step. What it hits is drawn with its own seed, so that it stays
// the same when other happenings are left out.
type Happening struct {
	At   int    `json:"at"`
	Kind string `json:"kind"`
	R    uint64 `json:"r"`
	// When is the moment that it waits for from step At on; empty for none. One whose moment does not come does not
	// happen.
	When string `json:"when,omitempty"`
}

const (
	namespace = "skyhook"
	workloads = "default"
	// protectedLabel is what every Skyhook of a world that protects pods asks for.
	protectedLabel = "protected"
)

var runtimeTaint = corev1.Taint{
	Key: v1alpha1.GroupName, Value: "runtime-required",
	Effect: corev1.TaintEffectNoSchedule,
}
