package main

import (
	"fmt"
	"math"
	"strings"
)

// table writes a heading, a sentence, and rows of cells, of which the first are the names of the columns.
func table(b *strings.Builder, heading, text string, columns []string, rows [][]string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| %s |\n|%s\n", heading, text, strings.Join(columns, " | "),
		strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}

// writeRatios writes what ranges.yaml bounds of two sizes that are both measured.
func writeRatios(b *strings.Builder, results []Result, limits Ranges) {
	byName := means(results)
	var rows [][]string
	for _, ratio := range limits.Ratios {
		v, of, to, ok := ratio.value(byName)
		if !ok || math.IsNaN(v) { // earlier reports have fewer figures
			continue
		}
		rows = append(rows, []string{
			ratio.World, string(ratio.Phase), "`" + ratio.name() + "`", ratio.Of, ratio.text(of),
			ratio.To, ratio.text(to), fmt.Sprintf("%.2f", v), ratio.String(),
		})
	}
	if len(rows) == 0 {
		return
	}
	table(b, "Is it linear?", "The same figure at two sizes, also by the `yardstick`, as the machine may be\n"+
		"slower for one of them. The allowed ratios are those of [ranges.yaml](../../test/scale/ranges.yaml).",
		[]string{
			"world", "phase", "figure", "larger", "figure there", "smaller", "figure there", "ratio",
			"allowed",
		}, rows)
}

// steady is what the operator needs for one world and size.
type steady struct {
	Result
	// peak of all phases.
	peak float64
}

// load is what memory grows with: a thousand nodes, and again for each Skyhook on them.
func (s steady) load() float64 {
	return float64(s.Nodes) / 1000 * float64(1+worlds[s.World].Skyhooks)
}

// steadies are those whose idleness is measured.
func steadies(results []Result) []steady {
	peaks := map[string]float64{}
	key := func(r Result) string { return r.World + "/" + r.size().String() }
	for _, r := range results {
		peaks[key(r)] = max(peaks[key(r)], r.Figures["rssPeak"])
	}
	var all []steady
	for _, r := range results {
		if _, measured := r.Figures["rssIdle"]; measured {
			all = append(all, steady{r, peaks[key(r)]})
		}
	}
	return all
}

func writeMemory(b *strings.Builder, results []Result) {
	var rows [][]string
	var idle, peak []point
	for _, s := range steadies(results) {
		limit := "-"
		if s.limit > 0 {
			limit = fmt.Sprint(s.limit)
		}
		rows = append(rows, []string{
			short(float64(s.Nodes)), fmt.Sprint(worlds[s.World].Skyhooks), fmt.Sprint(s.Packages), s.World, limit,
			cell(s.Figures, "rssIdle"), short(s.peak), cell(s.Figures, "idleMillicores"),
		})
		idle = append(idle, point{s.load(), s.Figures["rssIdle"]})
		peak = append(peak, point{s.load(), s.peak})
	}
	if len(rows) == 0 {
		return
	}
	table(b, "Memory", "Idle is after the first phase; peak is the most in any phase that was measured.\n"+
		"Each Skyhook has that many packages. The limit is that of the container, as the operator was told of it: garbage is\n"+
		"collected more often when it comes near.",
		[]string{"nodes", "Skyhooks", "packages", "world", "limit MiB", "idle MiB", "peak MiB", "idle mCPU"}, rows)
	ofIdle, okIdle := fit(idle)
	ofPeak, okPeak := fit(peak)
	if !okIdle || !okPeak {
		b.WriteString("\nA rule needs at least three sizes, over a factor of ten in nodes × (1 + Skyhooks).\n")
		return
	}
	b.WriteString("\nThe rules that fit best, in MiB; packages are left out, and with a limit\n" +
		"the peak is less than without one:\n\n| | | off by at most |\n|---|---|---|\n")
	for _, r := range []struct {
		name string
		rule
	}{{"idle", ofIdle}, {"peak", ofPeak}} {
		fmt.Fprintf(b, "| %s | %s + %s × nodes / 1,000 × (1 + Skyhooks) | %.0f %% |\n",
			r.name, short(r.base), short(r.slope), 100*r.off)
	}
}

// writeStarts writes how long nobody plans.
func writeStarts(b *strings.Builder, results []Result) {
	var rows [][]string
	for _, r := range results {
		if r.Phase == phaseTakeover {
			rows = append(rows, []string{
				r.World, short(float64(r.Nodes)), fmt.Sprint(r.Packages), cell(r.Figures, "firstPermit"), cell(r.Figures, "takeover"),
			})
		}
	}
	if len(rows) == 0 {
		return
	}
	table(b, "Starts", "From the start of an operator to its first permit; and from the death of one, in the midst of a "+
		"rollout, to the\nfirst change by the next, which waits for the lease of 12 seconds.",
		[]string{"world", "nodes", "packages", "first permit s", "takeover s"}, rows)
}

func writeRollouts(b *strings.Builder, results []Result) {
	var rows [][]string
	for _, r := range results {
		if r.Phase == phaseTakeover {
			continue
		}
		c := func(figure string) string { return cell(r.Figures, figure) }
		rows = append(rows, []string{
			r.World, short(float64(r.Nodes)), fmt.Sprint(r.Packages), string(r.Phase), c("seconds"), c("nodesPerSecond"),
			c("writesPerNode"), c("cpuPerNode"), c("rssPeak"), c("planP50"), c("planMost"),
			c("skyhookKB"), limitIn(r),
		})
	}
	table(b, "Rollouts", "Times are those of the machine above. The last column says who was the limit for most of "+
		"the time; if it was others,\nsomething else ran on the machine, and the time counts for little.", []string{
		"world", "nodes", "packages", "phase", "s", "nodes/s", "writes per node", "CPU ms per node", "peak MiB",
		"plan p50 ms", "plan at most ms", "Skyhook KB", "limit",
	}, rows)
}

// limitIn says who was the limit for most of the time, and for how much of it.
func limitIn(r Result) string {
	who, most := "-", 0.0
	for _, l := range []struct{ figure, name string }{
		{"limitOperator", "operator"},
		{"limitAPIServer", "API server"},
		{"limitEtcd", "etcd"},
		{"limitHarness", "emulated nodes"},
		{"limitOthers", "others"},
		{"limitNobody", "nobody"},
	} {
		if v := r.Figures[l.figure]; v > most {
			who, most = fmt.Sprintf("%s %.0f %%", l.name, v), v
		}
	}
	return who
}

// writeServer writes what a rollout costs the cluster's control plane.
func writeServer(b *strings.Builder, results []Result) {
	var rows [][]string
	for _, r := range results {
		c := func(figure string) string { return cell(r.Figures, figure) }
		each := func(figure string) string {
			return cell(map[string]float64{figure: 1000 * r.Figures[figure] / float64(r.Nodes)}, figure)
		}
		if r.Phase == phaseInstall {
			rows = append(rows, []string{
				r.World, short(float64(r.Nodes)), fmt.Sprint(r.Packages), c("requestsPerSecond"),
				c("writesPerNode"), c("kubeletWritesPerNode"), each("cpuAPIServer"), each("cpuEtcd"),
				c("nodeAnnotationsKB"), short(1000 * r.Figures["configMaps"] / float64(r.Nodes)),
				c("configMapKB"), c("etcdMB"),
			})
		}
	}
	if len(rows) == 0 {
		return
	}
	table(b, "The control plane, at installs", "What a node costs besides: requests, CPU of the API server and etcd, and objects. "+
		"etcd keeps what is overwritten for\nfive to ten minutes.",
		[]string{
			"world", "nodes", "packages", "requests/s", "writes per node", "of kubelets", "API server CPU ms per node",
			"etcd CPU ms per node", "largest annotations of a node KB", "ConfigMaps per 1,000 nodes",
			"largest ConfigMap KB", "etcd MB",
		}, rows)
}
