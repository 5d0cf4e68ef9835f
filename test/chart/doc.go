// Package chart tests what the Helm chart renders, with the pinned Helm and strict decoding.
package chart
