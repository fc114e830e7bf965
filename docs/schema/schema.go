// Package schema holds the JSON Schemas of Cleave's documents and checks documents against them.
//
// `make generate` writes the schemas of the files in result folders, and of what report, traces and predict
// print with --json, from the types of package lab. The schemas of study files, scenarios, system files,
// models and `cleave load` are written by hand; a test checks the kinds of claims in that of study files. The
// package serves tests, our own and others': no binary of Cleave contains it. docs/results.md explains the
// documents in words. Entry point: Validate.
package schema

import (
	"bytes"
	"embed"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed *.schema.json
var files embed.FS

// Validate checks a document against the schema of that name: "against", "analysis", "environment", "load",
// "model", "notes", "plan", "prediction", "scenario", "study", "system", "traces" or "trial". The error names
// every place that is wrong.
func Validate(name string, document []byte) error {
	text, err := files.ReadFile(name + ".schema.json")
	if err != nil {
		return fmt.Errorf("schema %q: there is none of that name: %w", name, err)
	}
	schema, err := compile(name, text)
	if err != nil {
		return fmt.Errorf("schema %q: %w", name, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("%s document: %w", name, err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%s document: %w", name, err)
	}
	return nil
}

// compile makes a schema ready for use. Formats such as date-time are checked.
func compile(name string, text []byte) (*jsonschema.Schema, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(name, value); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}
