package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// past is what is kept of a Skyhook.
type past struct {
	Rollouts    []pastRollout  `json:"rollouts"`
	Stages      history.Stages `json:"stages"`
	Definitions []retained     `json:"definitions"`
}

// pastRollout is a rollout, and what changed for it, as far as the definitions are retained.
type pastRollout struct {
	history.Rollout
	Changed []string `json:"changed,omitempty"`
}

// join tells for each rollout, the newest first, how its definitions differ from those of the one before it. Where an
// earlier operator kept none, it is what the definitions say that came since then; those of before the oldest belong to
// others.
func (p *past) join() {
	for i := range p.Rollouts {
		r := &p.Rollouts[i]
		if i+1 < len(p.Rollouts) && r.Definitions != nil && p.Rollouts[i+1].Definitions != nil {
			r.Changed = p.between(p.Rollouts[i+1].Definitions, r.Definitions)
			continue
		}
		before := r.Generation - 1
		if i+1 < len(p.Rollouts) {
			before = p.Rollouts[i+1].Generation
		}
		for _, d := range p.Definitions {
			if d.Generation <= before || d.Generation > r.Generation {
				continue
			}
			if len(d.Changes) == 0 {
				r.Changed = append(r.Changed, fmt.Sprintf("package %s %s", d.Package, d.Version))
			}
			r.Changed = append(r.Changed, d.Changes...)
		}
	}
}

// between says how the packages of two rollouts differ, as far as their definitions are retained.
func (p *past) between(before, after map[string]string) []string {
	names := joined(before, after)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, had := before[name]
		is, has := after[name]
		if was == is {
			continue
		}
		a, b := p.definition(name, was), p.definition(name, is)
		switch {
		case !has:
			all = append(all, fmt.Sprintf("package %s is removed", name))
		case !had && b != nil:
			all = append(all, fmt.Sprintf("package %s %s", name, b.Version))
		case a != nil && b != nil:
			all = append(all, packageChanges(name, a.Spec, b.Spec)...)
		default:
			all = append(all, fmt.Sprintf("package %s changes", name))
		}
	}
	return all
}

// definition is a retained one; nil if it is retained no longer.
func (p *past) definition(pkg, revision string) *retained {
	return first(p.Definitions, func(d *retained) bool { return d.Package == pkg && d.Revision == revision })
}

// past reads the rollouts and stage times of a Skyhook. An operator of an earlier version keeps none.
func (r *reader) past(ctx context.Context, sk *v1alpha1.Skyhook) (past, error) {
	p := past{Rollouts: []pastRollout{}, Stages: history.Stages{}}
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: r.namespace, Name: workload.HistoryName(sk.Name)}
	if err := r.client.Get(ctx, key, &cm); apierrors.IsForbidden(err) {
		fmt.Fprintf(r.err, "Warning: rollouts are not shown: %v\n", err)
	} else if client.IgnoreNotFound(err) != nil {
		return p, fmt.Errorf("getting configmap %s in namespace %q: %w", key.Name, r.namespace, err)
	}
	if !metav1.IsControlledBy(&cm, sk) { // there is none, or it is another's
		return p, nil
	}
	rollouts, err := history.ReadRollouts(cm.Data)
	if err != nil {
		fmt.Fprintf(r.err, "Warning: ConfigMap %s: %v\n", cm.Name, err)
	}
	stages, err := history.ReadStages(cm.Data)
	if err != nil {
		fmt.Fprintf(r.err, "Warning: ConfigMap %s: %v\n", cm.Name, err)
	}
	for _, one := range rollouts {
		p.Rollouts = append(p.Rollouts, pastRollout{Rollout: one})
	}
	p.Stages = append(p.Stages, stages...)
	return p, nil
}

// printPast prints the tables of rollouts and, in wide output, of stages.
func (p printer) printPast(name string, kept past, now time.Time) error {
	fmt.Fprintf(p.out, "Skyhook: %s\n\n", name)
	if len(kept.Rollouts) == 0 {
		fmt.Fprintln(p.out, "No rollouts are recorded")
	} else if err := printTable(p.out,
		[]string{"GENERATION", "WHO", "STARTED", "TOOK", "NODES", "FAILURES", "STATUS", "CHANGED"}, rolloutRows(kept.Rollouts, now)); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	if !p.wide() || len(kept.Stages) == 0 {
		return nil
	}
	var rows [][]string
	for _, st := range kept.Stages {
		rows = append(rows, []string{
			st.Package, st.Version, string(st.Stage), cmp.Or(string(st.Interrupt), "-"), strconv.Itoa(st.Count),
			duration.HumanDuration(st.P50.Duration), duration.HumanDuration(st.P95.Duration),
		})
	}
	err := printTable(p.out, []string{"PACKAGE", "VERSION", "STAGE", "INTERRUPT", "RUNS", "P50", "P95"}, rows)
	fmt.Fprintln(p.out)
	return err
}

func rolloutRows(list []pastRollout, now time.Time) [][]string {
	var rows [][]string
	for _, r := range list {
		end, status := r.Ended.Time, "complete"
		switch {
		case r.SupersededBy > 0:
			status = fmt.Sprintf("superseded by %d", r.SupersededBy)
		case r.Ended.IsZero():
			end, status = now, "in progress"
		}
		rows = append(rows, []string{
			strconv.FormatInt(r.Generation, 10), cmp.Or(r.Author, "-"), r.Started.UTC().Format(time.RFC3339),
			ago(end, r.Started.Time), strconv.Itoa(r.Nodes), strconv.Itoa(r.Failures), status,
			dash(strings.Join(r.Changed, "; ")),
		})
	}
	return rows
}
