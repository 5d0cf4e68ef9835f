package cli

import (
	"regexp"
	"strings"
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

// addressed makes the commands of a text go to the cluster, and kubectl skyhook to the operator, that this command was
// given, so that they can be pasted.
func (s *session) addressed(text string) string {
	return commands.ReplaceAllStringFunc(text, func(quoted string) string {
		return "`" + s.toCluster(strings.Trim(quoted, "`")) + "`"
	})
}

// forPeople is a message of the operator as people read it: with commands for this cluster, and compartments by name.
func (s *session) forPeople(message string) string { return namedCompartments(s.addressed(message)) }

// toCluster adds to a command the flags for the cluster and the operator that this command was given.
func (s *session) toCluster(command string) string {
	if strings.HasPrefix(command, "kubectl skyhook ") && s.namespace != defaultNamespace {
		command += " -n " + s.namespace
	}
	return command + s.clusterFlags()
}
