package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/architecture"
)

// backingFlag names the flag that puts a study on other backing services.
const backingFlag = "backing"

// registerBackings makes the flag that puts every variant on other backing services.
func registerBackings(command *cobra.Command, into *[]string) {
	command.Flags().StringSliceVar(into, backingFlag, nil,
		"backing services instead of the embedded ones: mariadb or\npostgres, rabbitmq, mongo (studies of the shop)")
}

// backed returns what turns the knobs of a variant so that it stands on backing
// services of these kinds; nil without any.
func backed(system string, kinds []string) (func(lab.Variant) (map[string]string, error), error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	if system != shop.Name {
		return nil, withCode(exitBadPlan, "--%s %s: the system %s has no backing services: leave the flag out", backingFlag, strings.Join(kinds, ","), system)
	}
	// The event-driven shop has a use for every kind.
	if _, err := architecture.Backed(architecture.Async, nil, kinds); err != nil {
		return nil, withCode(exitBadPlan, "--%s: %w", backingFlag, err)
	}
	return func(v lab.Variant) (map[string]string, error) {
		return architecture.Backed(v.Architecture, v.Knobs, kinds)
	}, nil
}
