//go:build integration

package alerts

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/skyhook-operator/skyhook/test/inputs"
)

const (
	file  = "../../charts/skyhook-operator/files/alerts.yaml"
	pages = "../../docs/alerts"
)

// rule is one alert of the file.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func rules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	return f.Groups[0].Rules
}

// series of a metric with the label of the Skyhook "gpu" and others.
func series(metric, labels, values string) map[string]string {
	return map[string]string{"series": metric + `{skyhook_name="gpu"` + labels + "}", "values": values}
}

func condition(name, values string) []map[string]string {
	return []map[string]string{series("skyhook_condition", `,condition="`+name+`"`, values)}
}

// scene is what Prometheus sees, once a minute, and when an alert does not fire yet, and when it does; never if fire is
// empty.
type scene struct {
	// name says what is special; empty in the first scene of an alert.
	name, alert string
	series      []map[string]string
	quiet, fire string
	// labels of the alert beside those of the rule, and what the texts say.
	labels            map[string]string
	summary, describe string
}

var gpu = map[string]string{"skyhook_name": "gpu"}

var scenes = []scene{
	{
		alert: "SkyhookOperatorDown",
		series: []map[string]string{
			{"series": `leader_election_master_status{name="3c22c1ae.nvidia.com",pod="a"}`, "values": "1x10 0x20"},
			{"series": `leader_election_master_status{name="3c22c1ae.nvidia.com",pod="b"}`, "values": "0x12 1x2 0x16"},
			{"series": `leader_election_master_status{name="another.example.com",pod="c"}`, "values": "1x30"},
		},
		quiet: "18m", fire: "21m",
		summary: "No Skyhook operator leads.",
		describe: "For five minutes no replica of the operator has held the lease, or Prometheus has not reached the one that " +
			"does. Stages that run end, but nothing new starts, and cordoned nodes stay cordoned.",
	},
	{
		alert: "SkyhookOperatorRestarts",
		series: []map[string]string{
			// It ends a minute after each start, and is started again after ten.
			{"series": `process_start_time_seconds{job="skyhook",instance="a"}`, "values": "0 stale _x8 600 stale _x8 1200 stale _x8 1800 stale _x8 2400 stale _x8"},
			{"series": `skyhook_build_info{job="skyhook",instance="a",version="1"}`, "values": "1 stale _x8 1 stale _x8 1 stale _x8 1 stale _x8 1 stale _x8"},
			{"series": `process_start_time_seconds{job="another",instance="a"}`, "values": "0+60x60"},
		},
		quiet: "35m", fire: "45m",
		summary: "The Skyhook operator keeps restarting.",
		describe: "A replica of the operator has restarted 4 times within an hour. Work continues in between, but slowly, and " +
			"other alerts come late.",
	},
	{
		alert: "SkyhookCertificateExpires",
		series: []map[string]string{
			// Ten days from the start on; the other replica has a newer one.
			{"series": `skyhook_webhook_certificate_expiry_timestamp_seconds{namespace="skyhook",pod="a"}`, "values": "864000x6000"},
			{"series": `skyhook_webhook_certificate_expiry_timestamp_seconds{namespace="skyhook",pod="b"}`, "values": "9999999x6000"},
		},
		quiet: "72h30m", fire: "73h30m", labels: map[string]string{"namespace": "skyhook"},
		summary: "The certificate of the webhooks ends within a week.",
		describe: "The operator in namespace skyhook should have renewed it three weeks ago. Once it has ended, nobody can " +
			"create or change a Skyhook.",
	},
	{
		alert:  "SkyhookPassesFail",
		series: []map[string]string{series("skyhook_waiting_nodes", `,reason="PassFailed"`, "0x10 3x30")},
		quiet:  "20m", fire: "27m", labels: gpu,
		summary: "The operator cannot work on Skyhook gpu or nodes of it.",
		describe: "For 15 minutes the operator has failed to read or write what it needs for Skyhook gpu, or for nodes of it. " +
			"Usually something refuses its requests, such as a webhook, a quota or its role.",
	},
	{
		name: "the status cannot be written", alert: "SkyhookPassesFail",
		series: []map[string]string{series("skyhook_plan_failing", "", "_x10 1x30")},
		quiet:  "20m", fire: "27m", labels: gpu,
		summary: "The operator cannot work on Skyhook gpu or nodes of it.",
		describe: "For 15 minutes the operator has failed to read or write what it needs for Skyhook gpu, or for nodes of it. " +
			"Usually something refuses its requests, such as a webhook, a quota or its role.",
	},
	{
		alert: "SkyhookStalled", series: condition("Stalled", "0x10 1x30"), quiet: "20m", fire: "27m",
		labels:   gpu,
		summary:  "Skyhook gpu waits for a person.",
		describe: "For 15 minutes Skyhook gpu has had work left that only a person can help with.",
	},
	{
		alert: "SkyhookNodesFailing",
		series: []map[string]string{
			// Two jobs of Prometheus scrape the operator.
			series("skyhook_failing_nodes", `,job="a",reason="StepFailed"`, "0x10 2x30"),
			series("skyhook_failing_nodes", `,job="b",reason="StepFailed"`, "0x10 2x30"),
			series("skyhook_failing_nodes", `,reason="StageTimeout"`, "0x10 1x30"),
			// These have alerts of their own.
			series("skyhook_failing_nodes", `,reason="RebootTimeout"`, "5x40"),
			series("skyhook_failing_nodes", `,reason="DrainTimeout"`, "5x40"),
		},
		quiet: "20m", fire: "27m", labels: gpu,
		summary:  "Packages of Skyhook gpu fail on nodes.",
		describe: "For 15 minutes at least one stage of Skyhook gpu has failed on 3 of its nodes.",
	},
	{
		name: "another operator leads, and it stays one alert", alert: "SkyhookStalled",
		series: []map[string]string{
			series("skyhook_condition", `,condition="Stalled",pod="a"`, "1x20 stale"),
			series("skyhook_condition", `,condition="Stalled",pod="b"`, "_x23 1x30"),
		},
		quiet: "14m", fire: "25m", labels: gpu,
		summary:  "Skyhook gpu waits for a person.",
		describe: "For 15 minutes Skyhook gpu has had work left that only a person can help with.",
	},
	{
		alert: "SkyhookRolloutStopped", series: condition("RolloutStopped", "0x10 1x30"), quiet: "9m", fire: "12m",
		labels:  gpu,
		summary: "Bad batches stopped the rollout of Skyhook gpu.",
		describe: "Too many nodes failed in batches of Skyhook gpu. No new batch starts in the compartments that reached " +
			"their failure threshold.",
	},
	{
		alert: "SkyhookRolloutStuck",
		series: []map[string]string{
			// Another operator leads after 80 minutes. Nodes become complete until minute 60.
			series("skyhook_node_status_count", `,pod="a",status="in_progress"`, "4x80 stale"),
			series("skyhook_node_status_count", `,pod="a",status="complete"`, "0+1x60 60x20 stale"),
			series("skyhook_node_status_count", `,pod="b",status="in_progress"`, "_x83 4x120"),
			series("skyhook_node_status_count", `,pod="b",status="complete"`, "_x83 60x120"),
			// Nodes join all the time.
			series("skyhook_rollout_progress_ratio", "", "0.9-0.001x200"),
		},
		quiet: "119m", fire: "132m", labels: gpu,
		summary:  "No node of Skyhook gpu has become complete for an hour.",
		describe: "4 of its nodes are in progress, and none of them has become complete for an hour.",
	},
	{
		alert: "SkyhookDrainBlocked",
		series: []map[string]string{
			// Nodes since 0 and 600; another operator leads after half an hour.
			series("skyhook_oldest_wait_timestamp_seconds", `,pod="a",reason="ProtectedPod"`, "0x30 stale"),
			series("skyhook_oldest_wait_timestamp_seconds", `,pod="b",reason="ProtectedPod"`, "_x33 0x60"),
			series("skyhook_oldest_wait_timestamp_seconds", `,pod="b",reason="EvictionRefused"`, "_x33 600x60"),
			series("skyhook_oldest_wait_timestamp_seconds", `,pod="b",reason="StageRunsLong"`, "_x33 0x60"),
		},
		quiet: "60m", fire: "72m", labels: gpu,
		summary: "Pods keep nodes of Skyhook gpu from being drained.",
		describe: "For 1h 12m 0s pods have kept one or more of its nodes from being drained. These nodes are cordoned, so " +
			"nothing new runs there.",
	},
	{
		name: "a time limit of the spec is over", alert: "SkyhookDrainBlocked",
		series: []map[string]string{series("skyhook_oldest_wait_timestamp_seconds", `,reason="DrainTimeout"`, "_x10 0x10")},
		quiet:  "9m", fire: "10m", labels: gpu,
		summary: "Pods keep nodes of Skyhook gpu from being drained.",
		describe: "For 10m 0s pods have kept one or more of its nodes from being drained. These nodes are cordoned, so " +
			"nothing new runs there.",
	},
	{
		name: "node after node is drained, each within minutes", alert: "SkyhookDrainBlocked",
		series: []map[string]string{series("skyhook_oldest_wait_timestamp_seconds", `,reason="PodTerminating"`, "0+60x200")},
		quiet:  "200m",
	},
	{
		alert: "SkyhookPausedCordoned",
		series: []map[string]string{
			// It is paused after an hour, and another operator leads after two.
			series("skyhook_status", `,pod="a",status="paused"`, "0x60 1x60 stale"),
			series("skyhook_cordoned_nodes", `,pod="a"`, "20x120 stale"),
			series("skyhook_status", `,pod="b",status="paused"`, "_x124 1x240"),
			series("skyhook_cordoned_nodes", `,pod="b"`, "_x124 20x240"),
		},
		quiet: "295m", fire: "315m", labels: gpu,
		summary: "Skyhook gpu is paused and keeps nodes cordoned.",
		describe: "For four hours Skyhook gpu has been paused or stopped while 20 nodes are cordoned because of it. Nothing new " +
			"runs there until somebody continues or disables it.",
	},
	{
		alert:  "SkyhookRebootOverdue",
		series: []map[string]string{series("skyhook_failing_nodes", `,reason="RebootTimeout"`, "0x10 1x30")},
		quiet:  "9m", fire: "12m", labels: gpu,
		summary:  "Nodes that Skyhook gpu rebooted are not back.",
		describe: "1 of its nodes did not reboot, or did not come back, within the time that their package allows.",
	},
	{
		alert: "SkyhookNodesUnavailable",
		series: []map[string]string{
			series("skyhook_unavailable_nodes", "", "40x10 43x40"), // 40 have been broken for long
			series("skyhook_budget_nodes", "", "2x50"),
			series("skyhook_node_status_count", `,status="in_progress"`, "1x50"),
		},
		quiet: "20m", fire: "27m", labels: gpu,
		summary: "More nodes of Skyhook gpu became unavailable than its budget.",
		describe: "During a rollout 3 more of its nodes have not been Ready for 15 minutes than at the best time of the last " +
			"day, and the rollout may disturb fewer. Nodes that fail by themselves, or because of a package, are among them.",
	},
	{
		alert: "SkyhookDeletionBlocked", series: condition("DeletionBlocked", "0x10 1x30"), quiet: "20m", fire: "27m",
		labels:  gpu,
		summary: "Skyhook gpu cannot be deleted.",
		describe: "For 15 minutes the deletion of Skyhook gpu has not progressed. Until it does, its nodes keep what is " +
			"installed.",
	},
	{
		alert: "SkyhookUninstallFailed", series: condition("UninstallFailed", "0x10 1x30"), quiet: "20m", fire: "27m",
		labels:   gpu,
		summary:  "A package of Skyhook gpu cannot be uninstalled.",
		describe: "For 15 minutes the uninstall of a package of Skyhook gpu has failed.",
	},
	{
		alert: "SkyhookRecordUnreadable", series: condition("NodeStateMalformed", "0x10 1x30"), quiet: "12m", fire: "17m",
		labels:  gpu,
		summary: "Records of nodes of Skyhook gpu cannot be read.",
		describe: "The operator cannot tell what is installed on some nodes of Skyhook gpu, and does nothing there. Somebody " +
			"else changed or cut the annotation with the record.",
	},
	{
		alert: "SkyhookImageMoved", series: condition("ImageMoved", "0x10 1x30"), quiet: "12m", fire: "17m",
		labels:  gpu,
		summary: "An image of Skyhook gpu was replaced under its tag.",
		describe: "A registry has a different image now for a package version that nodes have installed. All nodes still get " +
			"the one that was pulled first.",
	},
}

// test is the scene as promtool reads it.
func (s scene) test(severity string) map[string]any {
	labels := map[string]string{"severity": severity}
	for key, value := range s.labels {
		labels[key] = value
	}
	checks := []map[string]any{{"eval_time": s.quiet, "alertname": s.alert}}
	if s.fire != "" {
		checks = append(checks, map[string]any{"eval_time": s.fire, "alertname": s.alert, "exp_alerts": []map[string]any{{
			"exp_labels": labels, "exp_annotations": map[string]string{"summary": s.summary, "description": s.describe},
		}}})
	}
	return map[string]any{"interval": "1m", "input_series": s.series, "alert_rule_test": checks}
}

// TestAlerts: each alert is quiet at first, and fires when it should, with these texts.
func TestAlerts(t *testing.T) {
	if err := inputs.Files("../../tools/tool", "../../tools/prometheus"); err != nil {
		t.Fatal(err)
	}
	tool, err := exec.Command("../../tools/tool", "prometheus", "promtool").Output()
	if err != nil {
		t.Fatal(err)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	all := rules(t)
	for _, r := range all {
		fires := func(s scene) bool { return s.alert == r.Alert && s.fire != "" }
		if !slices.ContainsFunc(scenes, fires) {
			t.Errorf("no scene tests %s", r.Alert)
		}
	}
	for _, s := range scenes {
		i := slices.IndexFunc(all, func(r rule) bool { return r.Alert == s.alert })
		if i < 0 {
			t.Errorf("there is no alert %s", s.alert)
			continue
		}
		text, err := yaml.Marshal(map[string]any{
			"rule_files": []string{absolute}, "evaluation_interval": "1m", "tests": []any{s.test(all[i].Labels["severity"])},
		})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "test.yaml")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		promtool := exec.Command(strings.TrimSpace(string(tool)), "test", "rules", name)
		if out, err := promtool.CombinedOutput(); err != nil {
			t.Errorf("%s %s: %v\n%s", s.alert, s.name, err, out)
		}
	}
}

// TestPages: each alert has a page, which the index names with its severity.
func TestPages(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(pages, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := rules(t)
	for _, r := range all {
		page, err := os.ReadFile(filepath.Join(pages, r.Alert+".md"))
		if err != nil {
			t.Error(err)
		}
		for _, part := range []string{"# " + r.Alert + "\n", "\n## Meaning\n", "\n## Look\n", "\n## Help\n"} {
			if !bytes.Contains(page, []byte(part)) {
				t.Errorf("the page of %s lacks %q", r.Alert, part)
			}
		}
		for line := range strings.Lines(string(page)) { // with a selector it prints ten lines
			if strings.Contains(line, "kubectl logs ") && strings.Contains(line, " -l ") && !strings.Contains(line, " --tail=") {
				t.Errorf("the page of %s lacks --tail in %s", r.Alert, line)
			}
		}
		if row := "| [" + r.Alert + "](" + r.Alert + ".md) | " + r.Labels["severity"] + " | "; !bytes.Contains(index, []byte(row)) {
			t.Errorf("the index lacks %q", row)
		}
	}
	files, err := filepath.Glob(filepath.Join(pages, "Skyhook*.md"))
	if err != nil || len(files) != len(all) {
		t.Errorf("%d pages, %v; want %d", len(files), err, len(all))
	}
}
