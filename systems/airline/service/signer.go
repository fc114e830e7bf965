package service

import (
	"context"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/airline"
)

// Signer makes sessions whose tokens hold their content (JWT, HMAC with SHA-256): units with the key check
// them without asking. They cannot be ended before they expire.
type Signer struct {
	key    []byte
	parser *jwt.Parser
}

// NewSigner returns a signer with a key.
func NewSigner(key []byte) *Signer {
	return &Signer{key, jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Name}),
		jwt.WithExpirationRequired())}
}

// Sign makes the token of a session, and returns the session as the token has it, which
// counts whole seconds.
func (s *Signer) Sign(session airline.Session) (string, airline.Session, error) {
	session.Expires = session.Expires.Truncate(time.Second)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject: session.Login, ExpiresAt: jwt.NewNumericDate(session.Expires), ID: randomID(),
	}).SignedString(s.key)
	if err != nil {
		return "", session, fmt.Errorf("sign a session: %w", err)
	}
	return token, session, nil
}

// Session implements Sessions.
func (s *Signer) Session(_ context.Context, token string) (airline.Session, error) {
	var claims jwt.RegisteredClaims
	_, err := s.parser.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return s.key, nil })
	if err != nil || claims.Subject == "" {
		return airline.Session{}, rpc.Problemf(airline.NoSession, "log in first")
	}
	return airline.Session{Login: claims.Subject, Expires: claims.ExpiresAt.Time}, nil
}
