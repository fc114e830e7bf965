// Package gateway is the public interface of social, the same in every architecture:
//
//	POST /posts                     {"author": NAME, "text": ..., "media": [{"id": ..., "type": ...}]}
//	GET  /user-timelines/USER       ?start=0&count=10&before=POST
//	GET  /home-timelines/USER       the same
//	POST /users                     {"id": ..., "name": ..., "password": ...}
//	POST /login                     {"name": ..., "password": ...}
//	PUT  /users/USER/follows/OTHER  and DELETE
//	GET  /links/SHORT
//
// Requests that post, read a home timeline, follow or unfollow need the header "Authorization: Bearer
// TOKEN" with the token of that user, which a login returns. The gateway checks it, as the benchmark's
// does: in every architecture a token is checked once per request.
//
// Failures are problem documents (RFC 9457). The gateway checks the shape and size of requests; the
// components check the rest.
//
// Entry points: NewHandler, Serve.
package gateway

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/session"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// requestTimeout is the deadline of every request.
	requestTimeout = 10 * time.Second
	// maxBody is the longest body, in bytes.
	maxBody = 16 << 10
	// inFlight is the number of requests that may be open at once; more are refused.
	inFlight = 2048
	// defaultCount is the number of posts that a read returns without the parameter count.
	defaultCount = 10
)

// Backend holds what the gateway calls.
type Backend struct {
	Parts *parts.All
	// Signer checks tokens.
	Signer *session.Signer
	// Healthy returns nil if every unit and server that a request needs is reachable.
	Healthy func(ctx context.Context) error
	// LogError receives failures of the system itself, as opposed to those of a request.
	LogError func(error)
}

// gateway has a handler per resource.
type gateway struct {
	*parts.All
	signer *session.Signer
}

// NewHandler returns the handler of all resources.
func NewHandler(backend Backend) http.Handler {
	g := gateway{backend.Parts, backend.Signer}
	f := front.New(front.Config{
		Problems: front.Problems{Types: "urn:cleave:social:", Of: social.ProblemOf, LogError: backend.LogError,
			Meanings: map[rpc.Kind]front.Meaning{
				social.NotFound:   {Status: http.StatusNotFound, Title: "There is no such user, post or link"},
				social.Exists:     {Status: http.StatusConflict, Title: "There is such a user"},
				social.SelfFollow: {Status: http.StatusConflict, Title: "Nobody follows themselves"},
				social.WrongLogin: {Status: http.StatusUnauthorized, Title: "The name or the password is wrong"},
				social.NoSession:  {Status: http.StatusUnauthorized, Title: "The request needs a valid token"},
				social.NotYours:   {Status: http.StatusForbidden, Title: "The token is of another user"}}},
		Timeout: requestTimeout, MaxBody: maxBody, InFlight: inFlight, Healthy: backend.Healthy})
	f.Handle("POST /posts", g.compose)
	f.Handle("POST /users", g.register)
	f.Handle("POST /login", g.login)
	const follows = "/users/{user}/follows/{other}"
	f.Handle("PUT "+follows, func(ctx context.Context, r *http.Request) (front.Answer, error) {
		return g.link(ctx, r, g.SocialGraph.Follow)
	})
	f.Handle("DELETE "+follows, func(ctx context.Context, r *http.Request) (front.Answer, error) {
		return g.link(ctx, r, g.SocialGraph.Unfollow)
	})
	f.Handle("GET /links/{short}", g.resolve)
	f.Handle("GET /user-timelines/{user}", func(ctx context.Context, r *http.Request) (front.Answer, error) {
		return timeline(ctx, r, g.UserTimelines.Read)
	})
	f.Handle("GET /home-timelines/{user}", func(ctx context.Context, r *http.Request) (front.Answer, error) {
		if err := g.checkUser(r, r.PathValue("user")); err != nil {
			return front.Answer{}, err
		}
		return timeline(ctx, r, g.HomeTimelines.Read)
	})
	return f
}

// checkUser returns a NoSession or NotYours unless the request has a valid token of the user with the id.
func (g gateway) checkUser(r *http.Request, id string) error {
	user, err := g.sender(r)
	if err == nil && user.GetId() != id {
		err = rpc.Problemf(social.NotYours, "the token is of user %s", user.GetId())
	}
	return err
}

// sender returns the user of a request's token, or a NoSession.
func (g gateway) sender(r *http.Request) (*pb.User, error) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return nil, rpc.Problemf(social.NoSession, "send the header Authorization: Bearer TOKEN")
	}
	return g.signer.Check(token)
}

func (g gateway) compose(ctx context.Context, r *http.Request) (front.Answer, error) {
	sender, err := g.sender(r)
	if err != nil {
		return front.Answer{}, err
	}
	var in pb.ComposeRequest
	if err := read(r, &in); err != nil {
		return front.Answer{}, err
	}
	if sender.GetName() != in.GetAuthor() {
		return front.Answer{}, rpc.Problemf(social.NotYours, "the token is of user %s", sender.GetName())
	}
	post, err := g.Composer.Compose(ctx, &in)
	return answer(http.StatusCreated, post, err)
}

func (g gateway) register(ctx context.Context, r *http.Request) (front.Answer, error) {
	var in pb.RegisterRequest
	if err := read(r, &in); err != nil {
		return front.Answer{}, err
	}
	user, err := g.Users.Register(ctx, &in)
	return answer(http.StatusCreated, user, err)
}

func (g gateway) login(ctx context.Context, r *http.Request) (front.Answer, error) {
	var in pb.LoginRequest
	if err := read(r, &in); err != nil {
		return front.Answer{}, err
	}
	token, err := g.Users.Login(ctx, &in)
	return answer(http.StatusOK, token, err)
}

// link changes whether a user follows another: change is Follow or Unfollow.
func (g gateway) link(
	ctx context.Context, r *http.Request, change func(context.Context, *pb.FollowRequest) (*pb.Empty, error),
) (front.Answer, error) {
	if err := g.checkUser(r, r.PathValue("user")); err != nil {
		return front.Answer{}, err
	}
	done, err := change(ctx, &pb.FollowRequest{Follower: r.PathValue("user"), Followee: r.PathValue("other")})
	return answer(http.StatusOK, done, err)
}

func (g gateway) resolve(ctx context.Context, r *http.Request) (front.Answer, error) {
	found, err := g.ShortURLs.Resolve(ctx, &pb.Link{Url: r.PathValue("short")})
	return answer(http.StatusOK, found, err)
}

// timeline answers with a part of a timeline: its posts, and their ids in order. Ids are letters and digits,
// which AppendQuote quotes as JSON does.
func timeline(
	ctx context.Context, r *http.Request,
	readFrom func(context.Context, *pb.TimelineRequest) (*pb.PostList, error),
) (front.Answer, error) {
	in := pb.TimelineRequest{User: r.PathValue("user"), Before: r.URL.Query().Get("before")}
	start, count := 0, defaultCount
	for _, p := range []struct {
		name  string
		least int
		value *int
	}{{"start", 0, &start}, {"count", 1, &count}} {
		if text := r.URL.Query().Get(p.name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < p.least || n > social.MaxPage {
				return front.Answer{}, rpc.Problemf(rpc.InvalidArgument, "%s is %.20q: use %d to %d", p.name, text,
					p.least, social.MaxPage)
			}
			*p.value = n
		}
	}
	in.Start = int32(start)
	in.Stop = int32(start + count)
	found, err := readFrom(ctx, &in)
	if err != nil {
		return front.Answer{}, err
	}
	body := strconv.AppendQuote([]byte(`{"user":`), in.GetUser())
	body = append(body, `,"ids":[`...)
	for i, post := range found.GetPosts() {
		if i > 0 {
			body = append(body, ',')
		}
		body = strconv.AppendQuote(body, post.GetId())
	}
	body = append(body, `],"posts":[`...)
	for i, post := range found.GetPosts() {
		if i > 0 {
			body = append(body, ',')
		}
		if body, err = (protojson.MarshalOptions{}).MarshalAppend(body, post); err != nil {
			return front.Answer{}, err
		}
	}
	return front.JSON(http.StatusOK, append(body, "]}"...)), nil
}

// read decodes the body of a request, which must be the JSON of the message without unknown members.
func read(r *http.Request, in proto.Message) error {
	text, err := front.ReadBody(r)
	if err != nil {
		return err
	}
	if err := protojson.Unmarshal(text, in); err != nil { // not wrapped: its text could repeat the body
		return rpc.Problemf(rpc.InvalidArgument, "the body is not a JSON object with the right members")
	}
	return nil
}

// answer returns out as the JSON of an answer, or err unless it is nil.
func answer(status int, out proto.Message, err error) (front.Answer, error) {
	if err != nil {
		return front.Answer{}, err
	}
	body, err := protojson.Marshal(out)
	return front.JSON(status, body), err
}

// Serve serves on the listener until ctx ends, then accepts no new requests, finishes
// those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeFront(ctx, listener, handler, requestTimeout)
}
