package skyhook

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/metrics"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/rollout"
)

// count adds a node to a census, with the outline of its record if that can be read.
func count(c *metrics.Census, n *rollout.Node, outline *record.Outline, cordoned bool) {
	if outline != nil {
		c.Outlines[*outline]++
	}
	if n.Facts.Complete {
		c.Complete++
	}
	if n.Facts.Unavailable {
		c.Unavailable++
	}
	if cordoned {
		c.Cordoned++
	}
	if n.Failing() {
		c.Failing[failureReason(n)]++
	}
}

// cordoned is on how many of some nodes a Skyhook holds a cordon. It may do so on one that it neither selects nor gave
// a permit: a pod of it has yet to end there.
func cordoned(skyhook string, nodes []*corev1.Node) int {
	held, key := 0, v1alpha1.AnnotationCordonPrefix+skyhook
	for _, node := range nodes {
		if node.Annotations[key] == "true" {
			held++
		}
	}
	return held
}

func failureReason(n *rollout.Node) string {
	for _, w := range []*record.Wait{n.Failure, n.Wait} {
		if w != nil && w.Reason != "" {
			return w.Reason
		}
	}
	return v1alpha1.ReasonErroring
}

// speed is how long nodes take from their permit on until they are complete, as far as this process saw it. No decision
// depends on it.
type speed struct {
	// since is when permits were granted, which are as held makes them.
	since map[v1alpha1.Permit]time.Time
	// nodes became complete with this generation, and took so long together.
	generation int64
	nodes      int
	took       time.Duration
}

// held is what stays the same of a permit until it ends.
func held(p v1alpha1.Permit) v1alpha1.Permit {
	p.Revoked = false
	return p
}

// see notes which permits a status grants and ends that followed another one, and returns how long the nodes took that
// became complete with theirs.
func (p *speed) see(before, after []v1alpha1.Permit, nodes []rollout.Node, now time.Time) []time.Duration {
	if slices.Equal(before, after) {
		return nil
	}
	had := make(map[v1alpha1.Permit]bool, len(before))
	for _, permit := range before {
		had[held(permit)] = true
	}
	since := make(map[v1alpha1.Permit]time.Time, len(after))
	for _, permit := range after {
		permit = held(permit)
		if at, known := p.since[permit]; known {
			since[permit] = at
		} else if !had[permit] { // else another process granted it
			since[permit] = now
		}
	}
	ended := map[string]time.Duration{}
	for permit, at := range p.since {
		if _, holds := since[permit]; !holds {
			ended[permit.Node] = now.Sub(at)
		}
	}
	p.since = since
	var took []time.Duration
	for i := range nodes {
		if d, ok := ended[nodes[i].Name]; ok && nodes[i].Facts.Complete {
			took = append(took, d)
		}
	}
	return took
}

// end is when a rollout may be over of which so many rounds are left; zero if nothing tells.
func (p *speed) end(rounds int, now time.Time) time.Time {
	if rounds == 0 || p.nodes == 0 {
		return time.Time{}
	}
	each, begun := p.took/time.Duration(p.nodes), time.Duration(0)
	for _, since := range p.since {
		begun += min(now.Sub(since), each)
	}
	begun /= time.Duration(max(1, len(p.since)))
	return now.Add(time.Duration(rounds)*each - begun)
}

// publish hands over what a pass saw to the metrics; before has the permits as they were before its status.
func (p *pass) publish(before []v1alpha1.Permit) {
	s := p.skyhook
	if p.Metrics == nil {
		return
	}
	speed, now := &p.known.speed, p.Clock.Now()
	if speed.generation != s.Generation {
		speed.generation, speed.nodes, speed.took = s.Generation, 0, 0
	}
	took := speed.see(before, s.Status.Permits, p.in.Nodes, now)
	for _, d := range took {
		speed.nodes++
		speed.took += d
	}
	p.census.Cordoned += cordoned(s.Name, p.others)
	rounds := 0
	if p.in.Hold == nil { // else nothing more starts
		rounds = rollout.RoundsLeft(p.in.Policy, &s.Status)
	}
	p.census.Waits = rollout.WaitsInProgress(p.in, s.Status.Permits)
	p.Metrics.Set(s.Name, metrics.Of(s, p.census, speed.end(rounds, now)))
	for _, d := range took {
		p.Metrics.PermitTook(s, d)
	}
}
