//go:build integration && nightly

package tuned_test

const stride = 2
