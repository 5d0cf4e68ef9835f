package cli

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/text"
	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// changesOf says in words what differs between two specs.
func changesOf(before, after *v1alpha1.Skyhook) []string {
	var out []string
	names := map[string]bool{}
	for name := range before.Spec.Packages {
		names[name] = true
	}
	for name := range after.Spec.Packages {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, had := before.Spec.Packages[name]
		b, has := after.Spec.Packages[name]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("package %s %s is added", name, b.Version))
		case !has:
			out = append(out, fmt.Sprintf("package %s %s is removed", name, a.Version))
		default:
			out = append(out, packageChanges(name, a, b)...)
		}
	}
	rest := func(s *v1alpha1.Skyhook) v1alpha1.SkyhookSpec {
		spec := *s.Spec.DeepCopy()
		spec.Packages = nil
		return spec
	}
	if a, b := rest(before), rest(after); !reflect.DeepEqual(a, b) {
		out = append(out, "changed fields: "+strings.Join(fieldsThatDiffer(a, b), ", "))
	}
	for i := range out {
		out[i] = "Skyhook " + after.Name + ": " + out[i]
	}
	if len(out) == 0 {
		out = []string{"Skyhook " + after.Name + ": nothing changes"}
	}
	return out
}

// packageChanges goes by the name under spec.packages: the package itself need not have one.
func packageChanges(name string, a, b v1alpha1.Package) []string {
	var out []string
	if a.Version != b.Version {
		out = append(out, fmt.Sprintf("package %s goes from %s to %s", name, a.Version, b.Version))
	}
	if keys := record.ChangedKeys(record.HashConfig(a.ConfigMap), record.HashConfig(b.ConfigMap)); len(keys) > 0 {
		out = append(out, fmt.Sprintf("package %s: configMap changes: %s", name, text.Names(keys)))
	}
	a.Name, a.Version, a.ConfigMap = b.Name, b.Version, b.ConfigMap
	if !reflect.DeepEqual(a, b) {
		out = append(out, fmt.Sprintf("package %s: changed fields: %s", name, strings.Join(fieldsThatDiffer(a, b), ", ")))
	}
	return out
}

// fieldsThatDiffer names fields as manifests do.
func fieldsThatDiffer(a, b any) []string {
	var out []string
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range va.NumField() {
		if !reflect.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
			name, _, _ := strings.Cut(va.Type().Field(i).Tag.Get("json"), ",")
			out = append(out, name)
		}
	}
	return out
}

func (p printer) printPlan(answer foreseen, start time.Time) error {
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		if p.output == outputMarkdown {
			fmt.Fprintf(p.out, "### %s\n\n", title)
		} else {
			fmt.Fprintln(p.out, title+":")
		}
		for _, line := range lines {
			fmt.Fprintln(p.out, "- "+packagefile.PrintableLines(line))
		}
		fmt.Fprintln(p.out)
	}
	section("Refused by the API server", answer.Refused)
	section("Warnings", answer.Warnings)
	section("You may not read", answer.Unread)
	section("Changes", answer.Changes)
	section("In the end", ends(answer))
	section("Estimated times", estimateLines(answer.Estimates))
	if err := p.printNodes(answer.Nodes, start); err != nil {
		return err
	}
	var blocked []string
	for i := range answer.Blocked {
		blocked = append(blocked, strings.TrimSpace(answer.Blocked[i].lines(start, p.wide())))
	}
	section("Not complete in the end, because", blocked)
	return nil
}

func ends(p foreseen) []string {
	var out []string
	for _, sk := range p.Skyhooks {
		out = append(out, fmt.Sprintf("Skyhook %s is %s, %s nodes complete", sk.Name, sk.Status, sk.CompleteNodes))
	}
	disturbed, evicted := 0, 0
	for i := range p.Nodes {
		if p.Nodes[i].Disturbed() || p.Nodes[i].Cordoned {
			disturbed++
		}
		evicted += len(p.Nodes[i].Evicted)
	}
	if len(p.Nodes) == 0 {
		return append(out, "no node begins anything new")
	}
	return append(out, fmt.Sprintf("%s, %d of them cordoned, %s evicted; takes about %s", text.Count(len(p.Nodes), "node"),
		disturbed, text.Count(evicted, "pod"), duration.HumanDuration(p.Duration.Duration)))
}

func (p printer) printNodes(nodes []forecast.Node, start time.Time) error {
	if len(nodes) == 0 {
		return nil
	}
	columns := []string{"ORDER", "NODE", "SKYHOOK", "BATCH", "STARTS", "TAKES", "STAGES", "EVICTED"}
	var rows [][]string
	for i := range nodes {
		rows = append(rows, planRow(&nodes[i], start, p.wide()))
	}
	if p.output != outputMarkdown {
		if err := printTable(p.out, columns, rows); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
		return nil
	}
	heading := strings.ToLower(strings.Join(columns, " | "))
	fmt.Fprintf(p.out, "| %s |\n|%s\n", heading, strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(p.out, "| %s |\n", strings.Join(markdown(row), " | "))
	}
	fmt.Fprintln(p.out)
	return nil
}

func planRow(n *forecast.Node, start time.Time, wide bool) []string {
	batch := "-"
	if n.Compartment != "" {
		batch = namedCompartments(n.Compartment) + "/" + strconv.Itoa(n.Batch)
	}
	took := "-"
	if !n.End.IsZero() {
		took = duration.HumanDuration(n.End.Sub(n.Start))
	}
	evicted := strconv.Itoa(len(n.Evicted))
	if wide && len(n.Evicted) > 0 {
		evicted = strings.Join(n.Evicted, ",")
	}
	return []string{
		strconv.Itoa(int(n.Order)), n.Node, n.Skyhook, batch, "+" + duration.HumanDuration(n.Start.Sub(start)), took,
		stagesOf(n), evicted,
	}
}

// stagesOf are the stages on a node, as package: stage, stage.
func stagesOf(n *forecast.Node) string {
	var parts []string
	last := ""
	for _, st := range n.Steps {
		word := string(st.Stage)
		if st.Interrupt != "" {
			word = string(st.Interrupt)
		}
		if of := st.Package + " " + st.Version; of != last {
			word, last = of+": "+word, of
		}
		parts = append(parts, word)
	}
	return strings.Join(parts, ", ")
}
