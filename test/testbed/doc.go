// Package testbed runs a real Kubernetes cluster of several nodes on one Linux machine that has nothing but Go, root
// and Debian packages: no container engine, no registry and no virtual machines.
//
// A cluster is a control plane (etcd, API server, controller manager, scheduler) in a network namespace of its own,
// which has no uplink, and nodes. A node is a set of namespaces with systemd as PID 1, its own root file system,
// containerd, kubelet and kube-proxy. One daemon supervises all of it and serves the image registry that every node
// uses for every image name.
//
// Everything about a cluster follows from its state folder: files below it, and control groups named after it. So any
// command can clean up after any other that died half-way.
//
// The package knows nothing of Skyhooks, operators or packages.
package testbed
