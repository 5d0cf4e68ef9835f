// Package e2e holds the end-to-end suite: the operator, agent and packages as built, on a real cluster of the testbed,
// driven by kubectl as a user would, and judged by the nodes' own files. It runs with the build tag e2e.
package e2e
