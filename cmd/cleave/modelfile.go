package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/inputfile"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/model"
	"github.com/cleave-lab/cleave/predict"
	"github.com/cleave-lab/cleave/study"
)

// asIsVariant names the architecture, and the variant, that leaves the components of a model where they are.
const asIsVariant = "as-is"

// modelSchema matches the key, in YAML or JSON, that identifies a model file.
var modelSchema = regexp.MustCompile(`(?m)^schema: *["']?cleave-model/|"schema"\s*:\s*"cleave-model/`)

// modelText returns the text of a file, and whether it is a model file. A file that cannot be read, or is
// longer than model.MaxBytes, is none.
func modelText(argument string) (string, bool) {
	data, err := inputfile.Read(argument, model.MaxBytes)
	return string(data), err == nil && modelSchema.Match(data)
}

// modelSystem returns the system that plays a model file if it implements T. what completes the message of
// the error otherwise, "... is a model, which cannot be ...", such as "checked".
func modelSystem[T lab.System](path, text, what string) (found T, err error) {
	if _, err := readModel(path); err != nil {
		return found, err // its mistakes, with their lines
	}
	for _, system := range systems(systemSettings{model: text}) {
		if found, can := system.(T); can && system.Describe().Model == text {
			return found, nil
		}
	}
	return found, withCode(exitBadPlan, "%s is a model, which cannot be %s", path, what)
}

// expandPlacement replaces a placement at the beginning of a variant's text by the architecture and the knobs
// for it. The placement "orders,payments apart" gives orders and payments a unit each, "orders+payments
// apart" one unit together. Other texts are returned unchanged, and so are all texts if there is no model.
func expandPlacement(text, modelText string) (string, error) {
	parts := strings.Fields(text)
	at := slices.Index(parts, "apart")
	if modelText == "" || at < 1 {
		return text, nil
	}
	m, err := model.Parse("", []byte(modelText))
	if err != nil {
		return "", err
	}
	change := predict.Change{Split: predict.ParseGroups(strings.Join(parts[:at], ""))}
	units, err := change.Apply(m)
	if err != nil {
		return "", err
	}
	expanded := []string{asIsVariant, "placement=" + placementOf(units)}
	return strings.Join(append(expanded, parts[at+1:]...), " "), nil
}

// placementOf names the components of each unit, as in "front+orders,stock".
func placementOf(units []model.Unit) string {
	groups := study.NamesOf(units, func(u model.Unit) string { return strings.Join(u.Components, "+") })
	return strings.Join(groups, ",")
}
