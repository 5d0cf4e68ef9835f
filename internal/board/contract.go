// Package board serves a page that shows rollouts, to the browser of whoever started it. It knows HTTP, and what the
// page is told; what is true of a cluster, it asks a Source. It changes nothing.
package board

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

// The names of events.
const (
	// EventBoard has a Board: the first of a connection, and whenever so much changed that the rest would not fit.
	EventBoard = "board"
	// EventChange has a Change.
	EventChange = "change"
	// EventFail has a Failure. It holds until the next one, or the end of the connection, whatever comes meanwhile. It comes
	// before what it is about.
	EventFail = "fail"
	// EventBeat has a Beat, now and then: who hears nothing at all is cut off, and need not be told by the network.
	EventBeat = "beat"
)

// Event is what pages are sent.
type Event struct {
	Name string
	// Data is sent as JSON.
	Data any
}

// Board is all that the page shows but the details of nodes.
type Board struct {
	At metav1.Time `json:"at"`
	// Cluster is the name of the context, or the address of the API server.
	Cluster string `json:"cluster"`
	// Warning is a sentence about what makes the picture less than it seems to be; empty for none.
	Warning  string     `json:"warning,omitempty"`
	Skyhooks []Overview `json:"skyhooks"`
	// Name is that of the Skyhook to show; empty if nobody named one, and there is none to choose.
	Name string `json:"name"`
	// Skyhook is nil if there is none of this name.
	Skyhook *Skyhook `json:"skyhook,omitempty"`
	// Nodes that it selects, by name.
	Nodes []Node `json:"nodes"`
}

// Change is what is different from what was sent before: what is absent is unchanged.
type Change struct {
	At metav1.Time `json:"at"`
	// Warning is empty if there is nothing to warn of any more.
	Warning *string `json:"warning,omitempty"`
	// Skyhooks are all of them if any changed, which may be none; nil if not.
	Skyhooks []Overview `json:"skyhooks,omitzero"`
	Skyhook  *Skyhook   `json:"skyhook,omitempty"`
	// Nodes are those that changed or are new, Gone those that are not shown any more, both by name.
	Nodes []Node   `json:"nodes,omitempty"`
	Gone  []string `json:"gone,omitempty"`
	// Details are the names of nodes that look the same, but whose details may be others.
	Details []string `json:"details,omitempty"`
}

// Failure is why something cannot be shown.
type Failure struct {
	// Message is empty if nothing fails any more.
	Message string `json:"message"`
	// Since is when what is shown was right last; zero if it is not old.
	Since metav1.Time `json:"since,omitzero"`
}

// Beat is a sign of life.
type Beat struct {
	At metav1.Time `json:"at"`
}

// Overview is a Skyhook in the list of all.
type Overview struct {
	Name   string          `json:"name"`
	Status v1alpha1.Status `json:"status"`
	// Far is how far it is, in words.
	Far string `json:"far"`
}

// Rollout is how far one Skyhook is, as programs are told.
type Rollout struct {
	Name          string                                `json:"name"`
	Status        v1alpha1.Status                       `json:"status"`
	CompleteNodes string                                `json:"completeNodes"`
	Nodes         v1alpha1.NodeCounts                   `json:"nodes"`
	Permits       int                                   `json:"permits"`
	Waiting       []v1alpha1.WaitingNodes               `json:"waiting"`
	Attention     []v1alpha1.NodeAttention              `json:"attention"`
	Compartments  map[string]v1alpha1.CompartmentStatus `json:"compartments"`
	// TimeLeft is an estimate; nil where nothing more happens by itself, or none was made.
	TimeLeft *metav1.Duration `json:"timeLeft,omitempty"`
}

// Skyhook is a Rollout, and the words in which people are told of it.
type Skyhook struct {
	Rollout
	Far         string `json:"far"`
	StatusWords string `json:"statusWords"`
	// Pace is how long the rest takes and how fast it goes; empty where nobody knows.
	Pace string `json:"pace,omitempty"`
	// PaceLabel is what to call it.
	PaceLabel string `json:"paceLabel,omitempty"`
	// Causes hold up the Skyhook as a whole. They have no message where it is among what nodes wait for.
	Causes []Cause `json:"causes"`
	Bars   []Bar   `json:"bars"`
}

// Bar is one compartment.
type Bar struct {
	// ID is its name in the API, and Name what people call it, as they may call another one.
	ID         string `json:"id"`
	Name       string `json:"name"`
	Matched    int    `json:"matched"`
	Completed  int    `json:"completed"`
	InProgress int    `json:"inProgress"`
	Erroring   int    `json:"erroring"`
	Ceiling    int    `json:"ceiling"`
	// Batch is its number, and whether it is the last; empty without batches.
	Batch string `json:"batch"`
}

// The groups of nodes in a compartment.
const (
	GroupBatch = iota
	GroupFailing
	GroupWaiting
	GroupComplete
)

// Node is one node in the picture. Thousands are sent, so its keys are short.
type Node struct {
	Name   string          `json:"n"`
	Status v1alpha1.Status `json:"s"`
	// Reason is one word; empty for none.
	Reason string `json:"r,omitempty"`
	// Stage is a package and its stage, as "tuning apply", that runs or fails there; empty for none.
	Stage string `json:"t,omitempty"`
	// Bar is an index into the bars of the Skyhook; -1 if none of them is known to have the node.
	Bar   int `json:"b"`
	Group int `json:"g"`
	// Packages is how many are complete, of how many.
	Packages string `json:"p"`
	// Cordoned says that no new workloads come there, whoever cordoned it.
	Cordoned bool `json:"c,omitempty"`
}

// Details are what the pane of a node shows.
type Details struct {
	Name             string          `json:"name"`
	Skyhook          string          `json:"skyhook"`
	Status           v1alpha1.Status `json:"status"`
	PackagesComplete int             `json:"packagesComplete"`
	PackagesTotal    int             `json:"packagesTotal"`
	// Cordoned says that the Skyhook holds a cordon on the node, Unschedulable that anybody does.
	Cordoned      bool      `json:"cordoned"`
	Unschedulable bool      `json:"unschedulable"`
	Packages      []Package `json:"packages"`
	Causes        []Cause   `json:"causes"`
	// Running are stages that run, and may hang; none that a cause tells of.
	Running  []Run     `json:"running"`
	Commands []Command `json:"commands"`
	// Details are sentences about the node beside what does not progress.
	Details []string `json:"details"`
	// Logs are the packages that have a pod there, those that run first.
	Logs []string `json:"logs"`
}

// Package is the state of a package on a node.
type Package struct {
	Name     string         `json:"name"`
	Version  string         `json:"version"`
	Stage    v1alpha1.Stage `json:"stage"`
	State    v1alpha1.State `json:"state"`
	Restarts int32          `json:"restarts"`
	Image    string         `json:"image,omitempty"`
}

// Run is a stage that runs on a node.
type Run struct {
	Package string         `json:"package"`
	Version string         `json:"version"`
	Stage   v1alpha1.Stage `json:"stage"`
	Since   metav1.Time    `json:"since"`
	// Command prints what it has printed.
	Command string `json:"command"`
}

// Cause is one thing that does not progress.
type Cause struct {
	Package string `json:"package,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Since is zero where nobody knows.
	Since   metav1.Time `json:"since,omitzero"`
	EndedBy string      `json:"endedBy,omitempty"`
	// Do is the command or field that helps.
	Do string `json:"do,omitempty"`
	// Command ends it, where one command can. It may ask before it does so.
	Command string `json:"command,omitempty"`
	// RunOnNode says that the command is for the node's own shell.
	RunOnNode bool `json:"runOnNode,omitempty"`
}

// Command is one that says more, or does something.
type Command struct {
	Label   string `json:"label"`
	Command string `json:"command"`
}

// Logs are the end of what a stage printed, or why there is nothing.
type Logs struct {
	Text string `json:"text,omitempty"`
	// From is the pod and its container.
	From    string `json:"from,omitempty"`
	Message string `json:"message,omitempty"`
}

const (
	// apart is the least time between two messages of a connection: four a second.
	apart = time.Second / 4
	// heartbeat is the time between two beats. The page waits for a multiple of it.
	heartbeat = 5 * time.Second
)
