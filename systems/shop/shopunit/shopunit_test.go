package shopunit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cleave-lab/cleave/backing/database"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/shop"
	"github.com/cleave-lab/cleave/systems/shop/assembly"
	"github.com/cleave-lab/cleave/systems/shop/shoptest"
	"github.com/cleave-lab/cleave/unit"
)

// unitJob is the environment variable in which a test hands itself a job: the
// test program then is the unit.
const unitJob = "CLEAVE_TEST_UNIT_JOB"

func TestMain(m *testing.M) {
	job := os.Getenv(unitJob)
	if job == "" {
		os.Exit(m.Run())
	}
	if err := Run(unit.NewChannel(os.Stdin, os.Stdout), job); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// command is this program as a unit with a job. Its standard input stays open:
// the end of it would mean that the conductor is gone.
func command(t *testing.T, dir, address string, job assembly.UnitJob) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(job)
	testset.Must(t, err)
	unit := exec.Command(os.Args[0])
	unit.Env = append(os.Environ(), unitJob+"="+string(text), "CLEAVE_ADDRESS="+address, "CLEAVE_UNIT=shop",
		"CLEAVE_DIR="+dir, "CLEAVE_SERVICE_DATABASE=sqlite://"+dir+"/data")
	unit.Stderr = os.Stderr
	return unit
}

// startShop prepares a shop and starts a monolith on it, each in a process of its
// own.
func startShop(
	t *testing.T, dir, address string, knobs map[string]string,
) (unit *exec.Cmd, commands io.WriteCloser, said *bytes.Buffer) {
	t.Helper()
	seed := &shop.Seed{Customers: 10, Products: 10, Stock: 100, Balance: 1_000_000}
	if err := command(t, dir, address, assembly.UnitJob{Architecture: "monolith", Prepare: seed}).
		Run(); err != nil {
		t.Fatalf("prepare: %v", err)
	}
	unit = command(t, dir, address, assembly.UnitJob{Architecture: "monolith", Unit: "shop", Knobs: knobs})
	commands, err := unit.StdinPipe()
	testset.Must(t, err)
	said = &bytes.Buffer{}
	unit.Stdout = said
	unit.Stderr = said
	testset.Must(t, unit.Start())
	t.Cleanup(func() { _ = unit.Process.Kill() })
	return unit, commands, said
}

func awaitHealth(t *testing.T, base string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		response, err := http.Get(base + "/health")
		if err == nil {
			_ = response.Body.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the unit is not ready: %v", err)
		}
	}
}

// slowOrder sends an order whose body stops in its middle. It returns when the
// unit is at work on it: only then does it ask for the body.
func slowOrder(t *testing.T, base string) (finish func() (*http.Response, error)) {
	t.Helper()
	reader, writer := io.Pipe()
	request, err := http.NewRequest(http.MethodPost, base+"/orders", reader)
	testset.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", "in-flight")
	request.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	t.Cleanup(transport.CloseIdleConnections)
	answered := make(chan struct{})
	var response *http.Response
	go func() {
		defer close(answered)
		response, err = (&http.Client{Transport: transport}).Do(request)
	}()
	if _, err := writer.Write([]byte(`{"customerId":1,`)); err != nil {
		t.Fatal(err)
	}
	return func() (*http.Response, error) {
		_, _ = writer.Write([]byte(`"lines":[{"productId":1,"quantity":1}]}`))
		_ = writer.Close()
		<-answered
		return response, err
	}
}

// TestShopUnitEndsGracefully: after SIGTERM a unit finishes what it has begun and
// takes nothing new.
func TestShopUnitEndsGracefully(t *testing.T) {
	address := shoptest.Address(t)
	base := "http://" + address
	unit, _, _ := startShop(t, t.TempDir(), address, nil)
	awaitHealth(t, base)
	finish := slowOrder(t, base)
	testset.Must(t, unit.Process.Signal(syscall.SIGTERM))
	for end := time.Now().Add(time.Minute); ; { // until it takes no connections any more
		connection, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		_ = connection.Close()
		if time.Now().After(end) {
			t.Fatal("a unit that was told to end takes connections a minute later")
		}
	}
	response, err := finish()
	if err != nil {
		t.Fatalf("the request in flight failed: %v", err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusCreated ||
		!strings.Contains(string(text), `"confirmed"`) {
		t.Errorf("the request in flight = %d %s, %v", response.StatusCode, text, err)
	}
	if err := unit.Wait(); err != nil {
		t.Errorf("the unit ended with %v", err)
	}
}

// TestShopUnitReportsWhenItIsStopped: after the command stop a unit says what it
// has done; when the conductor is gone, it ends without.
func TestShopUnitReportsWhenItIsStopped(t *testing.T) {
	const stop = `{"command":"stop"}` + "\n"
	for name, c := range map[string]struct {
		knobs      map[string]string
		word, want string
	}{
		"stopped": {nil, stop, `"databases":{"shop":{"statements":`},
		"gone":    {nil, "", ""},
		"stopped, and logs requests": {map[string]string{kit.KnobLogging: kit.LogRequests}, stop,
			`"unit":"shop","operation":"GET /health","status":200`},
	} {
		address := shoptest.Address(t)
		unit, commands, said := startShop(t, t.TempDir(), address, c.knobs)
		awaitHealth(t, "http://"+address)
		if _, err := io.WriteString(commands, c.word); err != nil {
			t.Fatal(err)
		}
		testset.Must(t, commands.Close())
		err := unit.Wait()
		if (err == nil) != (c.word != "") || !strings.Contains(said.String(), c.want) {
			t.Errorf("%s: ended with %v and said %q, want %q", name, err, said, c.want)
		}
	}
}

// TestShopUnitHandsOverItsProfile if its deployer wants one.
func TestShopUnitHandsOverItsProfile(t *testing.T) {
	dir := t.TempDir()
	address := shoptest.Address(t)
	t.Setenv(lab.ProfileVariable, filepath.Join(dir, "shop.profile"))
	unit, commands, said := startShop(t, dir, address, nil)
	awaitHealth(t, "http://"+address)
	if _, err := io.WriteString(commands, `{"command":"stop"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := unit.Wait(); err != nil || !strings.Contains(said.String(), `"file":"shop.profile"`) {
		t.Errorf("it ended with %v and said %q", err, said)
	}
}

// TestShopUnitLogsWhyItFails: the client gets a 500 without the cause, and standard error has it.
func TestShopUnitLogsWhyItFails(t *testing.T) {
	dir := t.TempDir()
	address := shoptest.Address(t)
	unit, commands, said := startShop(t, dir, address, nil)
	awaitHealth(t, "http://"+address)
	place, err := database.ParsePlace("sqlite://" + dir + "/data")
	testset.Must(t, err)
	db, err := database.Open(t.Context(), place.Config("shop", 1))
	testset.Must(t, err)
	_, err = db.Exec(t.Context(), "DROP TABLE shipments")
	testset.Must(t, errors.Join(err, db.Close()))
	response, err := http.Get("http://" + address + "/orders/00000000-0000-7000-8000-000000000000/shipment")
	testset.Must(t, err)
	text, err := io.ReadAll(response.Body)
	testset.Must(t, errors.Join(err, response.Body.Close()))
	_ = commands.Close() // the unit ends, and says that the conductor is gone
	_ = unit.Wait()
	const want, cause = "shop: GET /orders/{orderId}/shipment: ", "no such table: shipments"
	if response.StatusCode != http.StatusInternalServerError || strings.Contains(string(text), cause) {
		t.Errorf("the client is told %d %s", response.StatusCode, text)
	}
	if _, line, found := strings.Cut(said.String(), want); !found || !strings.Contains(line, cause) {
		t.Errorf("the unit said %q, want %q and %q", said, want, cause)
	}
}

func TestShopUnitRefusesBadJobs(t *testing.T) {
	t.Setenv("CLEAVE_ADDRESS", "127.0.0.1:9")
	t.Setenv("CLEAVE_UNIT", "shop")
	t.Setenv("CLEAVE_DIR", t.TempDir())
	t.Setenv("CLEAVE_SERVICE_DATABASE", "")
	for _, c := range []struct{ job, reason string }{
		{`{`, "read job"},
		{`{"architecture":"none"}`, `no architecture "none"`},
		{`{"architecture":"monolith","knobs":{"pool":"x"}}`, `pool is "x"`},
		{`{"architecture":"monolith","unit":"cellar"}`, `no unit "cellar"`},
		{`{"architecture":"monolith","unit":"shop"}`, "CLEAVE_SERVICE_DATABASE is not set"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			err := Run(unit.NewChannel(strings.NewReader(""), io.Discard), c.job)
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("error = %v, want one with %q", err, c.reason)
			}
		})
	}
}
