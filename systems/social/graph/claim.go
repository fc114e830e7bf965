package graph

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/cleave-lab/cleave/backing/document"
)

const (
	// claimPrefix begins the ids of claims. No name begins with it.
	claimPrefix = "#"
	// claimed is the field of a claim that is held.
	claimed = "claimed"
)

// add writes a user whose number no user had, and reports whether it did: not if another registration has
// taken the name or claims the number. The store keeps names apart, which are the ids of documents, but not
// numbers. So a registration claims its number first; one that ends before it has written its user leaves the
// claim behind.
func (u *Users) add(ctx context.Context, user document.Document, number string) (made bool, err error) {
	claim := document.Document{ID: claimPrefix + number}
	before, err := u.store.Get(ctx, usersName, claim.ID)
	if err != nil && !errors.Is(err, document.ErrNotFound) {
		return false, err
	}
	if bytes.Contains(before.Body, []byte(claimed)) {
		return false, nil
	}
	claim.Version, claim.Body = before.Version+1, json.RawMessage(`{"`+claimed+`":true}`)
	if applied, err := u.store.Upsert(ctx, usersName, claim); err != nil || applied == 0 {
		return false, err
	}
	applied, err := u.store.Upsert(ctx, usersName, user)
	if err != nil || applied == 1 {
		return err == nil, err
	}
	claim.Version, claim.Body = claim.Version+1, json.RawMessage("{}")
	_, err = u.store.Upsert(ctx, usersName, claim)
	return false, err
}
