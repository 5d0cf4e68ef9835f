package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/board"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

func (a *app) nodeStatusCommand() *cobra.Command {
	var skyhook string
	c := &cobra.Command{
		Use:   "status [NODE...]",
		Short: "Show what Skyhooks have done on nodes",
		Example: "  kubectl skyhook node status\n  kubectl skyhook node status 'gpu-.*' -o wide\n" +
			"  kubectl skyhook node status worker-1 --skyhook gpu-init -o json",
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.nodeStatus(ctx, args, skyhook)
		}),
	}
	a.skyhookFlag(c, &skyhook, false)
	return c
}

// nodeStatus is one Skyhook on one node in the output of node status.
type nodeStatus struct {
	NodeName         string          `json:"nodeName"`
	SkyhookName      string          `json:"skyhookName"`
	Status           v1alpha1.Status `json:"status"`
	PackagesComplete int             `json:"packagesComplete"`
	PackagesTotal    int             `json:"packagesTotal"`
	Packages         []board.Package `json:"packages"`
	// Cordoned says that the Skyhook holds a cordon on the node.
	Cordoned bool `json:"cordoned,omitempty"`
	// Wait is what the node waits for, where it does.
	Wait *record.Wait `json:"wait,omitempty"`
	// nodeDetails are told where one node is asked for, or a program asks.
	nodeDetails

	// bare says that the Skyhook has no record on the node.
	bare bool
}

func (s *session) nodeStatus(ctx context.Context, patterns []string, skyhook string) error {
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	table := s.tables()
	v, err := s.read.glance(ctx)
	if err != nil {
		return err
	}
	if detailed := !table && s.output != outputName || len(matched) == 1; detailed {
		if err := s.read.ownPods(ctx, v); err != nil {
			return err
		}
	}
	see, list := sightOf(v.options, &v.Snapshot), []nodeStatus{}
	for i := range matched {
		here := s.read.statusesOn(see, &matched[i], skyhook)
		list = append(list, s.explain.detail(&matched[i], here, v, see, skyhook, len(patterns) > 0)...)
	}
	r := result{
		value: list, columns: []string{"NODE", "SKYHOOK", "STATUS", "PACKAGES"},
		empty: "No Skyhook activity found on specified nodes",
	}
	if len(matched) == 0 {
		r.empty = "No nodes matched the specified patterns"
	}
	if s.wide() {
		r.columns = []string{"NODE", "SKYHOOK", "PACKAGE", "VERSION", "STAGE", "STATE", "RESTARTS", "IMAGE"}
	}
	for _, n := range list {
		if !n.bare {
			r.rows, r.names = append(r.rows, statusRows(n, s.wide())...), append(r.names, "node/"+n.NodeName)
		}
	}
	if err := s.print(r); err != nil || len(matched) != 1 || !table {
		return err
	}
	if lines := detailLines(list, s.now(), s.wide()); len(lines) > 0 {
		fmt.Fprintf(s.out, "\n%s\n", packagefile.PrintableLines(strings.Join(lines, "\n")))
	}
	return nil
}

// statusesOn are what Skyhooks have on a node: all of them, or the one that is named.
func (r *reader) statusesOn(see *sight, n *corev1.Node, skyhook string) []nodeStatus {
	var list []nodeStatus
	for _, name := range record.Skyhooks(n.Annotations, nil) {
		if skyhook != "" && name != skyhook {
			continue
		}
		for _, o := range r.having([]corev1.Node{*n}, name) {
			list = append(list, statusOf(see, &o))
		}
	}
	return list
}

func statusOf(see *sight, o *onNode) nodeStatus {
	n := nodeStatus{
		NodeName: o.node.Name, SkyhookName: o.skyhook, Status: see.status(o.skyhook, &o.node), Packages: []board.Package{},
		Cordoned: o.record.Cordoned, Wait: o.record.Wait,
	}
	n.PackagesComplete, n.PackagesTotal = o.progress(see.selecting(o.skyhook, &o.node))
	for _, e := range o.entries() {
		n.Packages = append(n.Packages, board.Package{
			Name: e.Name, Version: e.Version, Stage: e.Stage, State: e.State, Restarts: e.Restarts, Image: e.Image,
		})
	}
	return n
}

// statusRows are one row for the node, or one for each of its packages in the wide table.
func statusRows(n nodeStatus, wide bool) [][]string {
	if !wide {
		return [][]string{{
			n.NodeName, n.SkyhookName, shown(n.Status), fmt.Sprintf("%d/%d", n.PackagesComplete, n.PackagesTotal),
		}}
	}
	var rows [][]string
	for _, p := range n.Packages {
		rows = append(rows, []string{
			n.NodeName, n.SkyhookName, p.Name, p.Version, string(p.Stage), string(p.State),
			strconv.Itoa(int(p.Restarts)), p.Image,
		})
	}
	return rows
}
