package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
)

var (
	background = context.Background()
	scheme     = newScheme()
	// epoch is when every world begins.
	epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // the types are constants
		}
	}
	return s
}

// World is one run of a Plan.
type World struct {
	plan *Plan
	rng  *rand.Rand
	now  time.Time
	// step counts what the scheduler did; phase says what for.
	step  int
	phase string
	// resting says that nothing happens any more and that scripts succeed, but for what their content spoils.
	resting bool
	// recurs says that it came to rest only in that the same comes back after long pauses.
	recurs    bool
	calmSince time.Time

	cluster *cluster.Cluster
	past    past
	audit   audit
	// user reads and writes the API server directly.
	user      client.Client
	operators []*operator
	booted    int
	kubelets  []*kubelet
	timers    []timer
	timerSeq  int
	scripts   []scriptState
	foreign   []*workloadState
	// pending are the happenings to come, and focus is the pod that the present one is about.
	pending []Happening
	focus   *corev1.Pod
	// old is how many changes of some kinds the next operator does not know at first; nil for as it comes.
	old map[cluster.Kind]int
	// moves counts how often the tags of a repository were moved.
	moves map[string]int
	// ended counts the stages that were through, by Skyhook.
	ended map[string]int
	// moreUID makes names unique.
	moreUID int

	faults faultState
	// acting is the operator whose pass runs; nil when others act. errors are of the last passes over keys.
	acting *operator
	errors map[string]string
	watch  watcher
	states map[string]recordText

	trace    *trace
	findings []Finding
	// taintsAtBoot is how long a network plugin taints each node after its boot; 0 for not at all.
	taintsAtBoot time.Duration
	// look is shown the world when it has come to rest; nil where nobody looks.
	look func(*Rest)
	// over says that a finding ended the world.
	over bool
}

// timer is something of the world itself that is due at a time.
type timer struct {
	at   time.Time
	seq  int
	what string
	do   func()
}

// Result is what became of a Plan.
type Result struct {
	Findings []Finding
	Trace    []string
	Steps    int
}

// Run plays a Plan. With a trace it keeps one line per event.
func Run(p Plan, traced bool) (result Result) {
	var w *World
	defer func() {
		if broken := recover(); broken != nil {
			result.Findings = []Finding{{Name: "simulator", Message: fmt.Sprintf("%v\n%s", broken, debug.Stack())}}
			if w != nil {
				result.Trace, result.Steps = w.trace.lines, w.step
			}
		}
	}()
	w = newWorld(&p, traced, false)
	w.play()
	if !w.over {
		w.rest()
	}
	return Result{Findings: w.findings, Trace: w.trace.lines, Steps: w.step}
}

func newWorld(p *Plan, traced, audited bool) *World {
	w := &World{
		plan: p, rng: rand.New(rand.NewPCG(p.Schedule, 0xfa17)), now: epoch, phase: "play", errors: map[string]string{},
		states: map[string]recordText{}, ended: map[string]int{},
		trace: &trace{on: traced}, pending: p.Happenings,
	}
	w.cluster = cluster.New(scheme, func() time.Time { return w.now })
	if w.past = newPast(w.cluster); audited {
		w.audit = audit{}
	}
	w.user = w.cluster.Client()
	w.watch.init(w)
	w.cluster.OnWrite = w.written
	w.cluster.Disrupt = w.disrupt
	w.cluster.Namespace = namespace
	for _, s := range p.Scripts {
		w.scripts = append(w.scripts, scriptState{Script: s, left: map[string]int{}})
	}
	for _, n := range p.Nodes {
		w.addNode(n)
	}
	for _, policy := range p.Policies {
		w.create(&v1alpha1.DeploymentPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}, Spec: policy.Spec})
	}
	for _, s := range p.Skyhooks {
		if s.At == 0 {
			w.createSkyhook(s)
		}
	}
	for _, pod := range p.Pods {
		w.addForeign(pod)
	}
	w.startOperator(time.Duration(p.Offset) * time.Second)
	return w
}

func (w *World) createSkyhook(s SkyhookPlan) {
	w.create(&v1alpha1.Skyhook{ObjectMeta: metav1.ObjectMeta{Name: s.Name}, Spec: *s.Spec.DeepCopy()})
}

// create, update and remove are what users and other controllers do; what is gone already is no error.
func (w *World) create(o client.Object) {
	if err := w.user.Create(background, o); err != nil && !apierrors.IsAlreadyExists(err) {
		panic(fmt.Sprintf("create %T %s: %v", o, o.GetName(), err))
	}
}

func (w *World) remove(o client.Object, options ...client.DeleteOption) {
	if err := w.user.Delete(background, o, options...); client.IgnoreNotFound(err) != nil {
		panic(fmt.Sprintf("delete %T %s: %v", o, o.GetName(), err))
	}
}

// editNode changes a node's metadata and spec.
func (w *World) editNode(name string, change func(*corev1.Node)) {
	if n := w.node(name); n != nil {
		n = n.DeepCopy()
		change(n)
		w.must(w.user.Update(background, n))
	}
}

func (w *World) editNodeStatus(name string, change func(*corev1.Node)) {
	if n := w.node(name); n != nil {
		n = n.DeepCopy()
		change(n)
		w.must(w.user.Status().Update(background, n))
	}
}

func (w *World) editSkyhook(name string, change func(*v1alpha1.Skyhook)) {
	if s := w.skyhook(name); s != nil {
		s = s.DeepCopy()
		change(s)
		w.must(w.user.Update(background, s))
	}
}

func (w *World) must(err error) {
	if err != nil {
		panic(fmt.Sprintf("step %d: the world itself failed: %v", w.step, err))
	}
}

func (w *World) node(name string) *corev1.Node { return named(w.cluster.Nodes(), "", name) }

func (w *World) skyhook(name string) *v1alpha1.Skyhook { return named(w.cluster.Skyhooks(), "", name) }

func (w *World) workload(name string) *corev1.Pod { return named(w.cluster.Pods(), workloads, name) }

// named is the object of that name; nil when there is none.
func named[T client.Object](list []T, ns, name string) (none T) {
	for _, o := range list {
		if o.GetName() == name && o.GetNamespace() == ns {
			return o
		}
	}
	return none
}

// after lets the world do something later.
func (w *World) after(d time.Duration, what string, do func()) {
	w.timerSeq++
	w.timers = append(w.timers, timer{at: w.now.Add(d), seq: w.timerSeq, what: what, do: do})
}

// seconds draws a duration in whole seconds.
func (w *World) seconds(from, to int) time.Duration {
	return time.Duration(from+w.rng.IntN(to-from+1)) * time.Second
}

func (w *World) chance(p float64) bool { return w.rng.Float64() < p }

// unique makes a name that was not there before.
func (w *World) unique(prefix string) string {
	w.moreUID++
	return fmt.Sprintf("%s-%d", prefix, w.moreUID)
}

// names of objects, sorted, so that choices do not depend on the order of the store.
func names[T client.Object](list []T) []string {
	all := make([]string, 0, len(list))
	for _, o := range list {
		all = append(all, o.GetName())
	}
	slices.Sort(all)
	return all
}

// admit is the quota.
func (w *World) admit(o client.Object) error {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	if _, ours := ownerOf(pod); !ours {
		return nil
	}
	if q := w.faults.quota; q != "" && (q == "*" || strings.Contains(pod.Name, q)) {
		w.watch.failed(pod)
		return apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, errors.New("exceeded quota: pods"))
	}
	return nil
}
