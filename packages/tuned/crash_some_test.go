//go:build integration && !nightly

package tuned_test

// stride is how many changes lie between two crashes, an even number.
const stride = 10
