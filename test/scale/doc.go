// Command scale measures rollouts on a fleet that is emulated: a real etcd and kube-apiserver, the operator as a
// process of its own, and in this process the nodes with their kubelets. It prints a table, writes the same in the format
// of Go's benchmarks, and fails if a figure is outside of the ranges in ranges.yaml. "scale null" is the null operator. docs/numbers.md says what the figures mean.
//
// It knows nothing of how the operator decides; it sees objects, metrics and processes.
package main
