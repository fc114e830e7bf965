package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cleave-lab/cleave/lab"
)

// studyFile is the schema of study files. It is written by hand but for the kinds of claims.
const studyFile = "study.schema.json"

// withClaimKinds returns the schema of study files with the kinds of claims and what each needs,
// as lab.ClaimTests has them.
func withClaimKinds(schema string) (string, error) {
	var kinds, rules []string
	for _, t := range lab.ClaimTests() {
		var needs []string
		if t.Against {
			needs = append(needs, `"against"`)
		}
		if t.Exponent { // along a factor
			needs = append(needs, `"factor"`)
		}
		if t.Range {
			needs = append(needs, `"low"`, `"high"`)
		}
		kinds = append(kinds, fmt.Sprintf("%q", t.Kind))
		const rule = `{"if": {"properties": {"kind": {"const": %q}}}, "then": {"required": [%s]}}`
		rules = append(rules, fmt.Sprintf(rule, t.Kind, strings.Join(needs, ", ")))
	}
	const margin = "\n          "
	// Matches the property claims up to the end of its list allOf. The parts in parentheses are kept; the
	// kinds and the rules between them are replaced. The indentation finds the end of the list.
	claims := regexp.MustCompile(`(?s)("claims": .*?"kind": \{"enum": \[).*?(\].*?"allOf": \[).*?(\n        \])`)
	if !claims.MatchString(schema) {
		return "", errors.New(studyFile + " has no kinds of claims where they are looked for")
	}
	return claims.ReplaceAllString(schema, "${1}"+strings.Join(kinds, ", ")+"${2}"+margin+
		strings.Join(rules, ","+margin)+"${3}"), nil
}
