package faults

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/internal/record"
)

const (
	// settleBase and settleEach are how many steps a world has to come to rest, at all and for each package on each node.
	settleBase, settleEach = 1500, 150
	// sameStates is how often one state of the world may come back.
	sameStates = 4
	// sameWrites is how often in a row operators may write although the state stays the same.
	sameWrites = 40
	// idlePasses is after how many timers without a change the clock is set to the last one, and idleJumps how often.
	idlePasses, idleJumps = 3, 2
	// idleTime is how far it is set at least: longer than anything waits that tries again.
	idleTime = 30 * time.Minute
	// longPause is from when on a repetition is no hurry: the longest pause of the operator before it tries again is 5
	// minutes.
	longPause = 4 * time.Minute
	// maxRounds is how many rounds of edits a world may need.
	maxRounds = 30
)

// rest lets the world come to rest, looks whether all is complete, does what the reasons ask for, and so on.
func (w *World) rest() {
	w.calm()
	before := map[string]int{}
	for round := 0; ; round++ {
		w.phase = fmt.Sprintf("rest %d", round)
		w.trace.add(w, "---- %s", w.phase)
		if !w.settle() || w.over {
			return
		}
		w.checkMounts()
		w.watch.checkLate(true)
		w.checkWhole()
		w.rested()
		open := w.open()
		switch {
		case w.over:
			return
		case len(open) == 0:
			w.checkEnd()
			return
		case round == maxRounds:
			w.findClass("never-complete", w.stuckFacts(open), "after %d edits: %v", round, open)
			return
		}
		if before = w.cureAll(open, before); w.over {
			return
		}
	}
}

// checkMounts: no pod waits for a ConfigMap that nobody makes.
func (w *World) checkMounts() {
	for _, pod := range w.cluster.Pods() {
		if _, ours := ownerOf(pod); ours && live(pod) && w.unmounted(pod) != "" {
			if k := w.kubelet(pod.Spec.NodeName); k.up && k.runs[pod.UID] != nil && k.runs[pod.UID].mounts {
				w.findClass("pod-lacks-configmap", "", "pod %s waits for ConfigMap %s", pod.Name, w.unmounted(pod))
			}
		}
	}
}

// calm ends all that goes wrong by itself.
func (w *World) calm() {
	w.resting, w.phase, w.calmSince = true, "rest", w.now
	w.pending = nil
	for len(w.operators) > 1 { // two are alive for a moment only
		w.kill(w.operators[0], "ends")
	}
	w.faults = faultState{strict: w.faults.strict}
	for _, k := range w.kubelets {
		if k.broken {
			k.repaired()
		}
		if k.blind {
			k.showBootID()
		}
		if k.up && w.node(k.plan.Name) != nil && !readyNode(w.node(k.plan.Name)) {
			k.report(true)
		}
	}
}

// settle runs the world until nothing changes any more; false with a finding when it does not come to that.
func (w *World) settle() bool {
	w.watch.rebootsOf = map[string]int{}
	w.watch.restReboots, w.watch.activity, w.watch.restPods = 0, map[string]int{}, map[string]int{}
	q := quiet{
		seen: map[uint64]int{}, at: map[uint64]time.Time{}, pause: map[uint64]time.Duration{},
		writes: w.watch.writes,
	}
	for limit := w.step + w.bound(); w.step < limit && !w.over; {
		w.step++
		if w.choose(w.due()) {
			continue
		}
		if times := q.look(w); times > 0 {
			w.findClass("cycle", w.restlessness(), "the same state of the world came back %d times: %s", times, w.state())
			return false
		}
		next, ok := w.next()
		idle := w.now.Add(idleTime)
		switch {
		case !ok || q.idle >= idlePasses+idleJumps:
			w.recurs = q.recurs()
			return true
		case q.idle >= idlePasses:
			w.advance(w.last())
			w.advance(idle)
		default:
			w.advance(next)
		}
	}
	if !w.over {
		w.findClass("no-rest", w.restlessness(), "%d steps were not enough: %s", w.bound(), w.state())
	}
	return false
}

// quiet tells rest from running in circles, at the moments at which nobody has anything to do but wait.
type quiet struct {
	// seen counts the states of the world, most is the highest count.
	seen map[uint64]int
	most int
	last uint64
	// writes of operators so far.
	writes int
	// at is when each state was seen last and pause how long that was after the time before; slow is how often one came
	// back after a long pause: what is tried again for as long as nobody helps is rest.
	at    map[uint64]time.Time
	pause map[uint64]time.Duration
	slow  int
	// idle counts looks in a row at which nothing had changed or been written; vain, those at which only was written.
	idle, vain int
	// since is when the vain writes began that are counted.
	since time.Time
}

// look returns how often the present state came back when that is too often, else 0.
func (q *quiet) look(w *World) int {
	h := w.hash()
	same, writes := h == q.last, w.watch.writes != q.writes
	q.last, q.writes = h, w.watch.writes
	switch {
	case same && !writes:
		q.idle++
		return 0
	case same && w.now.Sub(q.since) >= longPause:
		q.slowly(w.now)
		return 0
	case same: // what is written may not show in the state, but not for ever
		q.idle = 0
		q.vain++
		if q.vain > sameWrites {
			return q.vain
		}
		return 0
	}
	q.idle, q.vain, q.since = 0, 0, w.now
	last, known := q.at[h]
	pause, before := w.now.Sub(last), q.pause[h]
	if q.at[h] = w.now; known {
		q.pause[h] = pause
	}
	switch {
	case known && before > 0 && pause > before*3/2: // each time later
		return 0
	case known && pause >= longPause:
		q.slowly(w.now)
		return 0
	}
	q.seen[h]++
	if q.seen[h] == 1 && q.most < 2 {
		w.watch.activity = map[string]int{} // it gets on
	}
	if q.most = max(q.most, q.seen[h]); q.seen[h] > sameStates {
		return q.seen[h]
	}
	return 0
}

// slowly notes that a state came back after a long pause. Often enough, that is rest.
func (q *quiet) slowly(now time.Time) {
	q.vain, q.since = 0, now
	clear(q.seen)
	q.slow++
	if q.recurs() {
		q.idle = idlePasses + idleJumps
	}
}

// recurs reports whether the rest is one in which the same state comes back after long pauses.
func (q *quiet) recurs() bool { return q.slow > sameStates }

// bound is how many steps the world has to come to rest.
func (w *World) bound() int {
	packages := 0
	for _, s := range w.plan.Skyhooks {
		packages += len(s.Spec.Packages)
	}
	return settleBase + settleEach*packages*len(w.plan.Nodes)
}

// hash is a number for the state of the world without versions, times and counts.
func (w *World) hash() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.state()))
	return h.Sum64()
}

// state is the world as one text, without versions, times and counts.
func (w *World) state() string {
	var b strings.Builder
	for _, n := range w.cluster.Nodes() {
		fmt.Fprintf(&b, "[%s cordon=%t ready=%t", n.Name, n.Spec.Unschedulable, readyNode(n))
		for _, s := range w.cluster.Skyhooks() {
			b.WriteString(w.recordState(s.Name, n))
		}
		b.WriteString("]")
	}
	w.podState(&b)
	for _, s := range w.cluster.Skyhooks() {
		fmt.Fprintf(&b, "{%s %s g%d", s.Name, s.Status.Status, s.Generation-s.Status.ObservedGeneration)
		for _, p := range s.Status.Permits {
			fmt.Fprintf(&b, " %s", p.Node)
		}
		for _, c := range s.Status.Conditions {
			if c.Status == "True" {
				fmt.Fprintf(&b, " %s=%s", c.Type, c.Reason)
			}
		}
		b.WriteString("}")
	}
	return b.String()
}

// recordState is what a node's record says of a Skyhook. It is kept for as long as the node stays as it is: what a node
// says is asked for much more often than it changes.
func (w *World) recordState(skyhook string, n *corev1.Node) string {
	last := w.states[skyhook+"/"+n.Name]
	if last.node == n {
		return last.text
	}
	var b strings.Builder
	r, err := record.Read(skyhook, n.Annotations)
	fmt.Fprintf(&b, " %s:%s", skyhook, r.Status)
	if err != nil {
		b.WriteString(" malformed")
	}
	for _, key := range sortedKeys(r.Packages) {
		e := r.Packages[key]
		fmt.Fprintf(&b, " %s=%s/%s/%s", key, e.Stage, e.State, e.Reason)
	}
	if r.Wait != nil {
		fmt.Fprintf(&b, " wait=%s", r.Wait.Reason)
	}
	w.states[skyhook+"/"+n.Name] = recordText{n, b.String()}
	return b.String()
}

// recordText is what was read from one version of a node.
type recordText struct {
	node *corev1.Node
	text string
}

func (w *World) podState(b *strings.Builder) {
	for _, pod := range w.cluster.Pods() {
		name := pod.Name
		if pod.Namespace == workloads {
			if name = pod.Labels["app"]; w.comesBack(name) {
				continue // it comes and goes for ever, and changes nothing
			}
		}
		fmt.Fprintf(b, "(%s %s %t %s)", name, pod.Status.Phase, pod.DeletionTimestamp != nil, containerState(pod))
	}
}

// comesBack reports whether a foreign pod is one that returns to its node whenever it is evicted.
func (w *World) comesBack(app string) bool {
	return slices.ContainsFunc(w.foreign, func(s *workloadState) bool {
		return s.Name == app && !s.over && (s.Kind == podReturning || s.Kind == podDaemon || s.Kind == podMirror)
	})
}

func containerState(pod *corev1.Pod) string {
	var text strings.Builder
	for _, c := range pod.Status.InitContainerStatuses {
		switch {
		case c.State.Running != nil:
			text.WriteString("r")
		case c.State.Terminated != nil:
			fmt.Fprintf(&text, "%d", c.State.Terminated.ExitCode)
		default:
			text.WriteString("w")
		}
		if c.RestartCount > 0 {
			fmt.Fprintf(&text, "(%d)", min(c.RestartCount, 6))
		}
	}
	return text.String()
}
