package cli

import (
	"regexp"
	"strings"
)

// The operator's messages end with what helps: sentences for people who read them elsewhere, with a command that is not
// marked as one.
var (
	// advised is such an end, from the sign before it; the command is its group.
	advised = regexp.MustCompile(`(?:[;:]|, or) [^;:]*\b(kubectl [a-z]+ [^;]*)$`)
	// plain is a command in a message. It ends before what follows in the sentence.
	plain = regexp.MustCompile("kubectl [a-z]+ (?:[^;,`]|[;,][^ ])*")
)

// withoutAdvice leaves out of a message the command at its end that the advice has as well, so that it is told once.
func withoutAdvice(message, advice string) string {
	at := advised.FindStringSubmatchIndex(message)
	if len(at) < 4 || !strings.Contains(advice, "`"+message[at[2]:at[3]]+"`") {
		return message
	}
	return message[:at[0]]
}

// pasteable is addressed for the commands in a message of the operator.
func (s *session) pasteable(message string) string {
	return plain.ReplaceAllStringFunc(message, s.toCluster)
}

// forPeople is a message of the operator as people read it: with commands for this cluster, and compartments by name.
func (s *session) forPeople(message string) string { return namedCompartments(s.pasteable(message)) }

// toCluster adds to a command the flags for the cluster and the operator that this command was given.
func (s *session) toCluster(command string) string {
	if strings.HasPrefix(command, "kubectl skyhook ") && s.namespace != defaultNamespace {
		command += " -n " + s.namespace
	}
	return command + s.clusterFlags()
}
