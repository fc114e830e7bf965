package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// wire is the form in which engines exchange Results: histograms as HdrHistogram V2 text, everything else
// as it is.
type wire struct {
	From       time.Duration   `json:"from_ns"`
	To         time.Duration   `json:"to_ns"`
	Operations []wireOperation `json:"operations"`
}

// wireOperation is the part of wire about one operation.
type wireOperation struct {
	Name     string               `json:"name"`
	Counts   Counts               `json:"counts"`
	Lateness string               `json:"lateness,omitempty"`
	Outcomes map[string][2]string `json:"outcomes"` // response time, service time
}

// MarshalJSON encodes results so that another engine can merge them without loss. Of the options it
// contains only the names of the operations.
func (r *Results) MarshalJSON() ([]byte, error) {
	w := wire{From: r.From, To: r.To}
	for i, name := range r.options.Operations {
		one := wireOperation{Name: name, Counts: r.counts[i], Outcomes: make(map[string][2]string)}
		var err error
		if one.Lateness, err = packed(r.lateness[i]); err != nil {
			return nil, err
		}
		for _, o := range Outcomes() {
			c := r.cell(i, o)
			response, err := packed(c.response)
			service, other := packed(c.service)
			if err := errors.Join(err, other); err != nil {
				return nil, err
			}
			if response != "" {
				one.Outcomes[o.String()] = [2]string{response, service}
			}
		}
		w.Operations = append(w.Operations, one)
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes the output of MarshalJSON and checks it, since it may come from another host.
func (r *Results) UnmarshalJSON(text []byte) error {
	var w wire
	if err := json.Unmarshal(text, &w); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	var o Options
	for _, one := range w.Operations {
		o.Operations = append(o.Operations, one.Name)
	}
	if err := o.check(); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	read := NewResults(o)
	read.From = w.From
	read.To = w.To
	for i, one := range w.Operations {
		if err := read.unpack(i, one); err != nil {
			return fmt.Errorf("results of %q: %w", one.Name, err)
		}
	}
	*r = *read
	return nil
}

// check returns an error unless every operation has a name of its own.
func (o Options) check() error {
	if len(o.Operations) == 0 {
		return errors.New("no operations: name at least one")
	}
	for i, name := range o.Operations {
		if name == "" || slices.Contains(o.Operations[:i], name) {
			return fmt.Errorf("operation %d is called %q: give every operation a name of its own", i+1, name)
		}
	}
	return nil
}

// unpack decodes the results of one operation.
func (r *Results) unpack(operation int, one wireOperation) error {
	c := one.Counts
	if slices.Min([]int64{c.Late, c.Unsent, c.Achieved, c.Clamped, c.Resent}) < 0 {
		return fmt.Errorf("negative counts: %+v", c)
	}
	r.counts[operation] = c
	var err error
	if r.lateness[operation], err = unpacked(one.Lateness); err != nil {
		return err
	}
	for name, times := range one.Outcomes {
		outcome, err := parseOutcome(name)
		if err != nil {
			return err
		}
		response, err := unpacked(times[0])
		service, other := unpacked(times[1])
		if err := errors.Join(err, other); err != nil {
			return fmt.Errorf("outcome %s: %w", name, err)
		}
		if response == nil || service == nil || response.TotalCount() != service.TotalCount() {
			return fmt.Errorf("outcome %s: response and service times differ in number", name)
		}
		*r.cell(operation, outcome) = cell{response, service}
	}
	return nil
}

// packed returns a histogram as text, or "" if it is nil or empty.
func packed(h *hdrhistogram.Histogram) (string, error) {
	if h == nil || h.TotalCount() == 0 {
		return "", nil
	}
	text, err := h.EncodeV2()
	return string(text), err
}

// unpacked decodes a histogram. It refuses any other geometry than ours, because merging it would lose
// values.
func unpacked(text string) (*hdrhistogram.Histogram, error) {
	if text == "" {
		return nil, nil
	}
	h, err := hdrhistogram.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	if h.LowestTrackableValue() != lowest || h.HighestTrackableValue() != highest ||
		h.SignificantFigures() != digits {
		return nil, fmt.Errorf("histogram from %d to %d ns with %d digits, want %d to %d with %d: use the same "+
			"version of cleave everywhere",
			h.LowestTrackableValue(), h.HighestTrackableValue(), h.SignificantFigures(), lowest, int64(highest),
			digits)
	}
	return h, nil
}
