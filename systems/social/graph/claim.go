package graph

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cleave-lab/cleave/backing/document"
)

// claimPrefix begins the ids of claims. No name begins with it.
const claimPrefix = "#"

// claimBody is a claim of a number.
type claimBody struct {
	By string `json:"by"` // the name of who registers; empty: nobody
}

// add writes a user whose number no user had, and reports whether it did: not if another registration has
// taken the name or claims the number. The store keeps names apart, which are the ids of documents, but not
// numbers. So a registration claims its number first. One that ends before it has written its user leaves the
// claim behind, with which another of the same name goes on.
func (u *Users) add(ctx context.Context, user document.Document, number string) (made bool, err error) {
	claim := document.Document{ID: claimPrefix + number}
	before, err := u.store.Get(ctx, usersName, claim.ID)
	var held claimBody
	if err == nil {
		err = json.Unmarshal(before.Body, &held)
	}
	if err != nil && !errors.Is(err, document.ErrNotFound) {
		return false, err
	}
	if held.By != "" && held.By != user.ID {
		return false, nil
	}
	write := func(by string) (applied bool, err error) {
		before.Version++
		claim.Version = before.Version
		if claim.Body, err = json.Marshal(claimBody{by}); err != nil {
			return false, err
		}
		n, err := u.store.Upsert(ctx, usersName, claim)
		return n > 0, err
	}
	if applied, err := write(user.ID); err != nil || !applied {
		return false, err
	}
	applied, err := u.store.Upsert(ctx, usersName, user)
	if err != nil || applied == 1 || held.By == user.ID { // whose claim it went on with has the number
		return err == nil && applied == 1, err
	}
	_, err = write("")
	return false, err
}
