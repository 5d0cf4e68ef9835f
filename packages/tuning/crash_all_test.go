//go:build integration && nightly

package tuning_test

const step = 1
