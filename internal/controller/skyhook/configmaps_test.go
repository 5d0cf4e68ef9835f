package skyhook

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
	"github.com/skyhook-operator/skyhook/internal/workload"
)

// configured has a configMap for package b only.
func configured(version, value string) *v1alpha1.Skyhook {
	s := newSkyhook("demo")
	s.Spec.Packages["b"] = v1alpha1.Package{Version: version, Image: "x/b", ConfigMap: map[string]string{"k": value}}
	return s
}

// holding is a ConfigMap that somebody put in the place of another.
func holding(cm *corev1.ConfigMap, value string) *corev1.ConfigMap {
	cm.Data = map[string]string{"k": value}
	return cm
}

func TestWriteConfigMaps(t *testing.T) {
	name := workload.ConfigMapName("demo", "b", "2.0.0")
	ours := func(version, value string) *corev1.ConfigMap {
		return options.PackageConfigMap(configured(version, value), "b")
	}
	mounted := func(version, value string) *corev1.ConfigMap {
		s := configured(version, value)
		return options.MountedConfigMap(s, "b", s.Spec.Packages["b"])
	}
	mount := func(version, value string) string { return "ConfigMap " + mounted(version, value).Name }
	seal := func(cm *corev1.ConfigMap, seals *bool) *corev1.ConfigMap {
		cm.Immutable = seals
		return cm
	}
	foreign := ours("2.0.0", "theirs")
	foreign.OwnerReferences = nil
	before := ours("2.0.0", "theirs")
	before.OwnerReferences[0].UID = "uid-before"
	other := ours("1.0.0", "theirs")
	other.OwnerReferences = nil
	gone := configured("2.0.0", "v")
	delete(gone.Spec.Packages, "b")
	mounting := podOf(t, configured("1.0.0", "v"), "b", "node-1")
	elsewhere := podOf(t, configured("2.0.0", "v"), "b", "node-1")
	for _, c := range []struct {
		name    string
		skyhook *v1alpha1.Skyhook
		have    []client.Object
		want    string // the requests
		fails   bool
	}{
		{name: "no configMap", skyhook: newSkyhook("demo")},
		{name: "missing", skyhook: configured("2.0.0", "v"), want: "create ConfigMap " + name + ", create " + mount("2.0.0", "v")},
		{name: "equal", skyhook: configured("2.0.0", "v"), have: []client.Object{ours("2.0.0", "v"), mounted("2.0.0", "v")}},
		{
			name: "changed in the spec", skyhook: configured("2.0.0", "v"), have: []client.Object{ours("2.0.0", "w"), mounted("2.0.0", "w")},
			want: "update ConfigMap " + name + ", create " + mount("2.0.0", "v") + ", delete " + mount("2.0.0", "w"),
		},
		{
			name: "changed in the spec, a pod mounts it as it was", skyhook: configured("2.0.0", "w"),
			have: []client.Object{ours("2.0.0", "v"), mounted("2.0.0", "v"), elsewhere},
			want: "update ConfigMap " + name + ", create " + mount("2.0.0", "w"),
		},
		{
			name: "changed in the spec, and somebody made it immutable", skyhook: configured("2.0.0", "v"),
			have: []client.Object{seal(ours("2.0.0", "w"), new(true)), mounted("2.0.0", "v")},
			want: "delete ConfigMap " + name + ", create ConfigMap " + name,
		},
		{
			name: "changed by somebody", skyhook: configured("2.0.0", "v"),
			have: []client.Object{ours("2.0.0", "v"), holding(mounted("2.0.0", "v"), "evil")},
			want: "delete " + mount("2.0.0", "v") + ", create " + mount("2.0.0", "v"),
		},
		{
			name: "of an operator whose pods mounted it", skyhook: configured("2.0.0", "v"), have: []client.Object{ours("2.0.0", "v")},
			want: "create " + mount("2.0.0", "v"),
		},
		{
			name: "may still change", skyhook: configured("2.0.0", "v"), have: []client.Object{ours("2.0.0", "v"), seal(mounted("2.0.0", "v"), nil)},
			want: "update " + mount("2.0.0", "v"),
		},
		{
			name: "may still change, and somebody did", skyhook: configured("2.0.0", "v"),
			have: []client.Object{ours("2.0.0", "v"), seal(holding(mounted("2.0.0", "v"), "evil"), nil)},
			want: "delete " + mount("2.0.0", "v") + ", create " + mount("2.0.0", "v"),
		},
		{
			name: "an old version that nothing mounts", skyhook: configured("2.0.0", "v"), have: []client.Object{mounted("1.0.0", "v"), elsewhere},
			want: "create ConfigMap " + name + ", create " + mount("2.0.0", "v") + ", delete " + mount("1.0.0", "v"),
		},
		{
			name: "an old version that a pod mounts", skyhook: configured("2.0.0", "v"), have: []client.Object{mounted("1.0.0", "v"), mounting},
			want: "create ConfigMap " + name + ", create " + mount("2.0.0", "v"),
		},
		{name: "the package left the spec", skyhook: gone, have: []client.Object{ours("2.0.0", "v")}, want: "delete ConfigMap " + name},
		{name: "the package left, a pod runs", skyhook: gone, have: []client.Object{mounted("2.0.0", "v"), elsewhere}},
		{name: "another's with our label stays", skyhook: gone, have: []client.Object{other}},
		{
			name: "the name is another's", skyhook: configured("2.0.0", "v"), have: []client.Object{foreign},
			want: "create ConfigMap " + name + ", create " + mount("2.0.0", "v"), fails: true,
		},
		{
			name: "the name is that of a Skyhook before", skyhook: configured("2.0.0", "v"), have: []client.Object{before},
			want: "create ConfigMap " + name + ", create " + mount("2.0.0", "v"), fails: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			for _, o := range c.have {
				copied, _ := o.DeepCopyObject().(client.Object)
				w.must(w.Client.Create(t.Context(), copied))
			}
			w.took()
			p := w.newPass(c.skyhook)
			err := p.writeConfigMaps(t.Context())
			w.must(p.pruneConfigMaps(t.Context()))
			if got := w.took(); got != c.want {
				t.Errorf("requests: %q, want %q", got, c.want)
			}
			if (err != nil) != c.fails || c.fails && (obstacleOf(err) == nil || !strings.Contains(err.Error(), "ConfigMap skyhook/"+name)) {
				t.Errorf("error %v", err)
			}
			var now corev1.ConfigMap
			want := c.skyhook.Spec.Packages["b"].ConfigMap
			if want != nil {
				var mount corev1.ConfigMap
				key := client.ObjectKey{Namespace: namespace, Name: workload.MountedConfigMapName("demo", "b", "2.0.0", want)}
				if err := w.Client.Get(t.Context(), key, &mount); err != nil || !workload.Sealed(&mount) || !workload.Holds(&mount, want) {
					t.Errorf("pods would mount %v, error %v", mount.Data, err)
				}
			}
			if c.fails {
				want = map[string]string{"k": "theirs"}
			}
			if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &now); want != nil && (err != nil || !maps.Equal(now.Data, want)) {
				t.Errorf("holds %v, error %v", now.Data, err)
			}
		})
	}
}

// TestEarlierConfigMapsStay: what another operator configured a package with is told by nothing but its ConfigMap, as
// long as a node has not recorded it.
func TestEarlierConfigMapsStay(t *testing.T) {
	const dashed = "two-words"
	s := configured("2.0.0", "new")
	s.Spec.Packages[dashed] = s.Spec.Packages["b"]
	left := func(name, pkg string) *corev1.ConfigMap {
		cm := holding(options.PackageConfigMap(s, pkg), "old")
		cm.Name = name
		return cm
	}
	plain, hashed := left("demo-b-2.0.0", "b"), left("demo-two-words-2.0.0", dashed)
	for _, c := range []struct {
		name     string
		unhashed map[string]bool
		want     string
	}{
		{"some node has yet to record it", map[string]bool{"b": true, dashed: true}, "old old"},
		{"of one package", map[string]bool{dashed: true}, "new old"},
		{"every node has", nil, "new gone"},
	} {
		w := newWorld(t)
		for _, cm := range []*corev1.ConfigMap{plain, hashed} {
			w.must(w.Client.Create(t.Context(), cm.DeepCopy()))
		}
		p := w.newPass(s)
		p.unhashed = c.unhashed
		w.must(p.writeConfigMaps(t.Context()))
		w.must(p.pruneConfigMaps(t.Context()))
		var got []string
		for _, cm := range []*corev1.ConfigMap{plain, hashed} {
			var now corev1.ConfigMap
			if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(cm), &now); err != nil {
				now.Data = map[string]string{"k": "gone"}
			}
			got = append(got, now.Data["k"])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: they hold %v, want %s", c.name, got, c.want)
		}
	}
}
