// Package records holds the components that keep records, one for each kind: they make the
// ids, seal the records and store them, and open those that they fetch. They know neither their
// callers nor their unit.
//
// Entry points: New for one kind; Kinds for all kinds of a unit.
package records

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/peoplepb"
	"github.com/cleave-lab/cleave/systems/people/seal"
)

// Table returns the table of a kind's records.
func Table(kind people.Kind) wide.Table {
	return wide.Table{Name: string(kind), Columns: []string{"sealed"}}
}

// Records keeps records of a kind.
type Records struct {
	kind   people.Kind
	store  *wide.Store
	sealer *seal.Sealer
}

// New returns the component for records of a kind in a store that has their Table.
func New(kind people.Kind, store *wide.Store, sealer *seal.Sealer) peoplepb.Records {
	return &Records{kind, store, sealer}
}

// Create stores a record under a new id and returns the id.
func (r *Records) Create(ctx context.Context, in *peoplepb.CreateRequest) (*peoplepb.CreateResponse, error) {
	if err := r.kind.Check(in.GetValues()); err != nil {
		return nil, err
	}
	text, err := proto.Marshal(&peoplepb.Content{Values: in.GetValues()})
	if err != nil {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the record cannot be encoded")
	}
	id := uuid.New()
	sealed := r.sealer.Seal(about(r.kind, id), text)
	if err := r.store.Insert(ctx, string(r.kind), id, sealed); err != nil {
		return nil, problem(err)
	}
	return &peoplepb.CreateResponse{Id: id.String()}, nil
}

// Fetch returns the record of an id.
func (r *Records) Fetch(ctx context.Context, in *peoplepb.FetchRequest) (*peoplepb.FetchResponse, error) {
	id, err := uuid.Parse(in.GetId())
	if err != nil || id.String() != in.GetId() { // other spellings name the same record
		return nil, rpc.Problemf(rpc.InvalidArgument, "the id is no UUID in lower case, such as %s", uuid.Nil)
	}
	found, err := r.store.Get(ctx, string(r.kind), id)
	if err != nil {
		return nil, problem(err)
	}
	values, err := Unseal(r.sealer, r.kind, id, found)
	return &peoplepb.FetchResponse{Values: values}, err
}

// Kinds holds the components of a unit, by the kind of records that each keeps.
type Kinds map[people.Kind]peoplepb.Records

// Create implements peoplepb.Records.
func (k Kinds) Create(ctx context.Context, in *peoplepb.CreateRequest) (*peoplepb.CreateResponse, error) {
	keeper, err := k.of(in.GetKind())
	if err != nil {
		return nil, err
	}
	return keeper.Create(ctx, in)
}

// Fetch implements peoplepb.Records.
func (k Kinds) Fetch(ctx context.Context, in *peoplepb.FetchRequest) (*peoplepb.FetchResponse, error) {
	keeper, err := k.of(in.GetKind())
	if err != nil {
		return nil, err
	}
	return keeper.Fetch(ctx, in)
}

// of returns the component that keeps records of a kind.
func (k Kinds) of(kind string) (peoplepb.Records, error) {
	keeper := k[people.Kind(kind)]
	if keeper == nil {
		return nil, rpc.Problemf(rpc.InvalidArgument, "there are no records of the kind %q here", kind)
	}
	return keeper, nil
}

// Unseal returns the values of a stored record, or a problem of the kind Truncated, WrongKey or Tampered.
func Unseal(sealer *seal.Sealer, kind people.Kind, id [16]byte, stored [][]byte) ([]string, error) {
	if len(stored) != 1 {
		return nil, rpc.Problemf(people.Truncated, "a column of the record is missing")
	}
	text, err := sealer.Open(about(kind, id), stored[0])
	if err != nil {
		return nil, problem(err)
	}
	var content peoplepb.Content
	if err := proto.Unmarshal(text, &content); err != nil {
		return nil, rpc.Problemf(people.Tampered, "the record was opened and cannot be read")
	}
	return content.GetValues(), nil
}

// about returns the kind and id that a sealed record is bound to.
func about(kind people.Kind, id [16]byte) []byte {
	all := make([]byte, 0, len(kind)+1+len(id))
	all = append(all, kind...)
	all = append(all, ' ')
	return append(all, id[:]...)
}

// problem returns the problem for an error of store or sealer. No cause contains a part of
// a record.
func problem(err error) error {
	kinds := []struct {
		err    error
		kind   rpc.Kind
		detail string
	}{
		{wide.ErrNotFound, people.NotFound, "there is no such record"},
		{wide.ErrTooLarge, rpc.InvalidArgument, "the record is too large"},
		{wide.ErrUnavailable, rpc.Unavailable, "the database does not answer; try again"},
		{seal.ErrTruncated, people.Truncated, "the stored record lacks its end"},
		{seal.ErrOtherKey, people.WrongKey, "the record was sealed with another key"},
		{seal.ErrTampered, people.Tampered, "the stored record was changed"},
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return &rpc.Problem{Kind: k.kind, Detail: k.detail, Cause: err}
		}
	}
	return people.ProblemOf(err)
}
