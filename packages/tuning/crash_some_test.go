//go:build integration && !nightly

package tuning_test

const step = 7 // odd, see testCrashes
