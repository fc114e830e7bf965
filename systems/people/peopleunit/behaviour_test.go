package peopleunit

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cleave-lab/cleave/backing/wide"
	"github.com/cleave-lab/cleave/binding/requestlog"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/binding/spans"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/front"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/people"
	"github.com/cleave-lab/cleave/systems/people/architecture"
	"github.com/cleave-lab/cleave/systems/people/records"
)

// system is people with all its units in this process.
type system struct {
	url, database, folder string // the database's address, and the folder with its files
	design                architecture.Design
	key                   []byte

	mu       sync.Mutex
	errors   strings.Builder            // logged
	requests hostingtest.Output         // the request log
	tracers  map[string]*spans.Provider // by unit
}

// start is startAt over SQLite in a folder.
func start(t *testing.T, name string, knobs map[string]string, folder string, key []byte) *system {
	t.Helper()
	return startAt(t, name, knobs, "sqlite://"+folder, folder, key)
}

// startAt starts every unit of a design over a database whose files are in the folder.
func startAt(
	t *testing.T, name string, knobs map[string]string, database, folder string, key []byte,
) *system {
	t.Helper()
	design, err := architecture.New(name, knobs)
	testset.Must(t, err)
	s := &system{design: design, folder: folder, database: database, key: key,
		tracers: map[string]*spans.Provider{}}
	identities := hostingtest.Identities(t, design.Security, design.Names()...)
	addresses, stop, err := hostingtest.Serve(design.Names(),
		func(ctx context.Context, unit string, addresses map[string]string) (hosting.Served, error) {
			u, err := Open(ctx, design, unit, Place{Database: s.database, Dir: identities, Key: key,
				Peer: func(name string) (string, error) { return addresses[name], nil }})
			testset.Must(t, err)
			u.LogError = s.logError
			s.tracers[unit] = u.Spans
			if u.Log != nil {
				u.Log = requestlog.New(&s.requests, unit)
			}
			return u, nil
		})
	testset.Must(t, err)
	t.Cleanup(func() { testset.Must(t, stop()) })
	s.url = "http://" + addresses[design.Front().Name]
	return s
}

func (s *system) logError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(&s.errors, err)
}

// ask sends a request and returns the answer.
func (s *system) ask(
	t *testing.T, method, path, contentType, body string,
) (status int, mediaType, answer string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	testset.Must(t, err)
	request.Header.Set("Content-Type", contentType)
	response, err := http.DefaultClient.Do(request)
	testset.Must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	testset.Must(t, err)
	return response.StatusCode, response.Header.Get("Content-Type"), string(text)
}

// secretText is in every value that the tests store.
const secretText = "Kierkegaard"

// recordOf returns a record as clients write it.
func recordOf(kind people.Kind) map[string]string {
	record := map[string]string{}
	for _, property := range kind.Properties() {
		record[property] = property + " " + secretText + " ÆØÅ"
	}
	return record
}

// create creates a record and returns its id.
func (s *system) create(t *testing.T, kind people.Kind) string {
	t.Helper()
	body, err := json.Marshal(recordOf(kind))
	testset.Must(t, err)
	status, _, answer := s.ask(t, "POST", "/"+string(kind), "application/json", string(body))
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(answer), &made); err != nil || status != http.StatusCreated {
		t.Fatalf("create one of %s: %d %s", kind, status, answer)
	}
	return made.ID
}

// refuses sends a request that must be refused with a problem of that type and status.
func (s *system) refuses(
	t *testing.T, what string, want rpc.Kind, wantStatus int, method, path, contentType, body string,
) {
	t.Helper()
	status, mediaType, answer := s.ask(t, method, path, contentType, body)
	var problem struct {
		Type   string
		Status int
		Detail string
	}
	err := json.Unmarshal([]byte(answer), &problem)
	if err != nil || status != wantStatus || problem.Status != status ||
		mediaType != "application/problem+json" ||
		problem.Type != "urn:cleave:people:"+string(want) || problem.Detail == "" {
		t.Errorf("%s: %d %s %s, want %d and the type %s", what, status, mediaType, answer, wantStatus, want)
	}
	if strings.Contains(answer, secretText) || strings.Contains(answer, hex.EncodeToString(s.key)) {
		t.Errorf("%s: the answer tells what is secret: %s", what, answer)
	}
}

// builds returns the knobs of designs that must all behave alike. A name is that of an architecture and,
// after a comma, what the knobs change. The build with protobuf also balances by two choices.
func builds() map[string]map[string]string {
	return map[string]map[string]string{
		"monolith":                {},
		"services":                {},
		"services, lean front":    {architecture.KnobFront: "lean"},
		"services, msgpack":       {architecture.KnobCalls: architecture.GRPC, kit.KnobEncoding: kit.MessagePack},
		"services, tls":           {kit.KnobSecurity: kit.TLS},
		"services, grpc, mtls":    {architecture.KnobCalls: architecture.GRPC, kit.KnobSecurity: kit.MutualTLS},
		"services, guarded":       {kit.KnobResilience: kit.Guarded},
		"services, protobuf":      {kit.KnobBalancing: kit.TwoChoices, kit.KnobEncoding: kit.Protobuf},
		"services, logged":        {kit.KnobLogging: kit.LogRequests},
		"services, own databases": {architecture.KnobDatabase: "own"},
		"services, ecb":           {architecture.KnobCipher: "ecb"},
		"services, pairs":         {architecture.KnobPlacement: "gateway+persons,addresses+profiles"},
		"services-two-hosts":      {},
	}
}

// eachBuild runs a test on every build.
func eachBuild(t *testing.T, run func(t *testing.T, s *system)) {
	for name, knobs := range builds() {
		t.Run(name, func(t *testing.T) {
			architecture, _, _ := strings.Cut(name, ",")
			run(t, start(t, architecture, knobs, t.TempDir(), bytes.Repeat([]byte{7}, 16)))
		})
	}
}

func TestWhatIsCreatedIsFetched(t *testing.T) { eachBuild(t, createsAndFetches) }

func createsAndFetches(t *testing.T, s *system) {
	for _, kind := range people.Kinds() {
		id := s.create(t, kind)
		status, _, answer := s.ask(t, "GET", "/"+string(kind)+"/"+id, "", "")
		got := map[string]string{}
		testset.Must(t, json.Unmarshal([]byte(answer), &got))
		want := recordOf(kind)
		want["id"] = id
		if status != http.StatusOK || !maps.Equal(got, want) {
			t.Errorf("%s: %d %v, want %v", kind, status, got, want)
		}
	}
	for path, want := range map[string]string{"/": "<h1>People</h1>", "/page.js": "profiles:",
		"/page.css": "form", "/health": "up"} {
		if status, _, answer := s.ask(t, "GET", path, "", ""); status != http.StatusOK ||
			!strings.Contains(answer, want) {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	s.holdsNothingReadable(t)
}

// holdsNothingReadable looks for secretText and the key in all files of the database and in the logs.
func (s *system) holdsNothingReadable(t *testing.T) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(s.folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(secretText)) || bytes.Contains(text, s.key) {
			t.Errorf("%s has what is secret in it", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := s.errors.String() + s.requests.String(); strings.Contains(text, secretText) ||
		strings.Contains(text, hex.EncodeToString(s.key)) {
		t.Errorf("the logs have what is secret in them: %s", text)
	}
}

func TestInvalidRequestsAreRefused(t *testing.T) { eachBuild(t, refusesNonsense) }

func refusesNonsense(t *testing.T, s *system) {
	const asJSON = "application/json"
	unknown := "/persons/" + uuid.Nil.String()
	s.refuses(t, "an unknown id", people.NotFound, 404, "GET", unknown, "", "")
	s.refuses(t, "no UUID", rpc.InvalidArgument, 400, "GET", "/persons/17", "", "")
	s.refuses(t, "another spelling", rpc.InvalidArgument, 400, "GET",
		"/persons/"+strings.ToUpper(uuid.New().String()), "", "")
	s.refuses(t, "an id of another kind", people.NotFound, 404, "GET", "/addresses/"+s.create(t, people.Persons),
		"", "")
	s.refuses(t, "no such kind", "no-such-resource", 404, "GET", "/pets/1", "", "")
	s.refuses(t, "another method", "method-not-allowed", 405, "DELETE", unknown, "", "")
	s.refuses(t, "no JSON", rpc.InvalidArgument, 400, "POST", "/persons", asJSON, secretText)
	s.refuses(t, "no UTF-8", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":"a","lastName":"`+"\xff"+`"}`)
	s.refuses(t, "two values", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":"a","lastName":"b"} {}`)
	s.refuses(t, "a number", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":1,"lastName":"b"}`)
	s.refuses(t, "a property missing", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":"`+secretText+`"}`)
	s.refuses(t, "one too many", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":"a","lastName":"b","age":"7"}`)
	s.refuses(t, "an empty value", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":"","lastName":"b"}`)
	s.refuses(t, "a long value", rpc.InvalidArgument, 400, "POST", "/persons", asJSON,
		`{"firstName":"`+strings.Repeat("a", people.MaxValue+1)+`","lastName":"b"}`)
	s.refuses(t, "a long body", "body-too-large", 413, "POST", "/persons", asJSON,
		`{"firstName":"`+strings.Repeat("a", 64<<10)+`"}`)
	s.refuses(t, "no media type", "unsupported-media-type", 415, "POST", "/persons", "text/plain", "{}")
}

func TestErrorsOfSpoiledRecords(t *testing.T) { eachBuild(t, tellsWhatIsSpoiled) }

func tellsWhatIsSpoiled(t *testing.T, s *system) {
	for _, kind := range people.Kinds() {
		store, err := wide.Open(t.Context(), s.database, wide.Options{Keyspace: s.design.DatabaseOf(kind)})
		testset.Must(t, err)
		table := records.Table(kind)
		testset.Must(t, store.CreateTables(t.Context(), table))
		spoil := func(change func(sealed []byte) []byte) string {
			id := uuid.MustParse(s.create(t, kind))
			found, err := store.Get(t.Context(), table.Name, id)
			if err == nil {
				err = store.Insert(t.Context(), table.Name, id, change(bytes.Clone(found[0])))
			}
			testset.Must(t, err)
			return fmt.Sprintf("/%s/%s", kind, id)
		}
		tampered := spoil(func(sealed []byte) []byte { sealed[len(sealed)-1] ^= 1; return sealed })
		truncated := spoil(func(sealed []byte) []byte { return sealed[:len(sealed)/2] })
		other := s.create(t, kind)
		moved := spoil(func([]byte) []byte {
			found, err := store.Get(t.Context(), table.Name, uuid.MustParse(other))
			testset.Must(t, err)
			return found[0]
		})
		s.refuses(t, "a tampered record", people.Tampered, 500, "GET", tampered, "", "")
		s.refuses(t, "a record in the place of another", people.Tampered, 500, "GET", moved, "", "")
		s.refuses(t, "a truncated record", people.Truncated, 500, "GET", truncated, "", "")
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	id := s.create(t, people.Profiles)
	again := startAt(t, architecture.Monolith, map[string]string{
		architecture.KnobDatabase: map[bool]string{true: "own", false: "shared"}[s.design.Own],
		architecture.KnobCipher:   s.design.Cipher,
	}, s.database, s.folder, bytes.Repeat([]byte{8}, 16))
	again.refuses(t, "another key", people.WrongKey, 500, "GET", "/profiles/"+id, "", "")
	again.holdsNothingReadable(t)
	s.holdsNothingReadable(t)
	if again.errors.Len() == 0 {
		t.Error("it is not logged that a record cannot be opened")
	}
}

// TestMoreThanMayBeOpenAreRefused holds one request open by a body that does not end.
func TestMoreThanMayBeOpenAreRefused(t *testing.T) {
	s := start(t, architecture.Monolith, map[string]string{architecture.KnobInFlight: "1"}, t.TempDir(),
		make([]byte, 16))
	hold := func() (body *io.PipeWriter, answered chan error) {
		read, body := io.Pipe()
		answered = make(chan error, 1)
		go func() {
			response, err := http.Post(s.url+"/persons", "application/json", read)
			if err == nil {
				err = response.Body.Close()
			}
			answered <- err
		}()
		_, _ = io.WriteString(body, "{") // fails if the request has been refused already
		return body, answered
	}
	body, answered := hold()
	for end := time.Now().Add(time.Minute); ; {
		status, _, answer := s.ask(t, "GET", "/persons/"+uuid.Nil.String(), "", "")
		if status == http.StatusServiceUnavailable && strings.Contains(answer, string(front.TooBusy)) {
			break
		}
		// The held request may not have arrived yet: ask again.
		if status != http.StatusNotFound || time.Now().After(end) {
			t.Fatalf("beside a request that is held: %d %s", status, answer)
		}
		select {
		case <-answered: // it arrived during this GET and was refused in its place
			body, answered = hold()
		default:
		}
	}
	testset.Must(t, body.Close())
	if err := <-answered; err != nil {
		t.Error(err)
	}
	status, _, answer := s.ask(t, "GET", "/persons/"+uuid.Nil.String(), "", "")
	if status != http.StatusNotFound {
		t.Errorf("with none open: %d %s", status, answer)
	}
}

// TestManyUsersAtOnce: a thousand clients are served over the 8 connections between units.
func TestManyUsersAtOnce(t *testing.T) {
	s := start(t, architecture.Services, nil, t.TempDir(), make([]byte, 16))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	defer client.CloseIdleConnections()
	var users sync.WaitGroup
	for range 1000 {
		users.Go(func() {
			response, err := client.Post(s.url+"/persons", "application/json",
				strings.NewReader(`{"firstName":"a","lastName":"b"}`))
			if err != nil {
				t.Error(err)
				return
			}
			if response.StatusCode != http.StatusCreated {
				t.Errorf("status %d", response.StatusCode)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	users.Wait()
}

func TestAKeyIsReadFromTheUnitsFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := readKey(dir); err == nil {
		t.Error("a key that is not there is read")
	}
	for text, good := range map[string]bool{"000102030405060708090a0b0c0d0e0f\n": true, "00": false,
		"cafecafecafecafecafecafecafecafx": false} {
		testset.Must(t, os.WriteFile(filepath.Join(dir, KeyFile), []byte(text), 0o600))
		_, err := readKey(dir)
		if (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
		// A shorter text may be in the message by chance.
		if err != nil && strings.Contains(err.Error(), strings.TrimSpace(text)) && len(text) > 4 {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

func TestAUnitThatCannotBeOpenedSaysWhy(t *testing.T) {
	design, err := architecture.New(architecture.Monolith, nil)
	testset.Must(t, err)
	_, err = Open(t.Context(), design, architecture.UnitAll, Place{Database: "sqlite://" + t.TempDir(),
		Key: []byte("short")})
	if err == nil || !strings.HasPrefix(err.Error(), "unit people: ") {
		t.Errorf("%v, want why the unit people cannot be opened", err)
	}
}
