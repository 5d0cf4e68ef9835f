package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
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
	Packages         []packageState  `json:"packages"`
	// Cordoned says that the Skyhook holds a cordon on the node.
	Cordoned bool `json:"cordoned,omitempty"`
	// Wait is what the node waits for, where it does.
	Wait *record.Wait `json:"wait,omitempty"`
}

// packageState is one package there.
type packageState struct {
	Name     string         `json:"name"`
	Version  string         `json:"version"`
	Stage    v1alpha1.Stage `json:"stage"`
	State    v1alpha1.State `json:"state"`
	Restarts int32          `json:"restarts"`
	Image    string         `json:"image,omitempty"`
}

func (s *session) nodeStatus(ctx context.Context, patterns []string, skyhook string) error {
	all, err := s.nodes(ctx)
	if err != nil {
		return err
	}
	matched, err := matching(all, patterns)
	if err != nil {
		return err
	}
	list := []nodeStatus{}
	for i := range matched {
		n := matched[i : i+1]
		for _, name := range record.Skyhooks(n[0].Annotations, nil) {
			if skyhook == "" || name == skyhook {
				for _, o := range s.having(n, name) {
					list = append(list, statusOf(&o))
				}
			}
		}
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
		r.rows, r.names = append(r.rows, s.statusRows(n)...), append(r.names, "node/"+n.NodeName)
	}
	if err := s.print(r); err != nil || len(matched) != 1 || s.output != outputTable && s.output != outputWide {
		return err
	}
	return s.nodeDetails(ctx, &matched[0], list)
}

// nodeDetails answers for one node who cordoned it, what is in flight, who may work there, and what it waits for.
func (s *session) nodeDetails(ctx context.Context, n *corev1.Node, list []nodeStatus) error {
	var lines []string
	if n.Spec.Unschedulable {
		owner := "somebody else than a Skyhook, so no Skyhook uncordons it"
		for _, st := range list {
			if st.Cordoned {
				owner = "Skyhook " + st.SkyhookName + ", which uncordons it when its work there is done"
			}
		}
		lines = append(lines, "cordoned by "+owner)
	}
	if f := record.ReadInterrupt(n.Annotations); f != nil {
		lines = append(lines, fmt.Sprintf("%s of Skyhook %s in flight for %s, since %s", f.Type, f.Skyhook,
			strings.Join(f.Packages, ", "), f.Since.UTC().Format(time.RFC3339)))
	}
	permits, err := s.permitsOn(ctx, n.Name)
	if err != nil {
		return err
	}
	lines = append(lines, permits...)
	for _, st := range list {
		if st.Wait != nil {
			lines = append(lines, fmt.Sprintf("Skyhook %s waits: %s: %s", st.SkyhookName, st.Wait.Reason, st.Wait.Message))
		}
	}
	for i, line := range lines {
		if i == 0 {
			fmt.Fprintln(s.out)
		}
		fmt.Fprintln(s.out, packagefile.PrintableLines(line))
	}
	return nil
}

func statusOf(o *onNode) nodeStatus {
	n := nodeStatus{
		NodeName: o.node.Name, SkyhookName: o.skyhook, Status: o.status(), Packages: []packageState{},
		Cordoned: o.record.Cordoned, Wait: o.record.Wait,
	}
	n.PackagesComplete, n.PackagesTotal = o.progress()
	for _, e := range o.entries() {
		n.Packages = append(n.Packages, packageState{e.Name, e.Version, e.Stage, e.State, e.Restarts, e.Image})
	}
	return n
}

// statusRows are one row for the node, or one for each of its packages in the wide table.
func (s *session) statusRows(n nodeStatus) [][]string {
	if !s.wide() {
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
