package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/loaded"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/peopleunit"
	"github.com/cleave-lab/cleave/systems/people/records"
	"github.com/cleave-lab/cleave/systems/people/seal"
)

// The counts of an audit.
const (
	countCreated  = "created" // acknowledged records
	countStored   = "stored"
	countLost     = "lost"     // acknowledged, and not stored, or not found when it was fetched
	countChanged  = "changed"  // stored, or answered, otherwise than created
	countDoubled  = "doubled"  // created once and stored more than once
	countMadeUp   = "made_up"  // stored, although nobody asked for it or its creation was refused
	countReadable = "readable" // stored in plain text
)

// rules returns the counts that must be zero.
func rules() []string {
	return []string{countLost, countChanged, countDoubled, countMadeUp, countReadable}
}

// AuditLive implements lab.LiveAuditor: it compares the answers to clients with the records in the
// database, which it opens with the key of the trial.
func (s System) AuditLive(ctx context.Context, v lab.Variant, p lab.Point, left lab.Leftover) lab.Audit {
	return s.base().Judge("system", p, left, func() (lab.Audit, error) {
		j := &judge{Findings: loaded.Findings{Counts: map[string]int64{}},
			created: map[people.Kind]map[string]*created{}}
		for _, kind := range people.Kinds() {
			j.created[kind] = map[string]*created{}
		}
		err := loaded.EachAttempt(left.Dir, j.addAttempt)
		if err == nil {
			err = j.read(ctx, v, left)
		}
		return j.Audit(rules(), countCreated, "no record was acknowledged"), err
	})
}

// noted holds the scenario's notes of a creation.
type noted struct {
	Tag string `json:"tag"`
	ID  string `json:"id"`
}

// created is a record that a client asked for.
type created struct {
	id       string // empty: the client had no answer
	end      string // how the attempt ended, such as loaded.EndedOK
	stored   int    // the number of stored records with its tag
	storedID string // the id of one of these, which is id if one of them has it
}

// judge holds the evidence and the findings.
type judge struct {
	loaded.Findings
	created map[people.Kind]map[string]*created // by tag
}

// addAttempt adds a line of the history. The generator has compared every answer with the created record.
func (j *judge) addAttempt(a loaded.Attempt[noted]) {
	for _, kind := range people.Kinds() {
		isFetch := a.Operation == fetchOf(kind)
		wasWrong := a.Status == "200" && a.End == loaded.EndedFail
		switch {
		case a.Operation == createOf(kind):
			j.created[kind][a.Noted.Tag] = &created{id: a.Noted.ID, end: a.End}
			j.Ended(a.End, countCreated)
		case isFetch && a.Status == "404":
			j.Breach(countLost, "line %d of the history: what was created was not found", a.Line)
		case isFetch && wasWrong:
			j.Breach(countChanged, "line %d of the history: the answer was not what was created", a.Line)
		}
	}
}

// read reads all stored records.
func (j *judge) read(ctx context.Context, v lab.Variant, left lab.Leftover) error {
	design, err := architecture.New(v.Architecture, v.Knobs)
	if err != nil {
		return err
	}
	sealer, err := seal.New(design.Cipher, keyOf(left.Seed))
	if err != nil {
		return err
	}
	for _, kind := range people.Kinds() {
		if err := j.readKind(ctx, kind, design.DatabaseOf(kind), sealer,
			left.Addresses[peopleunit.ServiceDatabase]); err != nil {
			return fmt.Errorf("read %s: %w", kind, err)
		}
	}
	return nil
}

// readKind reads all stored records of a kind, and compares them with the creations.
func (j *judge) readKind(
	ctx context.Context, kind people.Kind, database string, sealer *seal.Sealer, address string,
) (err error) {
	store, err := wide.Open(ctx, address, wide.Options{Keyspace: database})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// The tables exist, but a client reads only those that it has declared.
	if err := store.CreateTables(ctx, records.Table(kind)); err != nil {
		return err
	}
	if err := store.Each(ctx, records.Table(kind).Name, func(key [16]byte, stored [][]byte) error {
		j.addStored(kind, uuid.UUID(key).String(), sealer, key, stored)
		return nil
	}); err != nil {
		return err
	}
	for tag, c := range j.created[kind] {
		switch {
		case c.end == loaded.EndedOK && c.stored == 0:
			j.Breach(countLost, "%s %s (%s) was acknowledged and is not stored", kind, c.id, tag)
		case c.end == loaded.EndedOK && c.storedID != c.id:
			j.Breach(countChanged, "%s %s is stored as %s", kind, c.id, c.storedID)
		case c.end == loaded.EndedInfo && c.stored > 0:
			j.Counts[loaded.CountRecovered]++
		case c.end == loaded.EndedFail && c.stored > 0:
			j.Breach(countMadeUp, "one of %s (%s) was refused and is stored", kind, tag)
		}
		if c.stored > 1 {
			j.Breach(countDoubled, "one of %s (%s) is stored %d times", kind, tag, c.stored)
		}
	}
	return nil
}

// addStored checks a stored record, and counts it for the creation with its tag.
func (j *judge) addStored(kind people.Kind, id string, sealer *seal.Sealer, key [16]byte, stored [][]byte) {
	j.Counts[countStored]++
	values, err := records.Unseal(sealer, kind, key, stored)
	if err != nil {
		j.Breach(countChanged, "%s %s cannot be opened: %v", kind, id, people.ProblemOf(err).Kind)
		return
	}
	properties := kind.Properties()
	first := valueOf(properties[0], "")
	if len(values) != len(properties) || len(values[0]) != len(first)+tagLength {
		j.Breach(countChanged, "%s %s is no record of its kind", kind, id)
		return
	}
	tag := values[0][len(first):]
	for i, property := range properties {
		if values[i] != valueOf(property, tag) {
			j.Breach(countChanged, "%s of %s %s is not what was created", property, kind, id)
		}
	}
	j.checkEncrypted(kind, id, tag, stored)
	c := j.created[kind][tag]
	if c == nil {
		j.Breach(countMadeUp, "nobody has asked for %s %s", kind, id)
		return
	}
	if c.stored++; c.storedID != c.id {
		c.storedID = id
	}
}

// checkEncrypted looks in the stored bytes of a record for its tag, which is a part of every property. It
// finds a cipher that encrypts nothing; plain text that cannot be opened has been counted as changed before.
func (j *judge) checkEncrypted(kind people.Kind, id, tag string, stored [][]byte) {
	hasTag := func(column []byte) bool { return bytes.Contains(column, []byte(tag)) }
	if slices.ContainsFunc(stored, hasTag) {
		j.Breach(countReadable, "%s %s is stored in plain text", kind, id)
	}
}
