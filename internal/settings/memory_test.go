package settings_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/internal/settings"
)

func TestDataMemory(t *testing.T) {
	const mib = 1 << 20
	for limit, want := range map[uint64]uint64{
		0: 0, 32 * mib: 16 * mib, 80 * mib: 40 * mib, 128 * mib: 88 * mib, 512 * mib: 472 * mib,
	} {
		if got := settings.DataMemory(limit); got != want {
			t.Errorf("of %d MiB %d are left for data, want %d", limit/mib, got/mib, want/mib)
		}
	}
}
