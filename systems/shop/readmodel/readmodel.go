// Package readmodel keeps documents up to date with events, for the read models of
// the shop. Only a newer version of a document replaces an older one, so events may
// come late, twice and in any order, and no inbox is needed.
//
// It knows neither the types of events nor what is in the documents.
//
// Entry points: New, and Times for the documents.
package readmodel

import (
	"context"
	"errors"
	"time"

	"github.com/cleave-lab/cleave/backing/broker"
	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/event"
	"github.com/cleave-lab/cleave/systems/shop/events"
)

// Model is one collection of documents.
type Model struct {
	store      document.Store
	collection string
	write      Write
	shown      Shown
}

// Write makes the document of an event that is applied now.
type Write func(e events.Event, now time.Time) (document.Document, error)

// Shown is called for every event, once readers see its version of the document or a newer one. document is
// the collection, a slash and the id. It must be quick.
type Shown func(document string, version, occurredUnixUs int64)

// New makes the model of a collection that the store knows. shown is called for every event once its document
// is written; it may be nil.
func New(store document.Store, collection string, write Write, shown Shown) Model {
	return Model{store, collection, write, shown}
}

// Get returns a document, and whether there is one of that id.
func (m Model) Get(ctx context.Context, id string) (d document.Document, found bool, err error) {
	d, err = m.store.Get(ctx, m.collection, id)
	switch {
	case errors.Is(err, document.ErrNotFound):
		return d, false, nil
	case err != nil:
		return d, false, event.Unavailable(err)
	}
	return d, true, nil
}

// Find returns the documents that a query selects.
func (m Model) Find(ctx context.Context, query document.Query) ([]document.Document, error) {
	found, err := m.store.Find(ctx, m.collection, query)
	if err != nil {
		return nil, event.Unavailable(err)
	}
	return found, nil
}

// change is the effect of an event on a document.
type change struct {
	document.Document
	occurredUnixUs int64
}

// Times are a part of every document, in microseconds since 1970: their difference is how
// stale the document was.
type Times struct {
	OccurredUnixUs int64 `json:"occurredUnixUs"` // when the event happened
	AppliedUnixUs  int64 `json:"appliedUnixUs"`  // when it was applied here
}

// TimesOf returns the times of an event that is applied now.
func TimesOf(e events.Event, now time.Time) Times {
	return Times{e.GetHappening().GetOccurredUnixUs(), now.UnixMicro()}
}

// Apply updates the documents of the messages' events. It is an event.Handler that needs no inbox, because
// documents have versions. It writes only the newest of several versions of a document.
func (m Model) Apply(ctx context.Context, messages []broker.Message) error {
	changes := make([]change, len(messages))
	newest := map[string]document.Document{}
	now := time.Now()
	for i, message := range messages {
		e, err := events.Decode(message)
		if err != nil {
			return err
		}
		d, err := m.write(e, now)
		if err != nil {
			return err
		}
		if d.Version > newest[d.ID].Version {
			newest[d.ID] = d
		}
		changes[i] = change{d, e.GetHappening().GetOccurredUnixUs()}
	}
	documents := make([]document.Document, 0, len(newest))
	for _, d := range newest {
		documents = append(documents, d)
	}
	if _, err := m.store.Upsert(ctx, m.collection, documents...); err != nil {
		return event.Unavailable(err) // the documents are ours: only the store can fail
	}
	if m.shown == nil {
		return nil
	}
	for _, c := range changes {
		m.shown(m.collection+"/"+c.ID, c.Version, c.occurredUnixUs)
	}
	return nil
}
