// Package webhook answers the API server's questions about Skyhooks and DeploymentPolicies before they are stored. What
// is right and wrong is said by package admission; this one reads what the answer depends on.
package webhook

import (
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/admission"
)

// Names and paths of the existing API. The chart has them, too, and people look for them in messages.
const (
	// Configuration is the ValidatingWebhookConfiguration that has the API server call.
	Configuration = "skyhook-operator-validating-webhook"

	SkyhookName = "validate-skyhook.nvidia.com"
	SkyhookPath = "/validate-skyhook-nvidia-com-v1alpha1-skyhook"
	PolicyName  = "validate-deploymentpolicy.nvidia.com"
	PolicyPath  = "/validate-skyhook-nvidia-com-v1alpha1-deploymentpolicy"
)

// Register has the server answer. cached reads nodes, of which there are many; live reads what was perhaps made a
// moment ago. The rules are the operator's own, by which it holds what is stored; class is the priority class that it
// gives to package pods.
func Register(
	server webhook.Server, scheme *runtime.Scheme, cached, live client.Reader, rules admission.ImageRules, class string,
) {
	for path, h := range gated(clock.RealClock{}, map[string]http.Handler{
		SkyhookPath: ctrladmission.WithValidator(scheme, &skyhooks{cached: cached, live: live, images: rules, class: class}),
		PolicyPath:  ctrladmission.WithValidator(scheme, &policies{cached: cached, live: live}),
	}) {
		server.Register(path, h)
	}
}

// refusal makes one error of all problems; nil when there are none.
func refusal(problems []admission.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return errors.New(admission.Report(problems))
}

var (
	_ ctrladmission.Validator[*v1alpha1.Skyhook]          = &skyhooks{}
	_ ctrladmission.Validator[*v1alpha1.DeploymentPolicy] = &policies{}
)
