package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/session"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// PasswordCost is bcrypt's cost of a password: 2^10 rounds. A login must take tens of milliseconds, or
// passwords could be guessed quickly from stolen hashes.
const PasswordCost = 10

// Login returns a token of the user with this name and password, or a WrongLogin that does not say which of
// the two is wrong.
func (u *Users) Login(ctx context.Context, in *pb.LoginRequest) (*pb.Session, error) {
	err := cmp.Or(social.CheckName(in.GetName()), social.CheckPassword(in.GetPassword()))
	if err != nil {
		return nil, err
	}
	found, err := u.store.Get(ctx, usersName, in.GetName())
	if errors.Is(err, document.ErrNotFound) {
		return nil, wrongLogin()
	}
	var body userBody
	if err == nil {
		err = json.Unmarshal(found.Body, &body)
	}
	if err != nil {
		return nil, err
	}
	hash := []byte(body.PasswordHash)
	err = bcrypt.CompareHashAndPassword(hash, []byte(in.GetPassword()))
	if errors.Is(err, bcrypt.ErrMismatchedHashAndPassword) {
		return nil, wrongLogin()
	}
	if err != nil {
		return nil, err
	}
	user := &pb.User{Id: body.ID, Name: body.Name}
	token, err := u.signer.Sign(user, time.Now().Add(session.Lifetime))
	return &pb.Session{User: user, Token: token}, err
}

func wrongLogin() error {
	return rpc.Problemf(social.WrongLogin, "there is no user with this name and password")
}
