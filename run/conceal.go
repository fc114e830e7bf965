package run

import "github.com/cleave-lab/cleave/lab"

// conceal removes secrets from the logs of a trial, and from those parts of its record that contain output of
// programs, names of their spans included.
func (c *Conductor) conceal(trial *lab.Trial, logs map[string]string) {
	trial.Reason = c.Conceal(trial.Reason)
	for _, texts := range [][]string{trial.Audit.Problems, trial.Audit.Said, trial.Remarks,
		trial.Metered.Notes} {
		for i, text := range texts {
			texts[i] = c.Conceal(text)
		}
	}
	for i := range trial.Faults {
		f := &trial.Faults[i]
		f.Proof = c.Conceal(f.Proof)
		f.Error = c.Conceal(f.Error)
	}
	if trial.Platform != nil {
		trial.Platform.Unmetered = c.Conceal(trial.Platform.Unmetered)
	}
	if trial.Traced != nil {
		for i := range trial.Traced.Operations {
			o := &trial.Traced.Operations[i]
			o.Operation = c.Conceal(o.Operation)
			for _, batch := range o.Batches {
				for j := range batch.Parts {
					batch.Parts[j].Operation = c.Conceal(batch.Parts[j].Operation)
				}
			}
		}
	}
	for _, path := range trial.Paths {
		for i := range path.Segments {
			path.Segments[i].Name = c.Conceal(path.Segments[i].Name)
		}
	}
	for unit, text := range logs {
		logs[unit] = c.Conceal(text)
	}
}

// concealed returns an error without secrets in its text. It wraps the original error, which still has them.
func (c *Conductor) concealed(err error) error {
	if err == nil {
		return err
	}
	return &concealedError{text: c.Conceal(err.Error()), cause: err}
}

// concealedError is an error whose text differs from that of its cause.
type concealedError struct {
	text  string
	cause error
}

func (e *concealedError) Error() string { return e.text }
func (e *concealedError) Unwrap() error { return e.cause }
