// Package reasons has what the comments of api/v1alpha1/reasons*.go say of each reason.
package reasons

// Text is what people are told of a reason, in Markdown. Words in capitals stand for names.
type Text struct {
	// Meaning is what it means, in full sentences.
	Meaning string
	// EndedBy are those who can end it, the usual one first; docs/reasons.md says who they are.
	EndedBy []string
	// Do is the command or the field that helps.
	Do string
}

// Of is what is told of a reason; empty for one that is not the operator's.
func Of(reason string) Text { return texts[reason] }
