package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/skyhook-operator/skyhook"
)

// steeredSince is the first version of the operator that goes by annotations: earlier ones had fields of the spec.
const steeredSince = "v0.8.0"

const versionLabel = "app.kubernetes.io/version"

func (a *app) versionCommand() *cobra.Command {
	var (
		timeout    time.Duration
		clientOnly bool
	)
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of this program and of the operator",
		Example: "  kubectl skyhook version\n  kubectl skyhook version --client-only -o json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if clientOnly {
				p := printer{c.OutOrStdout(), a.output}
				return p.printVersions(a.version, "")
			}
			s, err := a.connect(c)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			v, err := s.read.operatorVersion(ctx)
			if err != nil {
				v = fmt.Sprintf("unknown (%v)", err)
			}
			return s.printVersions(a.version, v)
		},
	}
	const patience = 10 * time.Second
	c.Flags().DurationVar(&timeout, "timeout", patience, "how long to look for the operator")
	c.Flags().BoolVar(&clientOnly, "client-only", false, "do not ask the cluster")
	return c
}

// versions are of this program and, if it was asked for, of the operator.
type versions struct {
	Plugin string `json:"plugin"`
	// Revision is the commit that the program was built from in a checkout; a release has only its version.
	Revision string `json:"revision,omitempty"`
	Operator string `json:"operator,omitempty"`
}

func (p printer) printVersions(plugin, operator string) error {
	built := skyhook.Revision()
	switch p.output {
	case outputJSON, outputYAML, outputName:
		r := result{value: versions{Plugin: plugin, Revision: built, Operator: operator}, names: []string{"plugin/" + plugin}}
		if operator != "" {
			r.names = append(r.names, "operator/"+operator)
		}
		return p.print(r)
	}
	fmt.Fprintf(p.out, "Skyhook plugin:\t%s\n", skyhook.With(plugin, built))
	if operator != "" {
		fmt.Fprintf(p.out, "Skyhook operator:\t%s\n", operator)
	}
	return nil
}

// isOperator reports whether an image or a label of a Deployment speaks of Skyhook.
func isOperator(d *appsv1.Deployment) bool {
	var words []string
	for _, c := range d.Spec.Template.Spec.Containers {
		words = append(words, c.Image)
	}
	for k, v := range d.Labels {
		words = append(words, k, v)
	}
	return strings.Contains(strings.ToLower(strings.Join(words, " ")), "skyhook")
}

func versionOf(d *appsv1.Deployment) string {
	if v := strings.TrimSpace(d.Labels[versionLabel]); v != "" {
		return v
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		if tag := tagOf(c.Image); tag != "" && tag != "latest" {
			return tag
		}
	}
	return ""
}

// tagOf is the tag of an image; a colon before the last slash is a registry's port.
func tagOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	return tag
}
