package cli

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
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
	Rollouts    history.Rollouts `json:"rollouts"`
	Stages      history.Stages   `json:"stages"`
	Definitions []retained       `json:"definitions"`
}

// past reads the rollouts and stage times of a Skyhook. An operator of an earlier version keeps none.
func (s *session) past(ctx context.Context, sk *v1alpha1.Skyhook) (past, error) {
	p := past{Rollouts: history.Rollouts{}, Stages: history.Stages{}}
	var cm corev1.ConfigMap
	key := client.ObjectKey{Namespace: s.namespace, Name: workload.HistoryName(sk.Name)}
	if err := s.client.Get(ctx, key, &cm); apierrors.IsForbidden(err) {
		fmt.Fprintf(s.err, "Warning: rollouts are not shown: %v\n", err)
	} else if client.IgnoreNotFound(err) != nil {
		return p, fmt.Errorf("getting configmap %s in namespace %q: %w", key.Name, s.namespace, err)
	}
	if !metav1.IsControlledBy(&cm, sk) { // there is none, or it is another's
		return p, nil
	}
	rollouts, err := history.ReadRollouts(cm.Data)
	if err != nil {
		fmt.Fprintf(s.err, "Warning: ConfigMap %s: %v\n", cm.Name, err)
	}
	stages, err := history.ReadStages(cm.Data)
	if err != nil {
		fmt.Fprintf(s.err, "Warning: ConfigMap %s: %v\n", cm.Name, err)
	}
	p.Rollouts, p.Stages = append(p.Rollouts, rollouts...), append(p.Stages, stages...)
	return p, nil
}

// printPast prints the tables of rollouts and, in wide output, of stages.
func (s *session) printPast(name string, p past) error {
	fmt.Fprintf(s.out, "Skyhook: %s\n\n", name)
	if len(p.Rollouts) == 0 {
		fmt.Fprintln(s.out, "No rollouts are recorded")
	} else if err := printTable(s.out,
		[]string{"GENERATION", "WHO", "STARTED", "TOOK", "NODES", "FAILURES", "STATUS"}, s.rolloutRows(p.Rollouts)); err != nil {
		return err
	}
	fmt.Fprintln(s.out)
	if !s.wide() || len(p.Stages) == 0 {
		return nil
	}
	var rows [][]string
	for _, st := range p.Stages {
		rows = append(rows, []string{
			st.Package, st.Version, string(st.Stage), cmp.Or(string(st.Interrupt), "-"), strconv.Itoa(st.Count),
			duration.HumanDuration(st.P50.Duration), duration.HumanDuration(st.P95.Duration),
		})
	}
	err := printTable(s.out, []string{"PACKAGE", "VERSION", "STAGE", "INTERRUPT", "RUNS", "P50", "P95"}, rows)
	fmt.Fprintln(s.out)
	return err
}

func (s *session) rolloutRows(list history.Rollouts) [][]string {
	var rows [][]string
	for _, r := range list {
		end, status := r.Ended.Time, "complete"
		switch {
		case r.SupersededBy > 0:
			status = fmt.Sprintf("superseded by %d", r.SupersededBy)
		case r.Ended.IsZero():
			end, status = s.now(), "in progress"
		}
		rows = append(rows, []string{
			strconv.FormatInt(r.Generation, 10), cmp.Or(r.Author, "-"), r.Started.UTC().Format(time.RFC3339),
			ago(end, r.Started.Time), strconv.Itoa(r.Nodes), strconv.Itoa(r.Failures), status,
		})
	}
	return rows
}
