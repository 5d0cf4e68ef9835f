package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/skyhook-operator/skyhook/internal/settings"
)

const agentImage = "registry.example.com/agent:1"

// operator is the process that is measured.
type operator struct {
	command *exec.Cmd
	ended   chan error
	// metrics and profiles are where it serves them; log is its file.
	metrics, profiles, log string
}

// Program is the operator's, and the memory limit of its container in MiB; 0 for none.
type Program struct {
	File   string
	Args   []string
	Memory uint64
	// Exact asks for heap profiles that tell differences of single MiB: one allocation in 512 KiB, as usual, does not.
	Exact bool
}

// environment has what a container with that limit gives to the garbage collector, and how exact profiles are.
func (p Program) environment() []string {
	var all []string
	if p.Memory > 0 {
		all = append(all, fmt.Sprintf("GOMEMLIMIT=%d", settings.DataMemory(p.Memory<<20)*9/10))
	}
	if p.Exact {
		all = append(all, "GODEBUG=memprofilerate=16384")
	}
	return all
}

// startOperator starts the program and waits until its controllers work. Its log is a file in the folder.
func startOperator(ctx context.Context, program Program, kubeconfig, folder string) (*operator, error) {
	o, err := launch(program, kubeconfig, folder, "operator.log")
	if err != nil {
		return nil, err
	}
	if err := o.awaitWork(ctx); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	return o, nil
}

// launch starts the program, and waits for nothing.
func launch(program Program, kubeconfig, folder, logFile string) (*operator, error) {
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	profiles, err := freeAddress()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, logFile))
	if err != nil {
		return nil, fmt.Errorf("make the operator's log: %w", err)
	}
	defer log.Close() // the process has its own
	o := &operator{
		metrics: "http://" + metrics, profiles: "http://" + profiles, log: log.Name(), ended: make(chan error, 1),
	}
	o.command = exec.Command(program.File, program.Args...)
	o.command.Stdout, o.command.Stderr = log, log
	// Nothing of this process's environment: GOMAXPROCS or GOGC there would be measured.
	o.command.Env = append(program.environment(),
		"KUBECONFIG="+kubeconfig, "NAMESPACE="+namespace, "ENABLE_WEBHOOKS=false", "LEADER_ELECTION=true",
		"AGENT_IMAGE="+agentImage, "METRICS_PORT="+metrics, "METRICS_SECURE=false",
		"PROBE_PORT=0", "PPROF_PORT="+profiles,
	)
	if err := o.command.Start(); err != nil {
		return nil, fmt.Errorf("start the operator: %w", err)
	}
	go func() { o.ended <- o.command.Wait() }()
	return o, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (o *operator) pid() int { return o.command.Process.Pid }

// awaitWork waits until the operator leads and its controllers have started.
func (o *operator) awaitWork(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		f, err := o.scrape(ctx)
		if err == nil && f["controller_runtime_max_concurrent_reconciles"] != nil {
			return nil
		}
		select {
		case err := <-o.ended:
			o.ended <- err
			return errors.Join(fmt.Errorf("the operator ended; its log is %s", o.log), err)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the operator does not begin to work; its log is %s", o.log), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (o *operator) scrape(ctx context.Context) (families, error) {
	return scrape(ctx, http.DefaultClient, o.metrics+"/metrics")
}

func (o *operator) stop() error {
	if err := o.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the operator: %w", err)
	}
	select {
	case err := <-o.ended:
		o.ended <- nil // who stops it again has nothing to wait for
		if err != nil {
			return errors.Join(fmt.Errorf("the operator exited by itself; its log is %s", o.log), err)
		}
		return nil
	case <-time.After(30 * time.Second):
		return errors.Join(errors.New("the operator does not stop"), o.command.Process.Kill())
	}
}

// kill ends the operator without a warning, and waits for its end.
func (o *operator) kill() error {
	if err := o.command.Process.Kill(); err != nil {
		return fmt.Errorf("kill the operator: %w", err)
	}
	<-o.ended //nolint:errcheck // that it was killed is known
	o.ended <- nil
	return nil
}

// slice is how many seconds each CPU profile has: the last one of a phase has to end before the next begins.
const slice = 2

// profile writes CPU profiles one after another until it is stopped, and one of the heap then. The files can be read
// together: go tool pprof FILE...
func (o *operator) profile(ctx context.Context, prefix string) (stop func() error) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	var failed error
	wg.Go(func() {
		for i := 0; failed == nil; i++ {
			failed = o.save(ctx,
				fmt.Sprintf("/debug/pprof/profile?seconds=%d", slice), fmt.Sprintf("%s-cpu-%03d.pb.gz", prefix, i))
			select {
			case <-done:
				return
			default:
			}
		}
	})
	return func() error {
		close(done)
		wg.Wait()
		return errors.Join(failed, o.save(ctx, "/debug/pprof/heap", prefix+"-heap.pb.gz"))
	}
}

func (o *operator) save(ctx context.Context, path, file string) error {
	body, err := fetch(ctx, http.DefaultClient, o.profiles+path)
	if err != nil {
		return err
	}
	defer body.Close()
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("keep a profile: %w", err)
	}
	_, err = io.Copy(f, body)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep a profile: %w", err)
	}
	return nil
}
