package lifecycle_test

var endTables = []group{
	{"slow ends", slowEnds},
}

// slowEnds: a pod is deleted, and does not end in time.
var slowEnds = []row{
	{
		name: "its grace period is not over, nor the time that it may take on top of it",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running ends=-10s",
		want: "wait a WaitingForPodToEnd; again 20s; is in_progress",
	},
	{
		name: "it is still there: that is told",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running ends=-30s",
		want: "wait a WaitingForPodToEnd; tell WaitingForPodToEnd; is in_progress",
	},
	{
		name: "it is still there: since when stays",
		spec: "a@1.0", node: "a@1.0 apply:in_progress", pods: "a@1.0 apply running ends=-5m",
		gate: "told=WaitingForPodToEnd/-4m",
		want: "wait a WaitingForPodToEnd; tell WaitingForPodToEnd since=-4m0s; is in_progress",
	},
	{
		name: "of an earlier run, which nothing may start beside",
		spec: "a@2.0", node: "a@1.0 config:complete", pods: "a@1.0 config done run=r0 ends=-5m",
		want: "wait a WaitingForPodToEnd; tell WaitingForPodToEnd; is in_progress",
	},
	{
		name: "of an earlier run, in time",
		spec: "a@2.0", node: "a@1.0 config:complete", pods: "a@1.0 config done run=r0 ends=-10s",
		want: "wait a WaitingForPodToEnd; again 20s; is in_progress",
	},
	{
		name: "all is complete, but the permit stays for it: that is told",
		spec: "a@1.0", node: "a@1.0 config:complete", pods: "b@1.0 config done run=r0 ends=-5m",
		want: "tell WaitingForPodToEnd; is complete",
	},
	{
		name: "what holds the drain is told first",
		spec: "a@1.0 interrupt=noop; b@1.0", node: "b@1.0 apply:in_progress", pods: "b@1.0 apply running ends=-5m",
		gate: "ours left=Evicting",
		want: "wait a Evicting; wait b WaitingForPodToEnd; tell Evicting; evict; again 5s; is in_progress",
	},
}
