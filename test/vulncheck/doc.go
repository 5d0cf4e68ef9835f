// Package vulncheck tests the search for known vulnerabilities, tools/vulncheck.
package vulncheck
