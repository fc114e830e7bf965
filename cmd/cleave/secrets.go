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
	*file = withTexts(*file, func(_, header, text string) string {
		if header == "" {
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
	masked := withTexts(file, func(name, _, text string) string {
		if plain, isPlain := secret.Plain(text); secret.Named(name) && text != "" && isPlain {
			return scenarioReference(v.Mask(what, name, plain))
		}
		return v.MaskURLs(what, name, text, scenarioReference)
	})
	return withOtherTexts(masked, func(text string) string {
		return v.MaskURLs(what, "URL", text, scenarioReference)
	})
}

// fillScenario replaces the references by their values, as literal texts. Beyond headers and bodies these are
// only references to masked passwords.
func fillScenario(v *secret.Vault, file scenario.File) (scenario.File, error) {
	var missing []error
	fill := func(place, text string, isReference func(variable string) bool) string {
		return environmentReference.ReplaceAllStringFunc(text, func(found string) string {
			parts := environmentReference.FindStringSubmatch(found)
			if parts[1] != "" || !isReference(parts[2]) { // $${ is a plain ${
				return found
			}
			value, known := v.Value(parts[2], nil)
			if !known {
				missing = append(missing, fmt.Errorf("%s of the scenario: %w", place, secret.MissingError{parts[2]}))
			}
			return scenario.Literal(value)
		})
	}
	filled := withTexts(file, func(name, _, text string) string {
		return fill(cmp.Or(name, "a body"), text, func(string) bool { return true })
	})
	filled = withOtherTexts(filled, func(text string) string {
		return fill("a URL", text, func(variable string) bool { return strings.HasPrefix(variable, secret.Prefix) })
	})
	return filled, errors.Join(missing...)
}

// withTexts returns a copy of the scenario with the texts of its headers and bodies changed. change returns
// the new text. It gets the name of the header or JSON member, the header ("" for a text of a body), and the
// text.
func withTexts(file scenario.File, change func(name, header, text string) string) scenario.File {
	headers := func(all map[string]string) map[string]string {
		return withValues(all, func(name, text string) string { return change(name, name, text) })
	}
	file.Headers = headers(file.Headers)
	return withSteps(file, func(s *scenario.Step) {
		s.Headers = headers(s.Headers)
		s.Body = change("", "", s.Body)
		s.JSON = withMembers("", s.JSON, change)
	})
}

// withOtherTexts returns a copy of the scenario with those texts changed that withTexts leaves and that may
// hold URLs: the target, choices, and the names, requests and expectations of steps.
func withOtherTexts(file scenario.File, change func(text string) string) scenario.File {
	list := func(all []string) []string {
		changed := slices.Clone(all)
		for i := range changed {
			changed[i] = change(changed[i])
		}
		return changed
	}
	texts := func(all map[string]string) map[string]string {
		return withValues(all, func(_, text string) string { return change(text) })
	}
	file.Target = change(file.Target)
	file.Values = withValues(file.Values, func(_ string, value scenario.Value) scenario.Value {
		value.Choice = list(value.Choice)
		return value
	})
	return withSteps(file, func(s *scenario.Step) {
		s.Name, s.Request = change(s.Name), change(s.Request)
		s.Expect.Body, s.Expect.JSON, s.Expect.Header = list(s.Expect.Body), texts(s.Expect.JSON),
			texts(s.Expect.Header)
	})
}

// withValues returns a copy of a map with its values changed, in the order of their names.
func withValues[T any](all map[string]T, change func(name string, value T) T) map[string]T {
	changed := maps.Clone(all)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		changed[name] = change(name, all[name])
	}
	return changed
}

// withSteps returns a copy of the scenario with its steps changed.
func withSteps(file scenario.File, change func(*scenario.Step)) scenario.File {
	file.Flows = slices.Clone(file.Flows)
	for i := range file.Flows {
		steps := slices.Clone(file.Flows[i].Steps)
		for j := range steps {
			change(&steps[j])
		}
		file.Flows[i].Steps = steps
	}
	return file
}

// withMembers returns a copy of a JSON value with its texts changed.
func withMembers(name string, value any, change func(name, header, text string) string) any {
	switch value := value.(type) {
	case string:
		return change(name, "", value)
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
