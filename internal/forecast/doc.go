// Package forecast answers what the operator would do: it runs the operator's own controllers on a copy of a cluster in
// memory, in virtual time, with kubelets that always succeed. So whatever decides in the operator decides here, and
// nothing is written anywhere.
package forecast
