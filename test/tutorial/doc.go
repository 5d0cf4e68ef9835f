// Package tutorial runs the tutorials of the documentation, command by
// command, and compares what they print with what the documentation shows.
package tutorial
