package cli

import (
	"cmp"
	"regexp"
	"strings"

	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// commands are those in a text: a message of the operator and the advice mark them with backquotes.
var commands = regexp.MustCompile("`kubectl [^`]*`")

// clause is the last one of a message, from the sign before it.
var clause = regexp.MustCompile("(?:[;:]|, or) (?:[^;:`]|`[^`]*`)*$")

// withoutAdvice leaves the last clause of a message out if its command is that of the advice, so that it is told once.
func withoutAdvice(message, advice string) string {
	at := clause.FindStringIndex(message)
	if at == nil || !strings.HasSuffix(message, "`") {
		return message
	}
	if command := commands.FindString(message[at[0]:]); command == "" || !strings.Contains(advice, command) {
		return message
	}
	return message[:at[0]]
}

// target is the cluster and the operator that a command was given.
type target struct {
	namespace string
	// cluster are the flags that name it in other commands; empty for what the kubeconfig says when they run.
	cluster string
}

// addressed makes the commands of a text go to the cluster, and kubectl skyhook to the operator, so that they can be
// pasted.
func (t target) addressed(text string) string {
	return commands.ReplaceAllStringFunc(text, func(quoted string) string {
		return "`" + t.toCluster(strings.Trim(quoted, "`")) + "`"
	})
}

// forPeople is a message of the operator as people read it: with commands for this cluster, and compartments by name.
func (t target) forPeople(message string) string { return namedCompartments(t.addressed(message)) }

// toCluster adds to a command the flags for the cluster and the operator.
func (t target) toCluster(command string) string {
	if strings.HasPrefix(command, "kubectl skyhook ") && t.namespace != defaultNamespace {
		command += " -n " + t.namespace
	}
	return command + t.cluster
}

// clusterFlags are those flags of a command that name the cluster. context is named even if no flag did.
func clusterFlags(flags *genericclioptions.ConfigFlags, context string) string {
	var named strings.Builder
	for _, f := range []struct {
		name  string
		value *string
	}{
		{"kubeconfig", flags.KubeConfig},
		{"context", flags.Context},
		{"cluster", flags.ClusterName},
		{"server", flags.APIServer},
		{"user", flags.AuthInfoName},
	} {
		value := ""
		if f.value != nil {
			value = *f.value
		}
		if f.name == "context" {
			value = cmp.Or(value, context)
		}
		if value != "" {
			named.WriteString(" --" + f.name + " " + quoted(value))
		}
	}
	return named.String()
}

// harmless is what no shell takes for anything else than it is.
var harmless = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoted is a value as it is typed in a shell.
func quoted(value string) string {
	if harmless.MatchString(value) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
