package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook"
	"github.com/skyhook-operator/skyhook/api/v1alpha1"
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
				s := &session{app: a, out: c.OutOrStdout(), err: c.ErrOrStderr()}
				return s.printVersions("")
			}
			s, err := a.connect(c)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			v, err := s.operatorVersion(ctx)
			if err != nil {
				v = fmt.Sprintf("unknown (%v)", err)
			}
			return s.printVersions(v)
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

func (s *session) printVersions(operator string) error {
	built := skyhook.Revision()
	switch s.output {
	case outputJSON, outputYAML, outputName:
		r := result{value: versions{Plugin: s.version, Revision: built, Operator: operator}, names: []string{"plugin/" + s.version}}
		if operator != "" {
			r.names = append(r.names, "operator/"+operator)
		}
		return s.print(r)
	}
	fmt.Fprintf(s.out, "Skyhook plugin:\t%s\n", skyhook.With(s.version, built))
	if operator != "" {
		fmt.Fprintf(s.out, "Skyhook operator:\t%s\n", operator)
	}
	return nil
}

// operatorVersion finds the operator among the Deployments of the namespace.
func (s *session) operatorVersion(ctx context.Context) (string, error) {
	var found appsv1.DeploymentList
	if err := s.client.List(ctx, &found, client.InNamespace(s.namespace)); err != nil {
		return "", fmt.Errorf("listing deployments in namespace %q: %w", s.namespace, err)
	}
	for i := range found.Items {
		if d := &found.Items[i]; isOperator(d) {
			if v := versionOf(d); v != "" {
				return v, nil
			}
		}
	}
	return "", fmt.Errorf("unable to determine operator version; no skyhook operator deployment found in namespace %q; "+
		"name its namespace with --namespace", s.namespace)
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

// hasPauseField reports whether the API has the field spec.pause, by which earlier operators are paused. Versions alone
// do not tell: those of other implementations count from elsewhere.
func (s *session) hasPauseField(ctx context.Context, sk *v1alpha1.Skyhook) bool {
	asked := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"pause":true}}`))
	err := s.client.Patch(ctx, sk.DeepCopy(), asked, client.DryRunAll, client.FieldValidation("Strict"))
	return err == nil
}

// supports refuses what the operator of a Skyhook would not notice.
func (s *session) supports(ctx context.Context, sk *v1alpha1.Skyhook, st steer) error {
	known, err := semver.NewVersion(sk.Annotations[v1alpha1.AnnotationVersion])
	if err != nil {
		v, discovery := s.operatorVersion(ctx)
		known, err = semver.NewVersion(v)
		err = cmp.Or(discovery, err)
	}
	if err != nil { // they are believed to be new enough
		fmt.Fprintf(s.err, "Warning: unable to determine operator version; cannot verify compatibility (requires %s+)\n",
			steeredSince)
		return nil //nolint:nilerr // the user was warned
	}
	if !known.LessThan(semver.MustParse(steeredSince)) || !s.hasPauseField(ctx, sk) {
		return nil
	}
	v := "v" + strings.TrimPrefix(known.Original(), "v")
	if st.annotation == v1alpha1.AnnotationPause {
		return fmt.Errorf("operator version %s uses spec.pause and not the annotation; "+
			"run kubectl edit skyhook %s and set spec.pause: %t", v, sk.Name, st.set)
	}
	return fmt.Errorf("operator version %s does not support %s; this feature was added in %s", v, st.verb, steeredSince)
}
