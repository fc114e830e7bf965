package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/load/scenario"
	"github.com/cleave-lab/cleave/secret"
)

// environmentReference matches references of scenarios to the environment: ${env:NAME}. ${NAME} refers to
// values of the scenario.
var environmentReference = regexp.MustCompile(`(\$?)\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// scenarioReference returns the reference of a scenario to an environment variable.
func scenarioReference(variable string) string { return "${env:" + variable + "}" }

// typedReference matches ${NAME}, and $${NAME} for the plain text ${NAME}, in a header of the command line.
// The header has been escaped as a literal text of a scenario, so that each has one more $ than the user
// typed.
var typedReference = regexp.MustCompile(`(\$?)\$\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// convertTypedHeaders turns ${NAME} in headers of the command line into references to the environment.
func convertTypedHeaders(file *scenario.File) {
	*file = withTexts(*file, func(kind textKind, _, text string) string {
		if kind != headerText {
			return text
		}
		return typedReference.ReplaceAllStringFunc(text, func(found string) string {
			parts := typedReference.FindStringSubmatch(found)
			if parts[1] != "" {
				return "$${" + parts[2] + "}"
			}
			return scenarioReference(parts[2])
		})
	})
}

// maskScenario replaces by references the headers and members of JSON bodies that look like secrets, and the
// passwords of URLs in all texts.
func maskScenario(v *secret.Vault, file scenario.File) scenario.File {
	what := "scenario " + file.Name
	return withTexts(file, func(kind textKind, name, text string) string {
		if kind == otherText {
			return v.MaskURLs(what, "URL", text, scenarioReference)
		}
		if plain, isPlain := secret.Plain(text); secret.Named(name) && text != "" && isPlain {
			return scenarioReference(v.Mask(what, name, plain))
		}
		return v.MaskURLs(what, name, text, scenarioReference)
	})
}

// fillScenario replaces the references by their values, as literal texts. Beyond headers and bodies these are
// only references to masked passwords.
func fillScenario(v *secret.Vault, file scenario.File) (scenario.File, error) {
	var missing []error
	filled := withTexts(file, func(kind textKind, name, text string) string {
		place := cmp.Or(name, "a body")
		if kind == otherText {
			place = "a URL"
		}
		return environmentReference.ReplaceAllStringFunc(text, func(found string) string {
			parts := environmentReference.FindStringSubmatch(found)
			if parts[1] != "" {
				return found // $${ is a plain ${
			}
			if kind == otherText && !strings.HasPrefix(parts[2], secret.Prefix) {
				return found
			}
			value, known := v.Value(parts[2], nil)
			if !known {
				missing = append(missing, fmt.Errorf("%s of the scenario: %w", place, secret.MissingError{parts[2]}))
			}
			return scenario.Literal(value)
		})
	})
	return filled, errors.Join(missing...)
}

// textKind distinguishes the texts of a scenario by their places.
type textKind int

const (
	headerText textKind = iota
	bodyText
	otherText // a text that may hold URLs: the target, a choice, the name, request or expectation of a step
)

// withTexts returns a copy of the scenario with its texts changed. change returns the new text. name is that
// of the header, or of the JSON member of a body; "" for a body of text.
func withTexts(file scenario.File, change func(kind textKind, name, text string) string) scenario.File {
	texts := func(kind textKind, all map[string]string) map[string]string {
		return withValues(all, func(name, text string) string { return change(kind, name, text) })
	}
	other := func(text string) string { return change(otherText, "", text) }
	list := func(all []string) []string {
		changed := slices.Clone(all)
		for i := range changed {
			changed[i] = other(changed[i])
		}
		return changed
	}
	file.Headers = texts(headerText, file.Headers)
	file.Target = other(file.Target)
	file.Values = withValues(file.Values, func(_ string, value scenario.Value) scenario.Value {
		value.Choice = list(value.Choice)
		return value
	})
	file.Flows = slices.Clone(file.Flows)
	for i := range file.Flows {
		steps := slices.Clone(file.Flows[i].Steps)
		for j := range steps {
			s := &steps[j]
			s.Name = other(s.Name)
			s.Request = other(s.Request)
			s.Headers = texts(headerText, s.Headers)
			s.Body = change(bodyText, "", s.Body)
			s.JSON = withMembers("", s.JSON, change)
			s.Expect.Body = list(s.Expect.Body)
			s.Expect.JSON = texts(otherText, s.Expect.JSON)
			s.Expect.Header = texts(otherText, s.Expect.Header)
		}
		file.Flows[i].Steps = steps
	}
	return file
}

// withValues returns a copy of a map with its values changed, in the order of their names.
func withValues[T any](all map[string]T, change func(name string, value T) T) map[string]T {
	changed := maps.Clone(all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		changed[name] = change(name, all[name])
	}
	return changed
}

// withMembers returns a copy of a JSON value with its texts changed.
func withMembers(name string, value any, change func(kind textKind, name, text string) string) any {
	switch value := value.(type) {
	case string:
		return change(bodyText, name, value)
	case []any:
		changed := slices.Clone(value)
		for i := range changed {
			changed[i] = withMembers(name, changed[i], change)
		}
		return changed
	case map[string]any:
		return withValues(value, func(member string, value any) any { return withMembers(member, value, change) })
	}
	return value
}
