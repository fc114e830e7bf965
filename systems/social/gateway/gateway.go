// Package gateway is the public interface of social, the same in every architecture:
//
//	POST /posts                     {"author": NAME, "text": ..., "media": [{"id": ..., "type": ...}]}
//	GET  /user-timelines/USER       ?start=0&count=10&before=POST
//	GET  /home-timelines/USER       the same
//	POST /users                     {"id": ..., "name": ...}
//	PUT  /users/USER/follows/OTHER
//	GET  /links/SHORT
//
// Failures are problem documents (RFC 9457). The gateway checks the shape and size of what
// comes in; all else is the matter of the components.
//
// Entry points: NewHandler, Serve.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/parts"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/unit"
)

const (
	// requestTimeout is the deadline of every request: it crosses all bindings.
	requestTimeout = 10 * time.Second
	// maxBody is the longest body, in bytes.
	maxBody = 16 << 10
	// inFlight is how many requests may be open at once; more are refused.
	inFlight = 2048
	// usualCount is how many posts a read returns that does not say.
	usualCount = 10
)

// Kinds of problems that only the public interface has.
const (
	kindNoRoute   social.ProblemKind = "no-such-route"
	kindMediaType social.ProblemKind = "media-type"
	kindTooLarge  social.ProblemKind = "too-large"
)

// Backend is what the gateway is in front of.
type Backend struct {
	Parts *parts.All
	// Healthy returns nil when a request would find all it needs.
	Healthy func(ctx context.Context) error
	// LogError is told of failures of the system itself.
	LogError func(error)
}

type gateway struct {
	Backend
	open chan struct{} // has an entry for every open request
}

// NewHandler makes the routes.
func NewHandler(backend Backend) http.Handler {
	g := &gateway{backend, make(chan struct{}, inFlight)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		if err := g.Healthy(r.Context()); err != nil {
			g.refuse(w, &social.Problem{Kind: social.Unavailable, Detail: "a part of the system does not answer",
				Cause: err})
			return
		}
		write(w, http.StatusOK, "application/json", []byte(`{"status":"up"}`))
	})
	mux.HandleFunc("POST /posts", g.answering(g.compose))
	mux.HandleFunc("POST /users", g.answering(g.register))
	mux.HandleFunc("PUT /users/{user}/follows/{other}", g.answering(g.follow))
	mux.HandleFunc("GET /links/{short}", g.answering(g.resolve))
	mux.HandleFunc("GET /user-timelines/{user}", g.answering(func(r *http.Request) (int, []byte, error) {
		return timeline(r, g.Parts.UserTimelines.Read)
	}))
	mux.HandleFunc("GET /home-timelines/{user}", g.answering(func(r *http.Request) (int, []byte, error) {
		return timeline(r, g.Parts.HomeTimelines.Read)
	}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		g.refuse(w, social.Problemf(kindNoRoute, "nothing takes %s at this path", r.Method))
	})
	return mux
}

// answering bounds a request in time, in size, and with others in number.
func (g *gateway) answering(
	handle func(*http.Request) (status int, body []byte, err error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case g.open <- struct{}{}:
			defer func() { <-g.open }()
		default:
			g.refuse(w, social.Problemf(social.TooBusy, "%d requests are open already; try again", inFlight))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		status, body, err := handle(r.WithContext(ctx))
		if err != nil {
			g.refuse(w, err)
			return
		}
		write(w, status, "application/json", body)
	}
}

func (g *gateway) compose(r *http.Request) (int, []byte, error) {
	var in pb.ComposeRequest
	if err := read(r, &in); err != nil {
		return 0, nil, err
	}
	post, err := g.Parts.Composer.Compose(r.Context(), &in)
	return answer(http.StatusCreated, post, err)
}

func (g *gateway) register(r *http.Request) (int, []byte, error) {
	var in pb.RegisterRequest
	if err := read(r, &in); err != nil {
		return 0, nil, err
	}
	user, err := g.Parts.Users.Register(r.Context(), &in)
	return answer(http.StatusCreated, user, err)
}

func (g *gateway) follow(r *http.Request) (int, []byte, error) {
	done, err := g.Parts.SocialGraph.Follow(r.Context(),
		&pb.FollowRequest{Follower: r.PathValue("user"), Followee: r.PathValue("other")})
	return answer(http.StatusOK, done, err)
}

func (g *gateway) resolve(r *http.Request) (int, []byte, error) {
	found, err := g.Parts.ShortURLs.Resolve(r.Context(), &pb.Link{Url: r.PathValue("short")})
	return answer(http.StatusOK, found, err)
}

// timeline reads a part of one. Beside the posts the answer has their ids, in order.
func timeline(
	r *http.Request, readFrom func(context.Context, *pb.TimelineRequest) (*pb.PostList, error),
) (int, []byte, error) {
	in := pb.TimelineRequest{User: r.PathValue("user"), Before: r.URL.Query().Get("before")}
	start, count := 0, usualCount
	for name, value := range map[string]*int{"start": &start, "count": &count} {
		if text := r.URL.Query().Get(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > social.MaxPage {
				return 0, nil, social.Problemf(social.InvalidArgument, "%s is %.20q: use 0 to %d", name, text,
					social.MaxPage)
			}
			*value = n
		}
	}
	in.Start, in.Stop = int32(start), int32(start+count)
	found, err := readFrom(r.Context(), &in)
	if err != nil {
		return 0, nil, err
	}
	body := append(strconv.AppendQuote([]byte(`{"user":`), in.GetUser()), `,"ids":[`...)
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
			return 0, nil, err
		}
	}
	return http.StatusOK, append(body, "]}"...), nil
}

// read reads a body as the JSON of a message, and nothing else.
func read(r *http.Request, in proto.Message) error {
	if mediaType := r.Header.Get("Content-Type"); mediaType != "application/json" {
		return social.Problemf(kindMediaType, "the body is %.60q: send application/json", mediaType)
	}
	text, err := io.ReadAll(r.Body)
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return social.Problemf(kindTooLarge, "the body has more than %d bytes", long.Limit)
	}
	if err == nil {
		err = protojson.Unmarshal(text, in)
	}
	if err != nil { // its text could repeat what was sent
		return social.Problemf(social.InvalidArgument, "the body is no JSON object of the right members")
	}
	return nil
}

func answer(status int, out proto.Message, err error) (int, []byte, error) {
	if err != nil {
		return 0, nil, err
	}
	body, err := protojson.Marshal(out)
	return status, body, err
}

// statuses returns the statuses of HTTP by the kinds of problems.
func statuses() map[social.ProblemKind]int {
	return map[social.ProblemKind]int{
		social.InvalidArgument: http.StatusBadRequest, social.NotFound: http.StatusNotFound,
		social.Exists:     http.StatusConflict,
		social.SelfFollow: http.StatusConflict, social.TooBusy: http.StatusServiceUnavailable,
		social.Unavailable:      http.StatusServiceUnavailable,
		social.DeadlineExceeded: http.StatusGatewayTimeout, social.Cancelled: http.StatusServiceUnavailable,
		kindNoRoute: http.StatusNotFound, kindMediaType: http.StatusUnsupportedMediaType,
		kindTooLarge: http.StatusRequestEntityTooLarge,
	}
}

// refuse answers with a problem document.
func (g *gateway) refuse(w http.ResponseWriter, err error) {
	problem := social.ProblemOf(err)
	status, known := statuses()[problem.Kind]
	if !known {
		status = http.StatusInternalServerError
		g.LogError(err)
	}
	body, _ := json.Marshal(map[string]any{ // texts and a number cannot fail
		"type": "urn:cleave:social:" + string(problem.Kind), "title": http.StatusText(status), "status": status,
		"detail": problem.Detail,
	})
	write(w, status, "application/problem+json", body)
}

// write sends a body in one piece.
func write(w http.ResponseWriter, status int, mediaType string, text []byte) {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text) // a reader who has left is no failure
}

// Serve serves on the listener until ctx ends, then takes no new requests, finishes
// those in flight and returns nil.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	return unit.ServeFront(ctx, listener, handler, requestTimeout)
}
