package scenario

import (
	"errors"
	"fmt"
	"math"
)

// kindOf returns the kind of a Value.
func kindOf(v Value) kind {
	switch {
	case v.Integer != nil || v.Zipf != nil || v.Sequence != nil:
		return number
	case v.UUID != nil || v.Text != nil:
		return plain
	}
	return anyText
}

// newGenerator returns a function that returns the generator of a Value for a player, or an error if the
// Value is not valid.
func newGenerator(v Value) (func(at Origin) generator, error) {
	given := 0
	for _, is := range []bool{v.UUID != nil, v.Integer != nil, v.Zipf != nil, v.Name != nil, v.Text != nil,
		v.Choice != nil, v.Sequence != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, errors.New("give exactly one of uuid, integer, zipf, name, text, choice and sequence")
	}
	if v.Sequence != nil {
		from := *v.Sequence
		return func(at Origin) generator { return &sequence{from: from, next: at.first(), step: int64(at.Of)} }, nil
	}
	g, err := newIndependent(v)
	return func(Origin) generator { return g }, err
}

// newIndependent returns a generator without a state, which players may share.
func newIndependent(v Value) (generator, error) {
	switch {
	case v.UUID != nil:
		return uuid{}, nil
	case v.Integer != nil:
		if v.Integer.From > v.Integer.To {
			return nil, fmt.Errorf("integer from %d to %d: give from <= to", v.Integer.From, v.Integer.To)
		}
		return integer{from: v.Integer.From, n: uint64(v.Integer.To) - uint64(v.Integer.From) + 1}, nil
	case v.Zipf != nil:
		z := *v.Zipf
		if z.From > z.To || uint64(z.To)-uint64(z.From) >= maxSpan {
			return nil, fmt.Errorf("zipf from %d to %d: give from <= to and at most 2^53 numbers", z.From, z.To)
		}
		if !(z.Exponent >= 0) || math.IsInf(z.Exponent, 0) {
			return nil, fmt.Errorf("zipf exponent %g: give a number from 0 on", z.Exponent)
		}
		g := newZipf(z)
		return &g, nil
	case v.Text != nil:
		if v.Text.Length < 1 || v.Text.Length > maxLength {
			return nil, fmt.Errorf("text of length %d: give 1 to %d", v.Text.Length, maxLength)
		}
		return randomText{length: v.Text.Length}, nil
	case v.Choice != nil:
		if len(v.Choice) == 0 {
			return nil, errors.New("choice of nothing: give at least one text")
		}
		return choice(v.Choice), nil
	}
	return newPersonName(), nil
}
