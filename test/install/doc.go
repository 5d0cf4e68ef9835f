// Package install puts the operator into a cluster as a user would, for the demo and the end-to-end tests: images from
// the build go to a registry, the chart is installed by Helm, and the Deployment becomes available.
//
// It knows no testbed: anything that takes images and has a kubeconfig will do.
package install
