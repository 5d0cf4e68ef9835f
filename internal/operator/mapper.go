package operator

import (
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// mapper keeps which resource a kind is. A cache of single namespaces asks with every read, and the library makes a list
// of all mappings for each answer: a seventh of what the operator allocated.
type mapper struct {
	meta.RESTMapper
	known sync.Map // *meta.RESTMapping by mapped
}

type mapped struct {
	kind     schema.GroupKind
	versions string
}

func newMapper(cluster *rest.Config, web *http.Client) (meta.RESTMapper, error) {
	all, err := apiutil.NewDynamicRESTMapper(cluster, web)
	if err != nil {
		return nil, err
	}
	return &mapper{RESTMapper: all}, nil
}

// RESTMapping returns the resource of a kind. What there is not, may be there the next time.
func (m *mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	key := mapped{kind, strings.Join(versions, ",")}
	if found, ok := m.known.Load(key); ok {
		if mapping, ok := found.(*meta.RESTMapping); ok {
			return mapping, nil
		}
	}
	mapping, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err == nil {
		m.known.Store(key, mapping)
	}
	return mapping, err
}
