package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/skyhook-operator/skyhook/api/v1alpha1"
)

func TestClosedBatchIsOneShortText(t *testing.T) {
	for text, want := range map[string]v1alpha1.ClosedBatch{
		`"3/1"`:      {Size: 3, Bad: 1},
		`"0/0:7"`:    {Holding: []int32{7}},
		`"2/0:7,12"`: {Size: 2, Holding: []int32{7, 12}},
	} {
		var got v1alpha1.ClosedBatch
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
		if raw, err := json.Marshal(want); err != nil || string(raw) != text {
			t.Errorf("%+v is written as %s, %v", want, raw, err)
		}
	}
	for _, text := range []string{`{}`, `3`, `[]`, `""`, `"3"`, `"/1"`, `"3/1:"`, `"3/1:x"`, `"3/1x"`, `"3/1:1,"`} {
		got := v1alpha1.ClosedBatch{Size: 9}
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, v1alpha1.ClosedBatch{}) {
			t.Errorf("%s is read as %+v, %v; it does not count", text, got, err)
		}
	}
}
