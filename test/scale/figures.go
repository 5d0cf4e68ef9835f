package main

import (
	"math"
	"path/filepath"
	"slices"
	"time"
)

// figure is one number of a result.
type figure struct {
	Name, Unit, Meaning string
}

// timed says that a figure depends on what else the machine has to do.
func (f figure) timed() bool {
	return slices.Contains([]string{"s", "ms", "×", "mCPU"}, f.Unit)
}

// most says that a figure is the most of something, which no mean of several runs is.
func (f figure) most() bool {
	return slices.Contains([]string{"rssPeak", "planMost", "skyhookKB", "nodeAnnotationsKB", "configMapKB"}, f.Name)
}

// figures in the order in which they are printed. docs/numbers.md has the same.
var figures = []figure{
	{"seconds", "s", "from the change of the Skyhooks until all nodes are complete, or the Skyhooks gone"},
	{"secondsPerNode", "s", "that time by nodes"},
	{"secondsByFloor", "×", "that time by the null operator's, just before, of an install"},
	{"firstPermit", "s", "from the start of the operator until the first node may work"},
	{"takeover", "s", "from the death of the operator until the next one, which was there, changes something; a lease is 12 s"},
	{"handoverP50", "ms", "from the end of a stage's last container to the pod of the next stage: half of them"},
	{"handoverP99", "ms", "the same: 99 %"},
	{"writesPerNode", "", "requests of the operator that change something, by nodes"},
	{"kubeletWritesPerNode", "", "those of the emulated kubelets, and of what edits the Skyhooks"},
	{"cpuOperator", "s", "CPU time of the operator"},
	{"cpuPerNode", "ms", "the same by nodes"},
	{"cpuAPIServer", "s", "CPU time of kube-apiserver"},
	{"cpuAPIServerByFloor", "×", "the same by that of the null operator's install, just before"},
	{"cpuEtcd", "s", "CPU time of etcd"},
	{"rssPeak", "MiB", "the most memory that the operator had"},
	{"rssIdle", "MiB", "what it had when it was idle, after the first phase"},
	{"idleMillicores", "mCPU", "CPU of the operator when it was idle, after the first phase"},
	{"planP99", "ms", "how long the fleet was read and a Skyhook planned, without writes: 99 %"},
	{"planMost", "ms", "the same: none took longer than this, the bound of a bucket; missing if one took longer than the last bucket, 5 s"},
	{"passesPerNode", "", "passes of the node controller, by nodes"},
	{"skyhookKB", "KB", "the largest that a Skyhook was, as JSON"},
	{"nodeAnnotationsKB", "KB", "the largest that the operator's annotations of a node are at the end"},
	{"configMapKB", "KB", "the largest ConfigMap of the operator at the end"},
	{"etcdMB", "MB", "etcd's database at the end, with what is not compacted yet"},
}

// Result of one phase of one world.
type Result struct {
	World    string
	Phase    Phase
	Nodes    int
	Packages int
	// Figures by name; one that was not measured is missing.
	Figures map[string]float64
	// Writes of the operator per node, and those of the kubelets, by verb and resource.
	Writes, KubeletWrites counts
	// Answers to the operator's writes, leases included, by method and code.
	Answers counts
	// folder is where its run keeps profiles; empty if it is the mean of several.
	folder string
}

func (r Result) size() Size { return Size{Nodes: r.Nodes, Packages: r.Packages} }

// name is how the ranges refer to a result.
func (r Result) name() string { return r.World + "/" + string(r.Phase) + "/" + r.size().String() }

// profiles is the pattern of its files.
func (r Result) profiles() string { return filepath.Join(r.folder, string(r.Phase)+"-*.pb.gz") }

// means has one result for each name: of several in one run, the last with the figures of all of them. A size that is
// measured before and after a larger one counts as it is between them, also if the machine's speed changes meanwhile.
func means(results []Result) map[string]Result {
	same := map[string][]Result{}
	for _, r := range results {
		same[r.name()] = append(same[r.name()], r)
	}
	all := map[string]Result{}
	for name, group := range same {
		mean := group[len(group)-1]
		mean.Figures = map[string]float64{}
		if len(group) > 1 {
			mean.folder = ""
		}
		for _, f := range figures {
			if v, measured := f.ofAll(group); measured {
				mean.Figures[f.Name] = v
			}
		}
		all[name] = mean
	}
	return all
}

// ofAll is the figure of several results, if all have it: their mean, or the most of them.
func (f figure) ofAll(results []Result) (v float64, measured bool) {
	sum, most := 0.0, math.Inf(-1)
	for _, r := range results {
		v, ok := r.Figures[f.Name]
		if !ok {
			return 0, false
		}
		sum, most = sum+v, max(most, v)
	}
	if f.most() {
		return most, true
	}
	return sum / float64(len(results)), true
}

// observation is all that was seen during one phase.
type observation struct {
	took          time.Duration
	before, after moment
	handovers     []time.Duration
	peak          int64
	skyhook       int
	objects       *objects
	idle          *idleness
}

// moment is what can be read at any time.
type moment struct {
	usage            usage
	server, operator families
	own              counts
}

// idleness is what the operator needs while there is nothing to do.
type idleness struct {
	millicores float64
	memory     int64
}

// objects are sizes in bytes, as JSON or as texts.
type objects struct {
	nodeAnnotations, configMap int
}

// Names of the processes.
const (
	processOperator = "operator"
	processServer   = "kube-apiserver"
	processEtcd     = "etcd"
	processHarness  = "harness"
)

// result computes the figures.
func (o observation) result(world string, phase Phase, size Size) Result {
	nodes, seconds := float64(size.Nodes), o.took.Seconds()
	own := o.after.own.minus(o.before.own)
	all := o.after.server.writes().minus(o.before.server.writes())
	operator := all.minus(own).ofOperator()
	own = own.ofOperator()
	f := map[string]float64{
		"seconds": seconds, "secondsPerNode": seconds / nodes,
		"handoverP50": ms(quantile(o.handovers, 0.5)), "handoverP99": ms(quantile(o.handovers, 0.99)),
		"writesPerNode": operator.total() / nodes, "kubeletWritesPerNode": own.total() / nodes,
		"rssPeak": mebibytes(o.peak), "skyhookKB": kilobytes(o.skyhook),
		"etcdMB": o.after.server.sum("apiserver_storage_size_bytes", nil) / 1e6,
	}
	if len(o.handovers) == 0 {
		delete(f, "handoverP50")
		delete(f, "handoverP99")
	}
	o.addCPU(f, nodes)
	o.addPasses(f, nodes)
	if o.objects != nil {
		f["nodeAnnotationsKB"], f["configMapKB"] = kilobytes(o.objects.nodeAnnotations), kilobytes(o.objects.configMap)
	}
	if o.idle != nil {
		f["rssIdle"], f["idleMillicores"] = mebibytes(o.idle.memory), o.idle.millicores
	}
	return Result{
		World: world, Phase: phase, Nodes: size.Nodes, Packages: size.Packages, Figures: f,
		Writes: operator.by(nodes), KubeletWrites: own.by(nodes),
		Answers: o.after.operator.requests().minus(o.before.operator.requests()),
	}
}

func (o observation) addCPU(f map[string]float64, nodes float64) {
	used := func(process string) float64 {
		return (o.after.usage.process[process] - o.before.usage.process[process]).Seconds()
	}
	f["cpuOperator"], f["cpuAPIServer"], f["cpuEtcd"] = used(processOperator), used(processServer), used(processEtcd)
	f["cpuPerNode"] = 1000 * used(processOperator) / nodes
}

func (o observation) addPasses(f map[string]float64, nodes float64) {
	of := func(name string, want labels) histogram {
		return o.after.operator.histogram(name, want).minus(o.before.operator.histogram(name, want))
	}
	passes := of("controller_runtime_reconcile_time_seconds", labels{"controller": "node"})
	f["passesPerNode"] = passes.count() / nodes
	plan := of("skyhook_plan_duration_seconds", nil)
	if plan.count() == 0 {
		return // the null operator plans nothing
	}
	f["planP99"] = 1000 * plan.quantile(0.99)
	if most := 1000 * plan.most(); !math.IsInf(most, 1) {
		f["planMost"] = most
	}
}

func (c counts) by(nodes float64) counts {
	each := counts{}
	for key, n := range c {
		each[key] = n / nodes
	}
	return each
}

func ms(d time.Duration) float64    { return float64(d) / float64(time.Millisecond) }
func mebibytes(bytes int64) float64 { return float64(bytes) / (1 << 20) }
func kilobytes(bytes int) float64   { return float64(bytes) / 1000 }
