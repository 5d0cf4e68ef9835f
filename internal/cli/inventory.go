package cli

import (
	"context"
	"encoding/csv"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// outputCSV is for spreadsheets; only inventory has it.
const outputCSV = "csv"

func (a *app) inventoryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inventory [NODE...]",
		Short: "List which packages are on which nodes, with version, image and configuration",
		Long: "Lists what is recorded on the nodes, including Skyhooks that no longer exist. For each package: its version,\n" +
			"the digest of its image, a hash of the configMap that was applied, and since when it has been in its state.",
		Example:           "  kubectl skyhook inventory\n  kubectl skyhook inventory 'gpu-.*' -o csv",
		Annotations:       map[string]string{moreOutputs: outputCSV},
		ValidArgsFunction: a.completeNodes,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.inventory(ctx, args)
		}),
	}
}

// installed is one package on one node.
type installed struct {
	Node       string         `json:"node"`
	Skyhook    string         `json:"skyhook"`
	Package    string         `json:"package"`
	Version    string         `json:"version"`
	Stage      v1alpha1.Stage `json:"stage"`
	State      v1alpha1.State `json:"state"`
	Image      string         `json:"image,omitempty"`
	Digest     string         `json:"digest,omitempty"`
	ConfigHash string         `json:"configHash,omitempty"`
	Since      metav1.Time    `json:"since,omitzero"`
	Superseded bool           `json:"superseded,omitempty"`
}

// state tells for people what of a package counts: files of a version whose place another took may still be there.
func (i *installed) state() string {
	if i.Superseded {
		return "superseded"
	}
	return string(i.State)
}

func (s *session) inventory(ctx context.Context, patterns []string) error {
	matched, err := s.read.nodesNamed(ctx, patterns)
	if err != nil {
		return err
	}
	list := []installed{}
	for i := range matched {
		for _, name := range record.Skyhooks(matched[i].Annotations, nil) {
			for _, o := range s.read.having(matched[i:i+1], name) {
				for _, e := range o.entries() {
					list = append(list, inventoryOf(o.node.Name, name, e))
				}
			}
		}
	}
	r := result{
		value: list, empty: "No packages are installed on these nodes",
		columns: []string{"NODE", "SKYHOOK", "PACKAGE", "VERSION", "STAGE", "STATE", "SINCE"},
	}
	if s.output != outputTable {
		r.columns = append(r.columns, "IMAGE", "DIGEST", "CONFIG")
	}
	if len(matched) == 0 {
		r.empty = "No nodes matched the specified patterns"
	}
	now := s.now()
	for _, i := range list {
		row := []string{i.Node, i.Skyhook, i.Package, i.Version, string(i.Stage), i.state(), age(i.Since, now, s.output)}
		if s.output != outputTable {
			row = append(row, dash(i.Image), dash(i.Digest), dash(i.ConfigHash))
		}
		r.rows, r.names = append(r.rows, row), append(r.names, "node/"+i.Node)
	}
	if s.output == outputCSV {
		w := csv.NewWriter(s.out)
		_ = w.Write(r.columns) // errors are kept until the end
		for _, row := range r.rows {
			_ = w.Write(spreadsheet(row))
		}
		w.Flush()
		return w.Error()
	}
	return s.print(r)
}

// age is how long ago something was; in files the time itself.
func age(since metav1.Time, now time.Time, output string) string {
	switch {
	case since.IsZero():
		return "-"
	case output == outputCSV:
		return since.UTC().Format(time.RFC3339)
	default:
		return ago(now, since.Time)
	}
}

// ago is how long ago something was. The clock that noted it may be ahead of this one.
func ago(now, then time.Time) string { return duration.HumanDuration(max(0, now.Sub(then))) }

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func inventoryOf(node, skyhook string, e record.Entry) installed {
	return installed{
		Node: node, Skyhook: skyhook, Package: e.Name, Version: e.Version, Stage: e.Stage, State: e.State,
		Image: e.Image, Digest: e.ContainerSHA, ConfigHash: configHash(e.Config), Since: e.Since, Superseded: e.Superseded,
	}
}

// configHash is one hash for all keys: equal where two nodes have the same configMap.
func configHash(keys map[string]string) string {
	if len(keys) == 0 {
		return ""
	}
	h := fnv.New32a()
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		_, _ = h.Write([]byte(k + "=" + keys[k] + "\n")) // a hash takes everything
	}
	const hex = 16
	return strings.ToLower(strconv.FormatUint(uint64(h.Sum32()), hex))
}
