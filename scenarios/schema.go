package scenarios

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON schema of a scenario file, made from the types that it is
// decoded into. scenario.schema.json holds it for editors that follow the
// #:schema line.
func Schema() ([]byte, error) {
	r := &jsonschema.Reflector{
		FieldNameTag:               "toml",
		RequiredFromJSONSchemaTags: true,
		DoNotReference:             true,
		Anonymous:                  true,
		Namer:                      func(reflect.Type) string { return "scenario" },
	}
	s := r.ReflectFromType(reflect.TypeFor[document]())
	s.Title = "brokersim scenario"
	describe(s, reflect.TypeFor[document]())
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(s)
	return b.Bytes(), err
}

// describe adds what our own tags say: keys that must be there, bounds.
func describe(s *jsonschema.Schema, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		if name == "" {
			continue
		}
		if f.Tag.Get("need") != "" {
			s.Required = append(s.Required, name)
		}
		p, _ := s.Properties.Get(name)
		if most := f.Tag.Get("max"); most != "" {
			p.Minimum, p.Maximum = json.Number(f.Tag.Get("min")), json.Number(most)
		}
		switch {
		case f.Type.Kind() == reflect.Slice:
			describe(p.Items, f.Type.Elem())
		case p.Properties != nil && f.Type != reflect.TypeFor[brokerTable]():
			describe(p, f.Type)
		}
	}
}

func jsonNumber(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
