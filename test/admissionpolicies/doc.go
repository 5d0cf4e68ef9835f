// Package admissionpolicies tests the examples in examples/admission against a real API server: users who have every role
// that they need try what the policies allow and what they refuse, and read why.
package admissionpolicies
