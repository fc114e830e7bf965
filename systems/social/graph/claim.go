package graph

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cleave-lab/cleave/backing/document"
)

// claimPrefix begins the ids of claims, which are in the collection of users. No user name begins with it.
const claimPrefix = "#"

// claimBody is the stored claim of a user number.
type claimBody struct {
	By string `json:"by"` // the name that is being registered; empty: the number is free
}

// add writes a new user whose number is free, and reports whether it did; made is false if another
// registration has the name or the number. Names are the ids of documents, so the store keeps them unique;
// numbers are not. So a registration first writes a claim of its number. If it ends before it has written its
// user, the claim stays, and a later registration of the same name and number goes on with it.
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
	if err != nil || applied == 1 {
		return err == nil, err
	}
	// The name is taken. A claim that was found under the same name stays: its user may have the number.
	if held.By != user.ID {
		_, err = write("") // give the number back
	}
	return false, err
}
