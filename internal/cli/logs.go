package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/record"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

type logs struct {
	skyhook, pkg, node, stage string
	follow, previous          bool
	fromNode                  bool
	tail                      int64
}

func (a *app) logsCommand() *cobra.Command {
	var o logs
	c := &cobra.Command{
		Use:   "logs PACKAGE",
		Short: "Print what the stages of a package print",
		Example: "  kubectl skyhook package logs driver --skyhook gpu-init\n" +
			"  kubectl skyhook package logs driver --skyhook gpu-init --node worker-1 --stage apply -f\n" +
			"  kubectl skyhook package logs driver --skyhook gpu-init --node worker-1 --from-node",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePackages,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			o.pkg = args[0]
			return s.logs(ctx, o)
		}),
	}
	a.skyhookFlag(c, &o.skyhook, true)
	a.logFlags(c, &o)
	return c
}

// skyhookLogsCommand is logs SKYHOOK: the same for all packages.
func (a *app) skyhookLogsCommand() *cobra.Command {
	var o logs
	c := &cobra.Command{
		Use:   "logs SKYHOOK",
		Short: "Print what the stages of a Skyhook print",
		Long: "Prints the output of stages whose pods still exist. The output of ended stages is in log files on their nodes:\n" +
			"--from-node prints these files, the oldest first. It uses a pod that can only read them and is deleted at\n" +
			"once. If you name a node whose pod is gone, the command reads the files without being asked.",
		Example:           "  kubectl skyhook logs gpu-init\n  kubectl skyhook logs gpu-init --node worker-1 --package driver -f",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			o.skyhook = args[0]
			return s.logs(ctx, o)
		}),
	}
	c.Flags().StringVar(&o.pkg, "package", "", "only this `PACKAGE`")
	a.logFlags(c, &o)
	return c
}

// logFlags choose of which containers the logs are printed, and how.
func (a *app) logFlags(c *cobra.Command, o *logs) {
	c.Flags().StringVar(&o.node, "node", "", "only the `NODE` with this name, or those that match this regular expression")
	_ = c.RegisterFlagCompletionFunc("node", a.completeNodes) // fails for a flag that is not there only
	c.Flags().StringVar(&o.stage, "stage", "", "only this `STAGE`: "+strings.Join(stages, ", "))
	_ = c.RegisterFlagCompletionFunc("stage", cobra.FixedCompletions(stages, cobra.ShellCompDirectiveNoFileComp))
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "print new output as it appears, from all containers")
	c.Flags().BoolVarP(&o.previous, "previous", "p", false, "print the previous attempt of restarted containers")
	c.Flags().BoolVar(&o.fromNode, "from-node", false, "print the log files of ended stages, with a short-lived pod on each node")
	c.Flags().Int64Var(&o.tail, "tail", -1, "how many of the last lines of each container; -1 prints all")
}

// stages are those that a package has.
var stages = []string{
	string(v1alpha1.StageApply), string(v1alpha1.StageUpgrade), string(v1alpha1.StageConfig), string(v1alpha1.StageInterrupt),
	string(v1alpha1.StagePostInterrupt), string(v1alpha1.StageUninstall), string(v1alpha1.StageUninstallInterrupt),
}

func (s *session) logs(ctx context.Context, o logs) error {
	if o.stage != "" && !slices.Contains(stages, o.stage) {
		return fmt.Errorf("invalid stage %q: must be one of %s", o.stage, strings.Join(stages, ", "))
	}
	files := &fileLogs{s.read, s.write, s.core, s.now}
	if o.fromNode {
		if err := s.read.knows(ctx, o); err != nil {
			return err
		}
		return files.fromNode(ctx, o)
	}
	pods, err := s.read.podsLabelled(ctx, client.MatchingLabels{v1alpha1.LabelName: o.skyhook})
	if err != nil {
		return err
	}
	wanted, err := o.pods(pods)
	if err != nil {
		return err
	}
	if len(wanted) == 0 {
		if err := s.read.knows(ctx, o); err != nil {
			return err
		}
	}
	switch {
	case len(wanted) > 0:
	case o.node != "" && !o.follow:
		fmt.Fprintln(s.err, "The pod of this stage is gone; log files on the node do not tell stages, so all steps are printed.")
		return files.fromNode(ctx, o)
	case len(pods) == 0:
		return s.nothing(fmt.Sprintf("No pods found for skyhook %q in namespace %q; --from-node reads what ended stages printed", o.skyhook, s.namespace))
	default:
		return s.nothing("No pods matched the specified filters; --from-node reads what ended stages printed")
	}
	l := podLogs{s.core, s.out}
	if o.follow {
		return l.follow(ctx, wanted, o)
	}
	l.printLogs(ctx, wanted, o)
	return nil
}

// podLogs are what containers print.
type podLogs struct {
	core kubernetes.Interface
	out  io.Writer
}

// printLogs prints what the containers of pods printed, one after the other.
func (l podLogs) printLogs(ctx context.Context, wanted []logged, o logs) {
	for i, p := range wanted {
		if i > 0 {
			fmt.Fprintln(l.out, "---")
		}
		for _, c := range p.containers {
			if len(p.containers) > 1 {
				fmt.Fprintf(l.out, "=== Container: %s ===\n", c.Name)
			}
			l.printLog(ctx, p.pod, c, o)
		}
	}
}

// knows refuses a Skyhook or a package of which the cluster knows nothing: neither is it there, nor has a node a record of
// it.
func (r *reader) knows(ctx context.Context, o logs) error {
	found, missing := r.skyhook(ctx, o.skyhook)
	if missing == nil {
		if _, ok := found.Spec.Packages[o.pkg]; ok || o.pkg == "" {
			return nil
		}
		missing = fmt.Errorf("package %q not found in skyhook %q; it has %s", o.pkg, o.skyhook, packageList(found))
	}
	if apierrors.IsForbidden(missing) {
		return nil
	}
	nodes, err := r.nodes(ctx)
	if err != nil {
		return missing // whoever may not read nodes is told of the Skyhook at least
	}
	for _, n := range r.having(nodes, o.skyhook) {
		if o.pkg == "" || slices.ContainsFunc(n.entries(), func(e record.Entry) bool { return e.Name == o.pkg }) {
			return nil
		}
	}
	return missing
}

// logged is a pod, and the containers of it whose logs are wanted.
type logged struct {
	pod        corev1.Pod
	containers []corev1.ContainerStatus
}

// pods are those of the package, newest first.
func (o logs) pods(all []corev1.Pod) ([]logged, error) {
	match := func(string) bool { return true }
	if o.node != "" {
		m, err := matcher(o.node)
		if err != nil {
			return nil, fmt.Errorf("matching nodes: %w", err)
		}
		match = m
	}
	slices.SortFunc(all, func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var wanted []logged
	for _, pod := range all {
		seen, err := workload.Observe(&pod)
		other := o.pkg != "" && seen.Package != o.pkg || o.stage != "" && string(seen.Stage) != o.stage
		if err != nil || other || !match(pod.Spec.NodeName) {
			continue
		}
		if c := containersOf(&pod); len(c) > 0 {
			wanted = append(wanted, logged{pod, c})
		}
	}
	return wanted, nil
}

// containersOf are the containers that did something: those that copy the package only when they are at it, or failed.
func containersOf(pod *corev1.Pod) []corev1.ContainerStatus {
	all := pod.Status.InitContainerStatuses
	ran := slices.DeleteFunc(slices.Clone(all), func(c corev1.ContainerStatus) bool {
		copies := strings.HasSuffix(c.Name, "-init") && c.State.Terminated != nil && c.State.Terminated.ExitCode == 0
		return copies || c.State.Waiting != nil && c.LastTerminationState.Terminated == nil
	})
	if len(ran) > 0 || len(all) == 0 {
		return ran
	}
	// The next one may run already: a pod's status comes behind what happens on its node.
	next := slices.IndexFunc(all, func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil })
	return all[max(0, next):][:1]
}

// stateOf tells what a container does.
func stateOf(c corev1.ContainerStatus) string {
	switch t := c.State.Terminated; {
	case c.State.Running != nil:
		return "Running"
	case t != nil && t.ExitCode == 0:
		return "Completed"
	case t != nil:
		return fmt.Sprintf("Exit: %d", t.ExitCode)
	case c.State.Waiting != nil:
		return cmp.Or(c.State.Waiting.Reason, "Waiting")
	default:
		return "Waiting"
	}
}

func (l podLogs) printLog(ctx context.Context, pod corev1.Pod, c corev1.ContainerStatus, o logs) {
	fmt.Fprintf(l.out, "==> Pod: %s, Container: %s [%s], Node: %s <==\n", pod.Name, c.Name, stateOf(c), pod.Spec.NodeName)
	err := l.copyLog(ctx, pod, c, o, func(r io.Reader) error { _, err := io.Copy(l.out, r); return err })
	switch w := c.State.Waiting; {
	case err != nil && w != nil && c.LastTerminationState.Terminated == nil:
		fmt.Fprintf(l.out, "(no logs available: %s - %s)\n", w.Reason, cmp.Or(w.Message, "Container has not started yet"))
	case err != nil:
		fmt.Fprintf(l.out, "Error getting logs for %s: %v\n", c.Name, err)
	}
}

func (l podLogs) copyLog(
	ctx context.Context, pod corev1.Pod, c corev1.ContainerStatus, o logs, use func(io.Reader) error,
) error {
	options := corev1.PodLogOptions{Container: c.Name, Follow: o.follow}
	// A container that waits for its next attempt has the log of its last one.
	options.Previous = o.previous || c.State.Waiting != nil && c.LastTerminationState.Terminated != nil
	if o.tail >= 0 {
		options.TailLines = &o.tail
	}
	stream, err := l.core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &options).Stream(ctx)
	if err != nil {
		return err
	}
	defer stream.Close()
	return use(withoutBanner(stream))
}

// follow prints all containers at the same time, each line with where it comes from.
func (l podLogs) follow(ctx context.Context, pods []logged, o logs) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for _, p := range pods {
		for _, c := range p.containers {
			group.Go(func() error {
				prefix := p.pod.Spec.NodeName + "/" + c.Name + ": "
				tell := func(line string) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintln(l.out, prefix+line)
				}
				err := l.copyLog(ctx, p.pod, c, o, func(r io.Reader) error { return eachLine(r, tell) })
				if err != nil && ctx.Err() == nil {
					tell(fmt.Sprintf("error getting logs: %v", err))
				}
				return nil
			})
		}
	}
	return group.Wait()
}

// eachLine reads lines of any length.
func eachLine(r io.Reader, tell func(string)) error {
	b := bufio.NewReader(r)
	for {
		line, err := b.ReadString('\n')
		if line != "" {
			tell(strings.TrimSuffix(line, "\n"))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
