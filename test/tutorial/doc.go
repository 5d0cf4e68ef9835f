// Package tutorial reads the tutorials of the documentation, runs them command by command, and compares what they print
// with what the documentation shows. The end-to-end tests use it as well, for those that need a cluster.
package tutorial
