package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/internal/figures"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/social/architecture"
	"github.com/cleave-lab/cleave/systems/social/parts"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/posts"
	"github.com/cleave-lab/cleave/systems/social/session"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/socialunit"
	"github.com/cleave-lab/cleave/systems/social/timelines"
)

const (
	// The size of the network whose timelines are read. Users have as many links as in the benchmark's data.
	users, links = 100, 1955
	// page is the number of posts that a read asks for.
	page = 10
	// connections is the number of idle connections that the client keeps.
	connections = 64
)

// key is the key of tokens.
var key = []byte("the key of the tokens of a bench")

// network is a running design, all of whose units are in this process.
type network struct {
	base   string
	client *http.Client
	tokens []string // by number of the user, from 1 on
	stop   func() error
}

// start serves all units of a design over stores that are filled.
func start(name string, turned map[string]string, address string) (*network, error) {
	design, err := architecture.New(name, turned)
	if err != nil {
		return nil, err
	}
	tokens, err := signTokens()
	if err != nil {
		return nil, err
	}
	addresses, stop, err := hostingtest.Serve(design.Names(),
		func(ctx context.Context, unit string, addresses map[string]string) (hosting.Served, error) {
			return socialunit.Open(ctx, design, unit, socialunit.Place{Documents: address, Cache: "memory://",
				Key: key, Peer: func(unit string) (string, error) { return addresses[unit], nil }})
		})
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: connections}}
	return &network{base: "http://" + addresses[design.Front().Name], client: client, tokens: tokens,
		stop: func() error {
			client.CloseIdleConnections()
			return stop()
		}}, nil
}

// signTokens returns the tokens of all users.
func signTokens() ([]string, error) {
	signer, err := session.NewSigner(key)
	if err != nil {
		return nil, err
	}
	tokens := make([]string, users+1)
	for user := 1; user <= users; user++ {
		if tokens[user], err = signer.Sign(population.User(user), time.Now().Add(24*time.Hour)); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// ask sends a request of a user and reads the answer to its end.
func (n *network) ask(ctx context.Context, user int, method, path string, body io.Reader) error {
	request, err := http.NewRequestWithContext(ctx, method, n.base+path, body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+n.tokens[user])
	answer, err := n.client.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s %.200s", method, path, answer.Status, text)
	}
	return err
}

// home returns the path of a user's home timeline.
func home(user int) string { return fmt.Sprintf("/home-timelines/%d?count=%d", user, page) }

// median returns the median time of reading the same home timeline, in seconds.
func (n *network) median(ctx context.Context, reads int) (float64, error) {
	return median(ctx, reads, func(ctx context.Context) error {
		return n.ask(ctx, 1, http.MethodGet, home(1), nil)
	})
}

// median returns the median time of a call of do, in seconds.
func median(ctx context.Context, times int, do func(context.Context) error) (float64, error) {
	took := make([]float64, 0, times)
	for range max(times, 1) {
		began := time.Now()
		if err := do(ctx); err != nil {
			return 0, err
		}
		took = append(took, time.Since(began).Seconds())
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// work is the same work for the monolith and for bare statements: several clients read home timelines at
// once.
type work struct {
	settings
	address string
	network *network
}

// prepare fills the stores, serves the monolith, and has users post.
func prepare(ctx context.Context, o settings, address string, turned map[string]string) (*work, error) {
	design, err := architecture.New(architecture.Monolith, turned)
	if err != nil {
		return nil, err
	}
	people, err := population.New(users, links)
	if err != nil {
		return nil, err
	}
	if err := socialunit.Fill(ctx, design, address, people); err != nil {
		return nil, err
	}
	n, err := start(architecture.Monolith, turned, address)
	if err != nil {
		return nil, err
	}
	for i := range o.posts {
		author := 1 + i%users
		text, _ := json.Marshal(map[string]string{"author": fmt.Sprintf("user_%d", author),
			"text": fmt.Sprintf("%0256d", i)}) // strings cannot fail
		if err := n.ask(ctx, author, http.MethodPost, "/posts", bytes.NewReader(text)); err != nil {
			return nil, errors.Join(err, n.stop())
		}
	}
	return &work{o, address, n}, nil
}

// rate has clients read home timelines of all users in turn and returns the reads per second.
func (w *work) rate(ctx context.Context, read func(ctx context.Context, user int) error) (float64, error) {
	began := time.Now()
	err := figures.InParallel(w.clients, w.reads, func(_, n int) error { return read(ctx, 1+n%users) })
	return float64(w.reads) / time.Since(began).Seconds(), err
}

// monolith returns the rate of reads over HTTP.
func (w *work) monolith(ctx context.Context, _ uint64) (float64, error) {
	return w.rate(ctx, func(ctx context.Context, user int) error {
		return w.network.ask(ctx, user, http.MethodGet, home(user), nil)
	})
}

// query returns the first query of a read of a home timeline: its latest entries.
func query(user int) document.Query {
	return document.Query{Field: "owner", Value: fmt.Sprint(user), Descending: true, Limit: page}
}

// statements returns the rate of reading the same documents with the client of the store.
func (w *work) statements(ctx context.Context, _ uint64) (rate float64, err error) {
	entries, err := socialunit.OpenStore(ctx, w.address, parts.HomeTimelinesName)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, entries.Close()) }()
	texts, err := socialunit.OpenStore(ctx, w.address, parts.PostsName)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	return w.rate(ctx, func(ctx context.Context, user int) error {
		found, err := entries.Find(ctx, timelines.HomeCollection.Name, query(user))
		if err != nil {
			return err
		}
		ids := make([]string, len(found))
		for i, e := range found {
			ids[i] = timelines.PostOf(e.ID)
		}
		_, err = texts.GetMany(ctx, posts.Collection.Name, ids...)
		return err
	})
}

// driver returns the rate of reading the same documents with MongoDB's bare driver.
func (w *work) driver(ctx context.Context, _ uint64) (rate float64, err error) {
	client, err := mongo.Connect(options.Client().ApplyURI(w.address))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Disconnect(ctx)) }()
	entries := client.Database("social_home_timelines").Collection(timelines.HomeCollection.Name)
	texts := client.Database("social_posts").Collection(posts.Collection.Name)
	latest := options.Find().SetSort(bson.D{{Key: "body.owner", Value: -1},
		{Key: "_id", Value: -1}}).SetLimit(page)
	return w.rate(ctx, func(ctx context.Context, user int) error {
		cursor, err := entries.Find(ctx, bson.D{{Key: "body.owner", Value: fmt.Sprint(user)}}, latest)
		if err != nil {
			return err
		}
		var found []struct {
			ID string `bson:"_id"`
		}
		if err := cursor.All(ctx, &found); err != nil {
			return err
		}
		ids := make([]string, len(found))
		for i, e := range found {
			ids[i] = timelines.PostOf(e.ID)
		}
		if cursor, err = texts.Find(ctx, bson.D{{Key: "_id",
			Value: bson.D{{Key: "$in", Value: ids}}}}); err != nil {
			return err
		}
		var read []bson.Raw
		return cursor.All(ctx, &read)
	})
}

// pieces holds the parts of a read of a home timeline with cached posts, to time each alone.
type pieces struct {
	unit    *socialunit.Unit
	entries document.Store
	answer  *pb.PostList
}

// openPieces opens the pieces over stores that are filled.
func openPieces(ctx context.Context, address string) (*pieces, error) {
	design, err := architecture.New(architecture.Monolith,
		map[string]string{architecture.KnobCache: architecture.LookAside})
	if err != nil {
		return nil, err
	}
	unit, err := socialunit.Open(ctx, design, design.Front().Name,
		socialunit.Place{Documents: address, Cache: "memory://", Key: key})
	if err != nil {
		return nil, err
	}
	p := &pieces{unit: unit}
	if p.entries, err = socialunit.OpenStore(ctx, address, parts.HomeTimelinesName); err != nil {
		return nil, errors.Join(err, unit.Close())
	}
	if p.answer, err = p.read(ctx); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *pieces) close() error { return errors.Join(p.entries.Close(), p.unit.Close()) }

func (p *pieces) read(ctx context.Context) (*pb.PostList, error) {
	return p.unit.Parts().HomeTimelines.Read(ctx, &pb.TimelineRequest{User: "1", Stop: page})
}

// components reads a home timeline by a call, without HTTP.
func (p *pieces) components(ctx context.Context) error {
	_, err := p.read(ctx)
	return err
}

// store reads the entries of a home timeline.
func (p *pieces) store(ctx context.Context) error {
	_, err := p.entries.Find(ctx, timelines.HomeCollection.Name, query(1))
	return err
}

// protobuf encodes and decodes an answer as protobuf.
func (p *pieces) protobuf(context.Context) error {
	text, err := proto.Marshal(p.answer)
	if err != nil {
		return err
	}
	return proto.Unmarshal(text, &pb.PostList{})
}

// json encodes and decodes an answer as JSON.
func (p *pieces) json(context.Context) error {
	text, err := protojson.Marshal(p.answer)
	if err != nil {
		return err
	}
	return protojson.Unmarshal(text, &pb.PostList{})
}
