package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/history"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// measured is how long stages took, by Skyhook.
type measured map[string]history.Stages

// measured reads it from what the operator keeps. What cannot be read counts as not measured: the operator tells of it.
func (v *view) measured() measured {
	m := measured{}
	for i := range v.ConfigMaps {
		cm := &v.ConfigMaps[i]
		if _, ok := cm.Labels[v1alpha1.LabelHistory]; !ok {
			continue
		}
		for k := range v.Skyhooks {
			if s := &v.Skyhooks[k]; metav1.IsControlledBy(cm, s) {
				m[s.Name], _ = history.ReadStages(cm.Data)
			}
		}
	}
	return m
}

// How long things take about which nothing is known.
const (
	usualStage   = 30 * time.Second
	usualRestart = 30 * time.Second
	usualReboot  = 6 * time.Minute
)

// estimate judges by the runs that are most like a step, or by nothing but experience.
func (m measured) estimate(skyhook string, s forecast.Step) history.Estimate {
	if e, ok := m[skyhook].Estimate(keyOf(s)); ok {
		return e
	}
	usual := history.Estimate{Takes: usualStage, Basis: history.BasisUsual}
	switch {
	case s.Interrupt == v1alpha1.InterruptReboot:
		usual.Takes = usualReboot
	case record.IsInterrupt(s.Stage):
		usual.Takes = usualRestart
	}
	return usual
}

func (m measured) takes(skyhook string, s forecast.Step) time.Duration {
	return m.estimate(skyhook, s).Takes
}

func keyOf(s forecast.Step) history.Key {
	return history.Key{Package: s.Package, Version: s.Version, Stage: s.Stage, Interrupt: s.Interrupt}
}

// estimate is the time that a plan goes by for one stage.
type estimate struct {
	Skyhook string `json:"skyhook"`
	history.Key
	Takes metav1.Duration `json:"takes"`
	// Basis says which runs it was judged by, and Runs how many there were.
	Basis history.Basis `json:"basis"`
	Runs  int           `json:"runs"`
}

// estimates are those of all stages on some nodes, by Skyhook and package, each once.
func (m measured) estimates(nodes []forecast.Node) []estimate {
	list := []estimate{}
	for i := range nodes {
		for _, s := range nodes[i].Steps {
			of := nodes[i].Skyhook
			known := func(e estimate) bool { return e.Skyhook == of && e.Key == keyOf(s) }
			if !slices.ContainsFunc(list, known) {
				e := m.estimate(of, s)
				list = append(list, estimate{of, keyOf(s), metav1.Duration{Duration: e.Takes}, e.Basis, e.Runs})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b estimate) int {
		return cmp.Or(cmp.Compare(a.Skyhook, b.Skyhook), cmp.Compare(a.Package, b.Package), cmp.Compare(a.Version, b.Version))
	})
	return list
}

// estimateLines are one for each package: apply 42s (37 runs), reboot 6m (usual).
func estimateLines(list []estimate) []string {
	var lines []string
	last := ""
	for _, e := range list {
		part := fmt.Sprintf("%s %s (%s)", cmp.Or(string(e.Interrupt), string(e.Stage)), duration.HumanDuration(e.Takes.Duration), e.basis())
		if of := fmt.Sprintf("Skyhook %s, %s %s: ", e.Skyhook, e.Package, e.Version); of != last {
			last = of
			lines = append(lines, of+part)
		} else {
			lines[len(lines)-1] += ", " + part
		}
	}
	return lines
}

func (e *estimate) basis() string {
	runs := text.Count(e.Runs, "run")
	switch e.Basis {
	case history.BasisVersion:
		return runs
	case history.BasisPackage:
		return runs + " of other versions"
	case history.BasisSkyhook:
		return runs + " of other packages"
	default:
		return string(e.Basis)
	}
}
