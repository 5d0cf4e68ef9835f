package v1alpha1_test

import (
	"testing"

	"github.com/skyhook-operator/skyhook/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m) }
