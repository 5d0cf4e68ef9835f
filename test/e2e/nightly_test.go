//go:build e2e && nightly

package e2e

func init() { all = true }
