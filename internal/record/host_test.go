package record_test

import (
	"strings"
	"testing"

	"github.com/skyhook-operator/skyhook/internal/record"
)

// TestHost: an id identifies a host once it has outlived a boot.
func TestHost(t *testing.T) {
	type seen struct{ machine, boot string }
	for name, c := range map[string]struct {
		seen []seen
		want record.Host
		// replaced says that the last of them is another host.
		replaced bool
	}{
		"nothing":                         {nil, record.Host{}, false},
		"one boot":                        {[]seen{{"m1", "b1"}}, record.Host{MachineID: "m1", BootID: "b1"}, false},
		"two boots":                       {[]seen{{"m1", "b1"}, {"m1", "b2"}}, record.Host{MachineID: "m1"}, false},
		"three boots":                     {[]seen{{"m1", "b1"}, {"m1", "b2"}, {"m1", "b3"}}, record.Host{MachineID: "m1"}, false},
		"an id for each boot":             {[]seen{{"m1", "b1"}, {"m2", "b2"}, {"m3", "b3"}}, record.Host{MachineID: "m3", BootID: "b3"}, false},
		"another host":                    {[]seen{{"m1", "b1"}, {"m1", "b2"}, {"m2", "b3"}}, record.Host{MachineID: "m2", BootID: "b3"}, true},
		"an id that its kubelet lost":     {[]seen{{"m1", "b1"}, {"m1", "b2"}, {"", "b3"}}, record.Host{MachineID: "m1"}, false},
		"a boot id that its kubelet lost": {[]seen{{"m1", "b1"}, {"m1", ""}}, record.Host{MachineID: "m1", BootID: "b1"}, false},
		"an id that is not fit to be kept": {
			[]seen{{"m1", "b1"}, {"m1", "b2"}, {strings.Repeat("m", 1000), "b3"}}, record.Host{MachineID: "m1"}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h record.Host
			replaced := false
			for _, s := range c.seen {
				replaced = h.Replaced(s.machine)
				h = h.Seen(s.machine, s.boot)
			}
			if h != c.want || replaced != c.replaced {
				t.Errorf("%+v, replaced %t", h, replaced)
			}
			p, err := record.Write("demo", record.Node{Host: h}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := record.Read("demo", apply(nil, p.Annotations)); err != nil || n.Host != h {
				t.Errorf("read as %+v, error %v", n.Host, err)
			}
		})
	}
}
