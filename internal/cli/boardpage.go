package cli

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
)

// page is one connection, and what it was sent. All but changed is under the fleet's lock.
type page struct {
	fleet   *fleet
	changed chan struct{}

	// begun says that it has a whole picture.
	begun bool
	// name is the Skyhook to show; empty until one is asked for or chosen. picture is how nodes are drawn for it; nil if there
	// is none.
	name    string
	picture *picture
	// dirty are the nodes to be drawn again, all that all of them are, and rehome that their compartments may be others.
	dirty       map[string]bool
	all, rehome bool
	// edition of the fleet that is drawn.
	edition int

	warning  string
	skyhooks []board.Overview
	skyhook  *board.Skyhook
	nodes    map[string]board.Node
	failure  board.Failure
}

// Changed implements board.Page.
func (p *page) Changed() <-chan struct{} { return p.changed }

// Close implements board.Page.
func (p *page) Close() {
	p.fleet.mu.Lock()
	defer p.fleet.mu.Unlock()
	delete(p.fleet.pages, p)
}

func (p *page) wake() {
	select {
	case p.changed <- struct{}{}:
	default: // it is awake
	}
}

func (p *page) nodeChanged(was, now **corev1.Node) {
	switch {
	case p.picture == nil:
		return
	case was == nil:
		p.rehome, p.dirty[(*now).Name] = true, true
	case now == nil:
		p.rehome, p.dirty[(*was).Name] = true, true
	case equality.Semantic.DeepEqual(*was, *now): // a sign of life of its kubelet
		return
	default:
		p.dirty[(*now).Name] = true
		p.rehome = p.rehome || p.picture.moved(*was, *now)
	}
	p.wake()
}

// moved reports whether a change of labels may move nodes to other compartments. What the operator writes for this
// Skyhook does not.
func (p *picture) moved(was, now *corev1.Node) bool {
	own := func(key string, _ string) bool {
		return key == v1alpha1.LabelStatusPrefix+p.skyhook.Name || key == v1alpha1.LabelSealPrefix+p.skyhook.Name
	}
	if maps.Equal(was.Labels, now.Labels) {
		return false
	}
	before, after := maps.Clone(was.Labels), maps.Clone(now.Labels)
	maps.DeleteFunc(before, own)
	maps.DeleteFunc(after, own)
	return !maps.Equal(before, after)
}

// News implements board.Page.
func (p *page) News() []board.Event {
	f := p.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.told() {
		return nil
	}
	now := f.gauge.now()
	events := p.troubles()
	switch {
	case !f.skyhooks.known: // nothing can be drawn
	case p.other():
		events = append(events, board.Event{Name: board.EventBoard, Data: p.whole(now)})
	default:
		if c, changed := p.change(now); changed {
			events = append(events, board.Event{Name: board.EventChange, Data: c})
		}
	}
	return events
}

// troubles tell that the picture is old, and when it is not any more.
func (p *page) troubles() []board.Event {
	failure := board.Failure{Message: p.fleet.failure(), Since: metav1.NewTime(p.fleet.old())}
	if failure == p.failure {
		return nil
	}
	p.failure = failure
	return []board.Event{{Name: board.EventFail, Data: failure}}
}

// other begins another picture where changes do not do: at first, and when the Skyhook is gone or there again. One that was
// chosen stays: the page would else turn to another one under whoever reads it.
func (p *page) other() bool {
	if p.name == "" {
		p.name = p.fleet.choose()
	}
	_, there := p.fleet.skyhooks.objects[p.name]
	if p.begun && there == (p.picture != nil) {
		return false
	}
	p.begun, p.picture, p.dirty, p.nodes = true, nil, map[string]bool{}, map[string]board.Node{}
	return true
}

// look compares the Skyhook with that of the last picture.
func (p *page) look() {
	f := p.fleet
	sk := f.skyhooks.objects[p.name]
	before := p.picture
	if sk == nil || before != nil && before.skyhook == sk && !p.rehome {
		return
	}
	p.picture = newPicture(sk)
	if before != nil {
		p.picture.homes = before.homes
	}
	if before == nil || p.rehome || before.skyhook.Spec.DeploymentPolicy != sk.Spec.DeploymentPolicy ||
		!reflect.DeepEqual(before.skyhook.Spec.NodeSelectors, sk.Spec.NodeSelectors) {
		p.picture.settle(f.sight(), f.nodes.objects)
	}
	p.rehome = false
	p.redraw(before)
}

// redraw marks the nodes that a change of the Skyhook may show on.
func (p *page) redraw(before *picture) {
	now := p.picture
	if before == nil || !maps.Equal(before.bars, now.bars) {
		p.all = true
		return
	}
	differ(p.dirty, before.permits, now.permits)
	if !maps.Equal(before.homes, now.homes) {
		differ(p.dirty, before.homes, now.homes)
	}
}

// differ adds the names for which two maps do not have the same.
func differ[V comparable](names map[string]bool, a, b map[string]V) {
	for name, value := range a {
		if b[name] != value {
			names[name] = true
		}
	}
	for name, value := range b {
		if a[name] != value {
			names[name] = true
		}
	}
}

// whole draws everything.
func (p *page) whole(now time.Time) board.Board {
	p.change(now)
	nodes := slices.Collect(maps.Values(p.nodes))
	slices.SortFunc(nodes, byName)
	return board.Board{
		At: metav1.NewTime(now), Cluster: p.fleet.cluster, Warning: p.warning,
		Skyhooks: append([]board.Overview{}, p.skyhooks...), Name: p.name, Skyhook: p.skyhook,
		Nodes: append([]board.Node{}, nodes...),
	}
}

func byName(a, b board.Node) int { return strings.Compare(a.Name, b.Name) }

// change draws what may have changed, and reports whether anything did.
func (p *page) change(now time.Time) (c board.Change, changed bool) {
	c.At = metav1.NewTime(now)
	p.look()
	list, overviews := p.fleet.overviews()
	if !slices.Equal(overviews, p.skyhooks) {
		p.skyhooks, c.Skyhooks, changed = overviews, overviews, true
	}
	if warning := p.fleet.warning(list, p.name); warning != p.warning {
		p.warning, c.Warning, changed = warning, &warning, true
	}
	if sk := p.fleet.shown(p.name, now); !reflect.DeepEqual(sk, p.skyhook) {
		p.skyhook, c.Skyhook, changed = sk, sk, true
	}
	p.draw(&c)
	return c, changed || len(c.Nodes)+len(c.Gone)+len(c.Details) > 0
}

// draw draws nodes that may look different, and tells of those that do, those that do not, and those that are not in the
// picture any more.
func (p *page) draw(c *board.Change) {
	if p.picture == nil {
		return
	}
	if p.all || p.edition != p.fleet.edition {
		for name := range p.fleet.nodes.objects {
			p.dirty[name] = true
		}
	}
	for name := range p.dirty {
		was, shown := p.nodes[name]
		n, there := p.fleet.nodes.objects[name]
		if !there || !p.picture.selects(n) {
			if shown {
				delete(p.nodes, name)
				c.Gone = append(c.Gone, name)
			}
			continue
		}
		if now := p.picture.node(p.fleet.sight(), n); !shown || now != was {
			p.nodes[name] = now
			c.Nodes = append(c.Nodes, now)
		} else {
			c.Details = append(c.Details, name)
		}
	}
	p.all, p.edition, p.dirty = false, p.fleet.edition, map[string]bool{}
	slices.SortFunc(c.Nodes, byName)
	slices.Sort(c.Gone)
	slices.Sort(c.Details)
}
