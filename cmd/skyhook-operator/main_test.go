package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/skyhook-operator/skyhook/internal/settings"
)

// full is a lease that no replica can write.
type full struct {
	*resourcelock.LeaseLock
	end context.CancelFunc
}

func (l full) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return nil, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), settings.LeaseName)
}

func (l full) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	l.end()
	return errors.New("etcdserver: mvcc: database space exceeded")
}

// TestWordsOfTheElection: a search of the log for the word that the pages of alerts give finds the API server's answer.
func TestWordsOfTheElection(t *testing.T) {
	for _, encoder := range []string{settings.EncoderJSON, settings.EncoderConsole} {
		var log bytes.Buffer
		logTo(&log, settings.Options{LogEncoder: encoder, LogLevel: slog.LevelInfo})
		t.Cleanup(klog.ClearLogger)
		ctx, end := context.WithCancel(t.Context())
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: full{&resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: "skyhook", Name: settings.LeaseName},
				LockConfig: resourcelock.ResourceLockConfig{Identity: "a"},
			}, end},
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
		})
		if err != nil {
			t.Fatal(err)
		}
		elector.Run(ctx)
		found := false
		for line := range strings.Lines(log.String()) {
			found = found || strings.Contains(line, settings.LeaseName) && strings.Contains(line, "database space exceeded")
		}
		if !found {
			t.Errorf("%s: no line has the lease and the answer:\n%s", encoder, &log)
		}
	}
	for _, page := range []string{"SkyhookOperatorDown", "SkyhookOperatorRestarts"} {
		text, err := os.ReadFile("../../docs/alerts/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if word := "grep " + settings.LeaseName; !bytes.Contains(text, []byte(word)) {
			t.Errorf("%s.md lacks %q", page, word)
		}
	}
}
