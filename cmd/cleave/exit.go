package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-lab/cleave/report"
	"github.com/cleave-lab/cleave/run"
	"github.com/cleave-lab/cleave/secret"
	"github.com/cleave-lab/cleave/study"
)

// Exit codes.
const (
	exitFine           = 0
	exitFailed         = 1
	exitBadPlan        = 2
	exitMissingPart    = 3
	exitLoadNotReached = 4
	exitInvariant      = 5
	exitUndecided      = 6
	exitGate           = 7
	exitInterrupted    = 130
)

// exitMeaning is an exit code with its meaning.
type exitMeaning struct {
	code    int
	meaning string
}

// exitMeanings explains the codes in the order of their numbers.
func exitMeanings() []exitMeaning {
	return []exitMeaning{
		{exitFine, "fine"},
		{exitFailed, "failed"},
		{exitBadPlan, "bad study file or arguments"},
		{exitMissingPart, "this host lacks a part"},
		{exitLoadNotReached, "the load was not achieved"},
		{exitInvariant, "a rule of the system was broken, or no answer was right"},
		{exitUndecided, "undecided, and a verdict was required"},
		{exitGate, "a change is beyond a limit of --fail-if"},
		{exitInterrupted, "interrupted"},
	}
}

// exitCodesHelp returns the paragraph of a command's help about its exit codes.
func exitCodesHelp(codes ...int) string {
	var parts []string
	for _, c := range exitMeanings() {
		if slices.Contains(codes, c.code) {
			parts = append(parts, fmt.Sprint(c.code, " ", c.meaning))
		}
	}
	return "\n\n" + strings.Join(report.Wrap("Exit codes: "+strings.Join(parts, "; ")+".", helpWidth), "\n")
}

// measuredCodes returns the exit codes of commands that compare variants.
func measuredCodes() []int {
	return []int{exitFine, exitFailed, exitBadPlan, exitMissingPart, exitLoadNotReached, exitInvariant,
		exitUndecided, exitInterrupted}
}

// codedError is an error with an exit code.
type codedError struct {
	code  int
	cause error
}

func (c *codedError) Error() string { return c.cause.Error() }
func (c *codedError) Unwrap() error { return c.cause }

// withCode returns an error with an exit code.
func withCode(code int, format string, args ...any) error {
	return &codedError{code: code, cause: fmt.Errorf(format, args...)}
}

// badPlan returns an error with exitBadPlan; nil stays nil.
func badPlan(err error) error {
	if err == nil {
		return nil
	}
	return withCode(exitBadPlan, "%w", err)
}

// mistakes collects the mistakes in a command line, so that one error names all of them.
type mistakes []error

// add adds errors; nil is none.
func (m *mistakes) add(errs ...error) { *m = append(*m, errs...) }

// addf adds a mistake by its text.
func (m *mistakes) addf(format string, args ...any) { m.add(fmt.Errorf(format, args...)) }

// err returns all mistakes as one error; nil: there are none.
func (m mistakes) err() error { return errors.Join(m...) }

// orInterrupted returns the error of a command. If it comes from the end of the command's context, which a
// signal ends, the error says that the command was interrupted, whatever its exit code was.
func orInterrupted(ctx context.Context, err error) error {
	isOfContext := ctx.Err() != nil && errors.Is(err, context.Canceled)
	if isOfContext && exitCode(err) != exitInterrupted {
		return withCode(exitInterrupted, "interrupted: %w", err)
	}
	return err
}

// exitCode returns the exit code for the error of a command.
func exitCode(err error) int {
	var coded *codedError
	var problems study.Problems
	var refused *run.PlanError
	var unset secret.MissingError
	switch {
	case err == nil:
		return exitFine
	case run.Interrupted(err):
		return exitInterrupted
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &problems), errors.As(err, &refused), errors.As(err, &unset):
		return exitBadPlan
	}
	return exitFailed
}
