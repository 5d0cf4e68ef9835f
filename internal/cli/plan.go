package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
	"github.com/skyhook-operator/skyhook/internal/forecast"
	"github.com/skyhook-operator/skyhook/internal/forecast/cluster"
	"github.com/skyhook-operator/skyhook/internal/rollout"
	"github.com/skyhook-operator/skyhook/internal/text"
)

// outputMarkdown is for merge requests; only plan has it.
const outputMarkdown = "markdown"

// farAhead is how far a plan looks.
const farAhead = 60 * 24 * time.Hour

func (a *app) planCommand() *cobra.Command {
	var files []string
	c := &cobra.Command{
		Use:   "plan [SKYHOOK] [-f FILE]",
		Short: "Show what will happen: nodes in order, stages, interrupts, evictions, duration",
		Long: "Shows what happens when you apply files, or what is left to do for a Skyhook: which nodes work, in which order\n" +
			"and batch; which stages and interrupts run on them; which pods are evicted or hold a drain; and how long it\n" +
			"takes. The operator's own code decides this on a copy of the cluster; nothing is written. The exit code is 1\n" +
			"if the API server or admission refuses a file.",
		Example: "  kubectl skyhook plan -f skyhook.yaml\n  kubectl skyhook plan gpu-init\n" +
			"  kubectl skyhook plan -f skyhook.yaml -o markdown",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 0 && len(files) == 0 || slices.Contains(args, "") {
				return errors.New("plan wants the name of a Skyhook, or files with -f")
			}
			return nil
		},
		Annotations:       map[string]string{moreOutputs: outputMarkdown},
		ValidArgsFunction: a.completeSkyhooks,
		RunE: a.run(func(ctx context.Context, s *session, args []string) error {
			return s.plan(ctx, strings.Join(args, ""), files)
		}),
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil,
		"a `FILE` with Skyhooks and DeploymentPolicies; - for standard input; may be repeated")
	return c
}

// foreseen is the answer of plan.
type foreseen struct {
	// Refused tells which objects admission refuses; then nothing of them is in the rest.
	Refused []string `json:"refused,omitempty"`
	// Warnings are those of admission, and the taints for which selected nodes are left out.
	Warnings []string        `json:"warnings,omitempty"`
	Unread   []string        `json:"unread,omitempty"`
	Changes  []string        `json:"changes"`
	Duration metav1.Duration `json:"duration"`
	// Estimates are the times of the stages that Duration goes by.
	Estimates []estimate        `json:"estimates"`
	Nodes     []forecast.Node   `json:"nodes"`
	Skyhooks  []foreseenSkyhook `json:"skyhooks"`
	// Blocked are what is not complete in the end.
	Blocked []cause `json:"blocked"`
}

type foreseenSkyhook struct {
	Name          string          `json:"name"`
	Status        v1alpha1.Status `json:"status"`
	CompleteNodes string          `json:"completeNodes"`
}

func (s *session) plan(ctx context.Context, name string, files []string) error {
	v, err := s.read.look(ctx, "")
	if err != nil {
		return err
	}
	if name != "" {
		if err := s.explain.exists(v, name, ""); err != nil {
			return err
		}
	}
	answer := foreseen{
		Unread: v.unread, Changes: []string{}, Nodes: []forecast.Node{}, Skyhooks: []foreseenSkyhook{}, Blocked: []cause{},
	}
	about := map[string]bool{name: name != ""}
	manifests, err := readFiles(s.in, files)
	if err != nil {
		return err
	}
	policiesFirst(manifests)
	apply := dryApply{s.read.client, s.core, s.warned}
	for _, m := range manifests {
		if err := apply.put(ctx, v, m, &answer, about); err != nil {
			return err
		}
	}
	for _, sentence := range slices.Concat(v.surroundings(about), v.untolerated(about)) {
		if !slices.Contains(answer.Warnings, sentence) {
			answer.Warnings = append(answer.Warnings, sentence)
		}
	}
	for i := range v.Skyhooks {
		if sk := &v.Skyhooks[i]; about[sk.Name] && s.abandonedNote(sk) != "" {
			answer.Warnings = append(answer.Warnings, fmt.Sprintf("Skyhook %s: %s", sk.Name, s.abandonedNote(sk)))
		}
	}
	v.caution(s.err)
	now := s.now()
	f, err := forecast.Run(v.Snapshot, v.ahead(now, farAhead))
	if err != nil {
		return err
	}
	s.explain.tell(&answer, v, f, about)
	if err := s.showPlan(answer, now); err != nil {
		return err
	}
	if len(answer.Refused) > 0 {
		return fmt.Errorf("the API server refuses %s; correct what it says above",
			text.Count(len(answer.Refused), "object"))
	}
	return nil
}

func (p printer) showPlan(answer foreseen, now time.Time) error {
	if p.tables() || p.output == outputMarkdown {
		return p.printPlan(answer, now)
	}
	r := result{value: answer}
	for _, n := range answer.Nodes {
		r.names = append(r.names, "node/"+n.Node)
	}
	return p.print(r)
}

// tell keeps of a forecast what concerns the Skyhooks that were asked for.
func (e explainer) tell(answer *foreseen, v *view, f forecast.Forecast, about map[string]bool) {
	end := f.Start
	for _, n := range f.Nodes {
		if about[n.Skyhook] && len(n.Steps) > 0 {
			answer.Nodes = append(answer.Nodes, n)
			if last := n.Steps[len(n.Steps)-1]; last.End.After(end) {
				end = last.End
			}
		}
	}
	answer.Duration.Duration = end.Sub(f.Start)
	answer.Estimates = v.measured().estimates(answer.Nodes)
	if len(f.Failing) > 0 {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("the operator fails in the look ahead, so that more may happen than is "+
			"shown: %s", text.First(f.Failing, 1)))
	}
	after := v.after(f)
	for i := range f.Skyhooks {
		sk := &f.Skyhooks[i]
		if !about[sk.Name] {
			continue
		}
		answer.Skyhooks = append(answer.Skyhooks, foreseenSkyhook{sk.Name, sk.Status.Status, sk.Status.CompleteNodes})
		if sk.Status.Status != v1alpha1.StatusComplete {
			answer.Blocked = append(answer.Blocked, e.causesOf(after, sk, f.Cluster, "")...)
		}
	}
	answer.Blocked = distinct(answer.Blocked)
}

// dryApply asks the API server what it would store.
type dryApply struct {
	client client.Client
	core   kubernetes.Interface
	warned *warnings
}

// put makes an object part of the copy of the cluster, as the API server would store it.
func (d dryApply) put(ctx context.Context, v *view, m manifest, answer *foreseen, about map[string]bool) error {
	var stored client.Object
	var err error
	said := d.warned.during(func() { stored, err = d.admitted(ctx, v, m) })
	switch status := apierrors.APIStatus(nil); {
	case errors.Is(err, errMayNot):
		answer.Unread = append(answer.Unread, fmt.Sprintf("what admission says of %s, because you may not change it; "+
			"only its schema is checked", m))
		if stored, err = unasked(v, m); err == nil {
			break
		}
		fallthrough
	case errors.As(err, &status):
		answer.Refused = append(answer.Refused, fmt.Sprintf("%s: %v", m, err))
		return nil
	case err != nil: // nobody was asked
		return fmt.Errorf("asking the API server about %s: %w", m, err)
	}
	if len(said) == 0 { // perhaps because the webhooks are off
		said = v.advice(stored)
	}
	if sk, is := stored.(*v1alpha1.Skyhook); is && v.added[sk.Spec.DeploymentPolicy] {
		said = v.withPolicy(said, sk)
		if b := sk.Spec.InterruptionBudget; b.Count != nil || b.Percent != nil { // the API server was asked without the policy
			answer.Refused = append(answer.Refused, fmt.Sprintf("%s: spec.deploymentPolicy: deploymentPolicy and interruptionBudget "+
				"exclude each other; remove interruptionBudget, the policy has budgets of its own", m))
		}
	}
	for _, sentence := range said {
		answer.Warnings = append(answer.Warnings, fmt.Sprintf("%s: %s", m, sentence))
	}
	switch stored := stored.(type) {
	case *v1alpha1.Skyhook:
		about[stored.Name] = true
		answer.Changes = append(answer.Changes, v.replaceSkyhook(stored)...)
	case *v1alpha1.DeploymentPolicy:
		answer.Changes = append(answer.Changes, v.replacePolicy(stored))
		for _, sk := range v.Skyhooks {
			about[sk.Name] = about[sk.Name] || sk.Spec.DeploymentPolicy == stored.Name
		}
	}
	return nil
}

// policiesFirst has Skyhooks asked about when the policies that they name are known, as in whatever order they are applied.
func policiesFirst(manifests []manifest) {
	slices.SortStableFunc(manifests, func(a, b manifest) int { return cmp.Compare(a.resource(), b.resource()) })
}

// withPolicy corrects what admission said of a Skyhook without the policy that does not exist yet, such as that nothing
// limits how many nodes are interrupted at a time.
func (v *view) withPolicy(said []string, sk *v1alpha1.Skyhook) []string {
	without := sk.DeepCopy()
	without.Spec.DeploymentPolicy = ""
	alone, whole := v.advice(without), v.advice(sk)
	said = slices.DeleteFunc(slices.Clone(said), func(sentence string) bool {
		return slices.Contains(alone, sentence) || slices.Contains(whole, sentence)
	})
	return append(said, whole...)
}

// errMayNot is what becomes of a question to the API server that the user has no right to ask.
var errMayNot = errors.New("you may not change it")

// advice is what admission would warn of, compared with what is there.
func (v *view) advice(o client.Object) []string {
	switch o := o.(type) {
	case *v1alpha1.Skyhook:
		for i := range v.Skyhooks {
			if v.Skyhooks[i].Name == o.Name {
				return admission.Advice(&v.Skyhooks[i], o, v.meets())
			}
		}
		return admission.Advice(nil, o, v.meets())
	case *v1alpha1.DeploymentPolicy:
		for i := range v.Policies {
			if v.Policies[i].Name == o.Name {
				return admission.PolicyAdvice(&v.Policies[i], o)
			}
		}
		return admission.PolicyAdvice(nil, o)
	}
	return nil
}

// meets is what a Skyhook meets in the cluster, as admission is told.
func (v *view) meets() admission.Cluster {
	return admission.Cluster{PriorityClass: v.options.Workload.PriorityClass, Nodes: v.Nodes, Skyhooks: v.Skyhooks}
}

// surroundings are what admission would warn of in the cluster that Skyhooks are in, as it is asked about those in files
// only.
func (v *view) surroundings(about map[string]bool) []string {
	var out []string
	for i := range v.Skyhooks {
		sk := &v.Skyhooks[i]
		if !about[sk.Name] || sk.DeletionTimestamp != nil {
			continue
		}
		for _, sentence := range v.meets().Advice(sk) {
			out = append(out, fmt.Sprintf("Skyhook %s: %s", sk.Name, sentence))
		}
	}
	return out
}

// untolerated tells which nodes Skyhooks leave out because of their taints. The webhook, which answers anybody, does not
// say that.
func (v *view) untolerated(about map[string]bool) []string {
	var out []string
	known := rollout.Taints{Runtime: v.options.Workload.RuntimeTaint, Tolerated: v.options.Workload.Tolerations}
	for i := range v.Skyhooks {
		sk := &v.Skyhooks[i]
		if !about[sk.Name] {
			continue
		}
		var selected []corev1.Node
		for j := range v.Nodes {
			if selects(sk, &v.Nodes[j]) {
				selected = append(selected, v.Nodes[j])
			}
		}
		for _, sentence := range rollout.Untolerated(sk, selected, known) {
			out = append(out, fmt.Sprintf("Skyhook %s: %s", sk.Name, sentence))
		}
	}
	return out
}

// admitted asks the API server what it would store: its defaults, and what admission says. It gets the manifest as it is
// written, so that a value which is the zero of its type counts. The whole spec is replaced, as kubectl apply does with
// what only it has written; annotations and labels are added.
func (d dryApply) admitted(ctx context.Context, v *view, m manifest) (client.Object, error) {
	have, out := &unstructured.Unstructured{}, m.written.DeepCopy()
	have.SetGroupVersionKind(out.GroupVersionKind())
	policy, _, _ := unstructured.NestedString(out.Object, policyPath...) // another type is for the API server to refuse
	if v.added[policy] {
		unstructured.RemoveNestedField(out.Object, policyPath...)
	}
	err := d.client.Get(ctx, client.ObjectKeyFromObject(out), have)
	verb := "create"
	switch {
	case apierrors.IsNotFound(err):
		out.SetResourceVersion("")
		err = d.client.Create(ctx, out, client.DryRunAll)
	case err != nil:
		return nil, err
	default:
		verb = "update"
		out.SetResourceVersion(have.GetResourceVersion())
		out.SetFinalizers(have.GetFinalizers())
		out.SetOwnerReferences(have.GetOwnerReferences())
		out.SetAnnotations(joined(have.GetAnnotations(), out.GetAnnotations()))
		out.SetLabels(joined(have.GetLabels(), out.GetLabels()))
		err = d.client.Update(ctx, out, client.DryRunAll)
	}
	if apierrors.IsForbidden(err) && !d.may(ctx, verb, m) {
		return nil, errMayNot
	}
	if err != nil {
		return nil, err
	}
	if v.added[policy] {
		if err := unstructured.SetNestedField(out.Object, policy, policyPath...); err != nil {
			return nil, err
		}
	}
	return m.typed(out)
}

// policyPath is where a Skyhook names its policy. A name that nobody has is refused, also in a dry run after that of the
// policy.
var policyPath = []string{"spec", "deploymentPolicy"}

// may reports whether the user has the right to a verb. Webhooks and policies refuse with the same status as a missing
// right. Who cannot be told apart is believed to be one of them.
func (d dryApply) may(ctx context.Context, verb string, m manifest) bool {
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
			Resource: m.resource(), Name: m.object.GetName(),
		},
	}}
	got, err := d.core.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
	return err != nil || got.Status.Allowed
}

// unasked is what would be stored as far as the schema of the API tells: what is there, with another spec.
func unasked(v *view, m manifest) (client.Object, error) {
	if err := cluster.Complete(m.object); err != nil {
		return nil, err
	}
	after, ok := m.object.(*v1alpha1.Skyhook)
	if !ok {
		return m.object, nil
	}
	i := slices.IndexFunc(v.Skyhooks, func(have v1alpha1.Skyhook) bool { return have.Name == after.Name })
	if i < 0 {
		return after, nil
	}
	out := v.Skyhooks[i].DeepCopy()
	out.Annotations, out.Labels = joined(out.Annotations, after.Annotations), joined(out.Labels, after.Labels)
	if !reflect.DeepEqual(out.Spec, after.Spec) {
		out.Spec = after.Spec
		out.Generation++
	}
	return out, nil
}

// joined are both maps; what the second has counts.
func joined(have, added map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, have)
	maps.Copy(all, added)
	return all
}

// replaceSkyhook puts a Skyhook into the copy, and says what that changes.
func (v *view) replaceSkyhook(s *v1alpha1.Skyhook) []string {
	i := slices.IndexFunc(v.Skyhooks, func(have v1alpha1.Skyhook) bool { return have.Name == s.Name })
	if i < 0 {
		if s.UID == "" {
			s.UID = types.UID("planned-" + s.Name)
		}
		v.Skyhooks = append(v.Skyhooks, *s)
		return []string{fmt.Sprintf("Skyhook %s is new: %s", s.Name, packageList(s))}
	}
	before := v.Skyhooks[i]
	v.Skyhooks[i] = *s
	return changesOf(&before, s)
}

func (v *view) replacePolicy(p *v1alpha1.DeploymentPolicy) string {
	i := slices.IndexFunc(v.Policies, func(have v1alpha1.DeploymentPolicy) bool { return have.Name == p.Name })
	if i < 0 {
		v.Policies = append(v.Policies, *p)
		v.added[p.Name] = true
		return fmt.Sprintf("DeploymentPolicy %s is new", p.Name)
	}
	before := v.Policies[i].Spec
	v.Policies[i] = *p
	if reflect.DeepEqual(before, p.Spec) {
		return fmt.Sprintf("DeploymentPolicy %s: nothing changes", p.Name)
	}
	return fmt.Sprintf("DeploymentPolicy %s: changed fields: %s", p.Name, strings.Join(fieldsThatDiffer(before, p.Spec), ", "))
}
