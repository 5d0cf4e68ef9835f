// Package rollout decides which nodes may work now for one Skyhook, and what its status says.
//
// Plan takes the Skyhook and what is known of its nodes and returns the permits, the counts and the conditions. It
// knows no client, clock or logger; time comes in with the input.
package rollout
