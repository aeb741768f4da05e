package scenarios

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/invopop/jsonschema"

	"brokersim/model"
	"brokersim/sim/variate"
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
	costs, _ := s.Properties.Get("costs")
	def := reflect.ValueOf(model.DefaultCosts())
	for i := range def.NumField() {
		// The fields of costsTable are those of model.Costs, in any order.
		f, _ := reflect.TypeFor[costsTable]().FieldByName(def.Type().Field(i).Name)
		p, _ := costs.Properties.Get(f.Tag.Get("toml"))
		p.Default = def.Field(i).Interface().(variate.Dist).String()
	}
	store, _ := s.Properties.Get("store")
	p, _ := store.Properties.Get("append")
	p.Default = model.DefaultAppend().String()
	p, _ = store.Properties.Get("flush")
	p.Default = model.DefaultFlush().String()
	replica, _ := s.Properties.Get("replica")
	p, _ = replica.Properties.Get("network")
	p.Default = model.DefaultReplica().Network.String()
	p, _ = replica.Properties.Get("append")
	p.Default = model.DefaultReplica().Append.String()
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
