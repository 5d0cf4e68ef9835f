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
	return slices.Contains([]string{"s", "ms", "1/s", "%", "mCPU", "µs"}, f.Unit)
}

// most says that a figure is the most of something, which no mean of several runs is.
func (f figure) most() bool {
	return slices.Contains([]string{"rssPeak", "planMost", "skyhookKB", "nodeAnnotationsKB", "configMapKB"}, f.Name)
}

// figures in the order in which they are printed. docs/numbers.md has the same.
var figures = []figure{
	{"seconds", "s", "from the change of the Skyhooks until all nodes are complete, or the Skyhooks gone"},
	{"nodesPerSecond", "1/s", "nodes by that time"},
	{"secondsPerNode", "s", "that time by nodes"},
	{"firstPermit", "s", "from the start of the operator until the first node may work"},
	{"takeover", "s", "from the death of the operator until the next one, which was there, changes something; a lease is 12 s"},
	{"handoverP50", "ms", "from the end of a stage's last container to the pod of the next stage: half of them"},
	{"handoverP99", "ms", "the same: 99 %"},
	{"writesPerNode", "", "requests of the operator that change something, by nodes"},
	{"kubeletWritesPerNode", "", "those of the emulated kubelets, and of what edits the Skyhooks"},
	{"requestsPerSecond", "1/s", "all requests that the API server answered, by the time until the operator was idle again"},
	{"cpuOperator", "s", "CPU time of the operator"},
	{"cpuAPIServer", "s", "CPU time of kube-apiserver"},
	{"cpuEtcd", "s", "CPU time of etcd"},
	{"cpuHarness", "s", "CPU time of the emulated nodes, and of the measuring"},
	{"cpuPerNode", "ms", "CPU time of the operator by nodes"},
	{"yardstick", "µs", "CPU time of a fixed piece of work, done all the time: half of them; the less, the faster is the machine"},
	{"limitOperator", "%", "share of the phase in which the processors were busy, most of all with the operator"},
	{"limitAPIServer", "%", "the same: with kube-apiserver"},
	{"limitEtcd", "%", "the same: with etcd"},
	{"limitHarness", "%", "the same: with the emulated nodes"},
	{"limitOthers", "%", "the same: with what else runs on the machine; such a result counts for little"},
	{"limitNobody", "%", "of the time in which processors were free: everyone waited"},
	{"rssPeak", "MiB", "the most memory that the operator had"},
	{"rssIdle", "MiB", "what it had when it was idle, after the first phase"},
	{"idleMillicores", "mCPU", "CPU of the operator when it was idle, after the first phase"},
	{"plans", "", "how often the fleet was read and a Skyhook planned"},
	{"planP50", "ms", "how long that took, without writes: half of them"},
	{"planP99", "ms", "the same: 99 %"},
	{"planMost", "ms", "the same: none took longer than this, the bound of a bucket; missing if one took longer than the last bucket, 5 s"},
	{"planSeconds", "s", "all of them together"},
	{"skyhookPassP50", "ms", "passes of the Skyhook controller with their writes: half of them; below 5 ms only that is known"},
	{"skyhookPassP99", "ms", "the same: 99 %"},
	{"passesPerNode", "", "passes of the node controller, by nodes"},
	{"passP50", "ms", "such a pass with its writes: half of them; below 5 ms only that is known"},
	{"passP99", "ms", "the same: 99 %"},
	{"skyhookKB", "KB", "the largest that a Skyhook was, as JSON"},
	{"nodeAnnotationsKB", "KB", "the largest that the operator's annotations of a node are at the end"},
	{"configMaps", "", "ConfigMaps of the operator at the end"},
	{"configMapKB", "KB", "the largest of them"},
	{"configMapsKB", "KB", "all of them"},
	{"etcdMB", "MB", "etcd's database at the end, with what is not compacted yet"},
}

// Result of one phase of one world.
type Result struct {
	World    string `json:"world"`
	Phase    Phase  `json:"phase"`
	Nodes    int    `json:"nodes"`
	Packages int    `json:"packages"`
	// Figures by name; one that was not measured is missing.
	Figures map[string]float64 `json:"figures"`
	// Writes of the operator per node, and those of the kubelets, by verb and resource.
	Writes        counts `json:"writesPerNode"`
	KubeletWrites counts `json:"kubeletWritesPerNode"`
	// Answers to the operator's writes, leases included, by method and code.
	Answers counts `json:"answers,omitempty"`
	// limit is the memory limit of the operator's container, in MiB, as its report has it; 0 for none.
	limit uint64
	// folder is where its run keeps profiles; empty if it was read from a report, or is the mean of several.
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
	took           time.Duration
	before, after  moment
	samples        []usage
	handovers      []time.Duration
	peak           int64
	skyhook        int
	objects        *objects
	idle           *idleness
	processorCount int
}

// moment is what can be read at any time.
type moment struct {
	usage            usage
	server, operator families
	own              counts
	// What the operator and this process count themselves, once more: own before and operator after the server was read,
	// as writes do not stop for that.
	ownEarlier    counts
	operatorLater families
}

// idleness is what the operator needs while there is nothing to do.
type idleness struct {
	millicores float64
	memory     int64
}

// objects are sizes in bytes, as JSON or as texts.
type objects struct {
	nodeAnnotations, configMaps, configMap, allConfigMaps int
}

// Names of the processes.
const (
	processOperator = "operator"
	processServer   = "kube-apiserver"
	processEtcd     = "etcd"
	processHarness  = "harness"
)

// requestsPerSecond are those of the API server until the operator is idle again.
func (o *observation) requestsPerSecond() float64 {
	requests := o.after.server.sum(requestTotal, nil) - o.before.server.sum(requestTotal, nil)
	return requests / o.after.usage.at.Sub(o.before.usage.at).Seconds()
}

// result computes the figures.
func (o observation) result(world string, phase Phase, size Size) Result {
	nodes, seconds := float64(size.Nodes), o.took.Seconds()
	own := o.after.own.minus(o.before.own)
	all := o.after.server.writes().minus(o.before.server.writes())
	operator := all.minus(own).ofOperator()
	own = own.ofOperator()
	f := map[string]float64{
		"seconds": seconds, "nodesPerSecond": nodes / seconds, "secondsPerNode": seconds / nodes,
		"handoverP50": ms(quantile(o.handovers, 0.5)), "handoverP99": ms(quantile(o.handovers, 0.99)),
		"writesPerNode": operator.total() / nodes, "kubeletWritesPerNode": own.total() / nodes,
		"requestsPerSecond": o.requestsPerSecond(), "rssPeak": mebibytes(o.peak), "skyhookKB": kilobytes(o.skyhook),
		"etcdMB": o.after.server.sum("apiserver_storage_size_bytes", nil) / 1e6,
	}
	if len(o.handovers) == 0 {
		delete(f, "handoverP50")
		delete(f, "handoverP99")
	}
	o.addCPU(f, nodes)
	o.addPasses(f, nodes)
	if o.objects != nil {
		f["nodeAnnotationsKB"], f["configMaps"] = kilobytes(o.objects.nodeAnnotations), float64(o.objects.configMaps)
		f["configMapKB"], f["configMapsKB"] = kilobytes(o.objects.configMap), kilobytes(o.objects.allConfigMaps)
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

const requestTotal = "apiserver_request_total"

func (o observation) addCPU(f map[string]float64, nodes float64) {
	used := func(process string) float64 {
		return (o.after.usage.process[process] - o.before.usage.process[process]).Seconds()
	}
	f["cpuOperator"], f["cpuAPIServer"] = used(processOperator), used(processServer)
	f["cpuEtcd"], f["cpuHarness"] = used(processEtcd), used(processHarness)
	f["cpuPerNode"] = 1000 * used(processOperator) / nodes
	if piece := pieceOfWork(o.samples); piece > 0 { // a phase without samples has measured none
		f["yardstick"] = float64(piece) / float64(time.Microsecond)
	}
	shares := limits(o.samples, o.processorCount)
	for name, who := range map[string]string{
		"limitOperator": processOperator, "limitAPIServer": processServer, "limitEtcd": processEtcd,
		"limitHarness": processHarness, "limitOthers": limitOthers, "limitNobody": limitNobody,
	} {
		f[name] = 100 * shares[who]
	}
}

func (o observation) addPasses(f map[string]float64, nodes float64) {
	of := func(name string, want labels) histogram {
		return o.after.operator.histogram(name, want).minus(o.before.operator.histogram(name, want))
	}
	const passes = "controller_runtime_reconcile_time_seconds"
	plan, skyhook := of("skyhook_plan_duration_seconds", nil), of(passes, labels{"controller": "skyhook"})
	node := of(passes, labels{"controller": "node"})
	f["plans"], f["planSeconds"] = plan.count(), plan.sum
	f["planP50"], f["planP99"], f["planMost"] = 1000*plan.quantile(0.5), 1000*plan.quantile(0.99), 1000*plan.most()
	f["skyhookPassP50"], f["skyhookPassP99"] = 1000*skyhook.quantile(0.5), 1000*skyhook.quantile(0.99)
	f["passesPerNode"] = node.count() / nodes
	f["passP50"], f["passP99"] = 1000*node.quantile(0.5), 1000*node.quantile(0.99)
	if math.IsInf(f["planMost"], 1) {
		delete(f, "planMost")
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
