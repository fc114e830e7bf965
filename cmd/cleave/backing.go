package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
)

// backingFlag names the flag that puts a study on other backing services.
const backingFlag = "backing"

// registerBackings makes the flag that puts every variant on other backing services.
func registerBackings(command *cobra.Command, into *[]string) {
	command.Flags().StringSliceVar(into, backingFlag, nil,
		"backing services instead of the embedded ones: mariadb or\npostgres, rabbitmq, "+
			"mongo, cassandra (systems: "+
			strings.Join(systemsThat[lab.Backed](), ", ")+")")
}

// standing are the knobs that put a variant on backing services.
type standing = func(lab.Variant) (map[string]string, error)

// backed returns what turns the knobs of a variant so that it stands on backing
// services of these kinds; nil without any.
func backed(system string, kinds []string) (standing, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	on, can := systemNamed[lab.Backed](system, conditions{})
	if !can {
		return nil, withCode(exitBadPlan, "--%s %s: the system %s has no backing services: leave the flag out",
			backingFlag, strings.Join(kinds, ","), system)
	}
	// A kind that is not known, no architecture has a use for.
	any := lab.Variant{Architecture: on.Describe().Architectures[0].Name}
	if _, err := on.OnBackings(any, kinds); err != nil {
		return nil, withCode(exitBadPlan, "--%s: %w", backingFlag, err)
	}
	return func(v lab.Variant) (map[string]string, error) { return on.OnBackings(v, kinds) }, nil
}
