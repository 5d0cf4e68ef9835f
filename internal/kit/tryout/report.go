package tryout

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skyhook-operator/skyhook/pkg/packagefile"
)

// Report is how a trial went.
type Report struct {
	Package string `json:"package"`
	Version string `json:"version"`
	// Name that the Skyhook would have for the package.
	Name string `json:"name"`
	Root string `json:"root"`
	// Kept is the folder in which an overlay keeps the files that differ.
	Kept      string `json:"kept,omitempty"`
	Succeeded bool   `json:"succeeded"`
	Runs      []Run  `json:"runs"`
	// NotRun are modes that never began, as the one before failed.
	NotRun []string `json:"notRun,omitempty"`
	// Ignored are the commands of systemctl that did nothing, as there are no
	// services: what a check learnt from them proves nothing.
	Ignored []string `json:"ignored,omitempty"`
	// MayBeTheTrial says what steps of a trial that failed may have met with that
	// hosts do not have.
	MayBeTheTrial []string `json:"mayBeTheTrial,omitempty"`
	// Changes that this trial made, and the settings of its copy of the kernel's.
	Changes []Change `json:"changes"`
	// Total is what all trials on this overlay changed in Root; only with one.
	Total []Change `json:"total,omitzero"`
	// Logs and State are folders of the root that the changes leave out.
	Logs  string `json:"logs"`
	State string `json:"state"`
	// settings are those of the kernel that differ at the end.
	settings []Change
}

// addSettings lists them as what they are for a host. None are kept for a later
// run.
func (r *Report) addSettings() {
	r.Changes = append(r.Changes, r.settings...)
	if r.Total != nil {
		r.Total = append(r.Total, r.settings...)
	}
}

// Run is one run of the agent.
type Run struct {
	Mode string `json:"mode"`
	// ExitCode is the agent's: all that Kubernetes gets to see.
	ExitCode int     `json:"exitCode"`
	Seconds  float64 `json:"seconds"`
	// Message is what the Skyhook's status would show of a failure.
	Message string `json:"message,omitempty"`
}

// conclude sums up what became of the modes that were to run.
func (r *Report) conclude(modes []packagefile.Mode) {
	for _, mode := range modes[len(r.Runs):] {
		r.NotRun = append(r.NotRun, string(mode))
	}
	failed := slices.ContainsFunc(r.Runs, func(run Run) bool { return run.ExitCode != 0 })
	r.Succeeded = !failed && len(r.NotRun) == 0
}

// WriteJSON writes the report for programs.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// otherName is what to say of the name in the Skyhook, if it is another one.
func (r Report) otherName() string {
	if r.Name == r.Package {
		return ""
	}
	return ", in a Skyhook " + r.Name
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "\n%s %s%s\n", r.Package, r.Version, r.otherName())
	for _, run := range r.Runs {
		run.write(w)
	}
	for _, mode := range r.NotRun {
		fmt.Fprintf(w, "  %s was not run\n", mode)
	}
	if len(r.Ignored) > 0 {
		fmt.Fprintf(w, "not tried: systemctl %s; a trial has no services, so systemctl did nothing and succeeded, and a "+
			"check that relies on it proves nothing here\n",
			strings.Join(r.Ignored, ", "))
	}
	for _, cause := range r.MayBeTheTrial {
		fmt.Fprintf(w, "the trial may be the cause of the failure: %s\n", cause)
	}
	writeChanges(w, "changed by this run:", r.Changes)
	if r.Kept != "" && !slices.EqualFunc(r.Changes, r.Total, sameChange) {
		writeChanges(w, "changed by all runs so far:", r.Total)
	}
	if r.Kept != "" {
		fmt.Fprintf(w, "%s itself is as it was; the changes are in %s\n", r.Root, r.Kept)
	}
	fmt.Fprintf(w, "not listed: logs in %s, the agent's state in %s\n", r.Logs, r.State)
}

func (r Run) write(w io.Writer) {
	verdict := "succeeded"
	if r.ExitCode != 0 {
		verdict = fmt.Sprintf("FAILED with exit code %d", r.ExitCode)
	}
	took := time.Duration(r.Seconds * float64(time.Second)).Round(time.Millisecond)
	fmt.Fprintf(w, "  %s %s after %v\n", r.Mode, verdict, took)
	if r.Message != "" {
		fmt.Fprintf(w, "    %s\n", strings.ReplaceAll(strings.TrimSpace(r.Message), "\n", "\n    "))
	}
}

func sameChange(a, b Change) bool {
	return a.Path == b.Path && a.Kind == b.Kind && slices.Equal(a.Aspects, b.Aspects)
}

func writeChanges(w io.Writer, title string, changes []Change) {
	if len(changes) == 0 {
		fmt.Fprintf(w, "%s nothing\n", title)
		return
	}
	fmt.Fprintln(w, title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range changes {
		file := c.Is
		if file == nil {
			file = c.Was
		}
		fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", c.Kind, file.Mode, size(file), packagefile.Printable(c.Path+c.remark()))
	}
	_ = table.Flush()
}

// size is empty for what has none.
func size(f *File) string {
	if !strings.HasPrefix(f.Mode, "-") {
		return ""
	}
	return fmt.Sprint(f.Size)
}

// remark is what a line says behind the path.
func (c Change) remark() string {
	var words []string
	for _, aspect := range c.Aspects {
		words = append(words, c.explain(aspect))
	}
	if c.Is != nil && c.Is.Link != "" && !slices.Contains(c.Aspects, aspectLink) {
		words = append(words, "to "+c.Is.Link)
	}
	switch c.Below {
	case 0:
	case 1:
		words = append(words, "with the file in it")
	default:
		words = append(words, fmt.Sprintf("with the %d files in it", c.Below))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

func (c Change) explain(aspect string) string {
	switch aspect {
	case aspectType, aspectMode:
		return fmt.Sprintf("%s was %s", aspect, c.Was.Mode)
	case aspectOwner:
		return fmt.Sprintf("owner %s was %s", c.Is.Owner, c.Was.Owner)
	case aspectLink:
		return fmt.Sprintf("to %s, was to %s", c.Is.Link, c.Was.Link)
	case aspectContent:
		if c.Is.Size != c.Was.Size {
			return fmt.Sprintf("size was %d", c.Was.Size)
		}
		return "other content"
	case aspectWritten:
		return "written again"
	case aspectValue:
		return fmt.Sprintf("%q, was %q", c.Is.Value, c.Was.Value)
	case aspectTouched:
		return "touched"
	}
	return aspect
}
