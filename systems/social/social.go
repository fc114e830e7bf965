// Package social is a network of posts and timelines in the shape of the social network of
// DeathStarBench (Gan et al. 2019), which Fama's study drives: users follow users, compose
// posts with mentions, links and media, and read the posts of those they follow.
// It is written once, and runs in every architecture.
//
// This package holds the vocabulary: limits, and how calls fail (ProblemOf). It knows no
// store, no socket and no architecture.
//
// The messages between components, and the components' interfaces, are in socialpb, their names in
// parts; graph, content, posts, timelines and compose are the components, session has the tokens of
// users, gateway is the public interface; architecture holds the designs, socialunit joins the
// components of a unit, population makes users and links, and system is the whole as a system under
// test.
package social

import (
	"regexp"

	"github.com/cleave-lab/cleave/binding/rpc"
)

// Name is the name of the system in study files.
const Name = "social"

// Limits. Those of texts and what is attached are twice what the benchmark's clients send
// at most (256 characters, 5 mentions, 5 links, 4 media).
const (
	MaxText     = 512 // bytes
	MaxMentions = 10
	MaxLinks    = 10
	MaxMedia    = 8
	MaxName     = 40  // characters, as in userName
	MinPassword = 8   // bytes
	MaxPassword = 72  // bytes: bcrypt takes no more
	MaxURL      = 512 // bytes
	// MaxPage is the highest position in a timeline that a read can reach by start and count. Older posts are
	// read with the parameter before.
	MaxPage = 500
)

var (
	userName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	userID   = regexp.MustCompile(`^[0-9]{1,12}$`)
	postID   = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

// CheckName returns an InvalidArgument unless the name can be that of a user.
func CheckName(name string) error {
	if !userName.MatchString(name) {
		return rpc.Problemf(rpc.InvalidArgument,
			"the name %.60q is not valid: use a lower-case letter and up to %d more, digits and _", name, MaxName-1)
	}
	return nil
}

// CheckPassword returns an InvalidArgument for a password of the wrong length. The message does not repeat
// the password.
func CheckPassword(password string) error {
	if n := len(password); n < MinPassword || n > MaxPassword {
		return rpc.Problemf(rpc.InvalidArgument, "the password has %d bytes: use %d to %d", n, MinPassword,
			MaxPassword)
	}
	return nil
}

// CheckUser returns an InvalidArgument unless id can be that of a user.
func CheckUser(id string) error {
	if !userID.MatchString(id) {
		return rpc.Problemf(rpc.InvalidArgument, "the user id %.60q is not a number of up to 12 digits", id)
	}
	return nil
}

// CheckPost returns an InvalidArgument unless id can be that of a post.
func CheckPost(id string) error {
	if !postID.MatchString(id) {
		return rpc.Problemf(rpc.InvalidArgument, "the post %.60q is not 16 hexadecimal digits", id)
	}
	return nil
}

// The kinds of problems of social, in addition to those of package rpc.
const (
	NotFound   rpc.Kind = "not-found"
	Exists     rpc.Kind = "exists"
	SelfFollow rpc.Kind = "self-follow"
	WrongLogin rpc.Kind = "wrong-login"
	NoSession  rpc.Kind = "no-session"
	NotYours   rpc.Kind = "not-yours"
)

// ProblemOf returns any error as a problem of social; see rpc.ProblemOf.
func ProblemOf(err error) *rpc.Problem {
	return rpc.ProblemOf(err, "the store does not answer; try again", "this could not be carried out")
}
