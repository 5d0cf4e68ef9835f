// Package alerts tests the chart's alerts with promtool.
package alerts
