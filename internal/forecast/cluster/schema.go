package cluster

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	fieldpath "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/skyhook-operator/skyhook/charts"
)

// partSchema is what a CRD says of the spec or the status of its objects, without the rules in CEL.
type partSchema struct {
	properties *schemaProps
	validator  *validate.SchemaValidator
}

type schemaProps = apiextensionsv1.JSONSchemaProps

// schemas are those of the custom resources, by kind and part.
var schemas = sync.OnceValue(func() map[Kind]map[string]partSchema {
	definitions, err := charts.Definitions()
	mustBuild(err)
	all := map[Kind]map[string]partSchema{}
	for _, d := range definitions {
		parts := map[string]partSchema{}
		for name, properties := range d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties {
			raw, err := json.Marshal(properties)
			mustBuild(err)
			var s spec.Schema
			mustBuild(json.Unmarshal(raw, &s))
			parts[name] = partSchema{&properties, validate.NewSchemaValidator(&s, nil, "", strfmt.Default)}
		}
		all[Kind(d.Spec.Names.Kind)] = parts
	}
	return all
})

// mustBuild is for what is part of the build, and cannot be wrong.
func mustBuild(err error) {
	if err != nil {
		panic(err)
	}
}

// Complete fills in the defaults of a custom resource, and refuses it if its schema does.
func Complete(o client.Object) error {
	name, err := kindOf(o)
	if err != nil {
		return err
	}
	k := allKinds[name]
	errs, err := checkSchema(k, o, partMain)
	if err == nil && len(errs) > 0 {
		err = invalid(k, o, errs)
	}
	return err
}

// checkSchema fills in defaults and checks the part that is written.
func checkSchema(k *kind, o client.Object, part string) (fieldpath.ErrorList, error) {
	name, from := "spec", any(o)
	if part == partStatus {
		name, from = part, k.status(o)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return nil, err
	}
	var value any = content
	if part == partMain {
		given, there := content[name]
		if !there {
			return nil, nil // a server asks nothing of what is left out
		}
		value = given
	}
	s, at := schemas()[k.name][name], fieldpath.NewPath(name)
	errs := complete(s.properties, value, at)
	for _, err := range s.validator.Validate(value).Errors {
		errs = append(errs, fieldpath.Invalid(at, "", err.Error()))
	}
	if part == partMain && len(errs) == 0 {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(content, o)
	}
	return errs, err
}

// complete fills in the defaults of what is left out, and returns the items that a list has twice: the validator, which
// is not of CRDs alone, knows neither.
func complete(s *schemaProps, value any, at *fieldpath.Path) (errs fieldpath.ErrorList) {
	switch value := value.(type) {
	case map[string]any:
		for name, property := range s.Properties {
			if _, there := value[name]; !there && property.Default != nil {
				var fallback any
				mustBuild(json.Unmarshal(property.Default.Raw, &fallback))
				value[name] = fallback
			}
			errs = append(errs, complete(&property, value[name], at.Child(name))...)
		}
		if s.AdditionalProperties != nil {
			for key, item := range value {
				errs = append(errs, complete(s.AdditionalProperties.Schema, item, at.Key(key))...)
			}
		}
	case []any:
		for i, item := range value {
			errs = append(errs, complete(s.Items.Schema, item, at.Index(i))...)
		}
		if len(s.XListMapKeys) == 1 {
			errs = append(errs, twice(value, s.XListMapKeys[0], at)...)
		}
	}
	return errs
}

// twice are the items of a list whose key an earlier one has.
func twice(list []any, key string, at *fieldpath.Path) (errs fieldpath.ErrorList) {
	seen := map[any]bool{}
	for i, item := range list {
		value := item.(map[string]any)[key]
		if seen[value] {
			errs = append(errs, fieldpath.Duplicate(at.Index(i), value))
		}
		seen[value] = true
	}
	return errs
}
