// Package session signs and checks the tokens of users who have logged in: JSON Web Tokens, signed with HMAC
// and SHA-256. A unit with the key checks a token without a call. A token cannot be revoked before it
// expires.
//
// Entry point: NewSigner.
package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
)

// Lifetime is the time that a token of a login is valid, as in DeathStarBench.
const Lifetime = time.Hour

// minKey is the least length of a key, in bytes: that of the hash (RFC 7518 section 3.2).
const minKey = 32

// Signer signs and checks tokens with one key.
type Signer struct {
	key    []byte
	parser *jwt.Parser
}

// NewSigner returns a signer with a key of at least 32 bytes.
func NewSigner(key []byte) (*Signer, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("the key of tokens has %d bytes: give at least %d", len(key), minKey)
	}
	return &Signer{key, jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Name}),
		jwt.WithExpirationRequired())}, nil
}

// claims are the contents of a token.
type claims struct {
	Name string `json:"name"`
	jwt.RegisteredClaims
}

// Sign returns a token of the user, valid until it expires.
func (s *Signer) Sign(user *pb.User, expires time.Time) (string, error) {
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{user.GetName(), jwt.RegisteredClaims{
		Subject: user.GetId(), ExpiresAt: jwt.NewNumericDate(expires)}}).SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign the token of user %s: %w", user.GetId(), err)
	}
	return token, nil
}

// Check returns the user of a valid token, or a NoSession.
func (s *Signer) Check(token string) (*pb.User, error) {
	var found claims
	_, err := s.parser.ParseWithClaims(token, &found, func(*jwt.Token) (any, error) { return s.key, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return nil, rpc.Problemf(social.NoSession, "the token has expired: log in again")
	case err != nil || found.Subject == "" || found.Name == "":
		return nil, rpc.Problemf(social.NoSession, "the token is not valid: log in first")
	}
	return &pb.User{Id: found.Subject, Name: found.Name}, nil
}
