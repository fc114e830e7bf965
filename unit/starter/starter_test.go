package starter

import (
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/accept"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// nobody is the ID of the user nobody, who owns no files.
const nobody = 65534

// writeOrders writes the file with orders, and returns its path.
func writeOrders(t *testing.T, orders lab.StarterOrders) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders")
	file, err := os.Create(path)
	testset.Must(t, err)
	compressed := gzip.NewWriter(file)
	testset.Must(t, errors.Join(json.NewEncoder(compressed).Encode(orders), compressed.Close(), file.Close()))
	return path
}

// volume returns a new folder that only its owner can use. It skips the test if that does not run as root.
func volume(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user: run the tests as root")
	}
	dir, err := os.MkdirTemp("/tmp", "cleave-starter-")
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestRun: first the setup runs and then the program, both as nobody, in the volume with its
// files. The exit status is that of the program.
func TestRun(t *testing.T) {
	dir := volume(t)
	status, err := Run(writeOrders(t, lab.StarterOrders{
		Volume: dir, Dir: dir, User: nobody, Env: []string{"PATH=/usr/bin:/bin", "WORD=word"},
		Files: []lab.StarterFile{{Path: filepath.Join(dir, "etc"), Folder: true},
			{Path: filepath.Join(dir, "etc/goods"), Data: []byte("flour")}},
		Setups: [][]string{{"/bin/sh", "-c", `cat etc/goods > first; id -u >> first`}},
		// The program leaves an orphaned process, which must not matter.
		Run: []string{"/bin/sh", "-c", `(sleep 0 &) ; echo "$WORD" >> first; exit 3`},
	}))
	if status != 3 || err != nil {
		t.Errorf("exit status %d (%v), want 3", status, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "first")); string(text) != "flour65534\nword\n" {
		t.Errorf("the programs have written %q (%v)", text, err)
	}
}

// TestRunFails: Run fails for orders that cannot be read or carried out, and if a setup fails.
func TestRunFails(t *testing.T) {
	dir := volume(t)
	for name, c := range map[string]struct {
		path, message string
		status        int
	}{
		"no orders":  {filepath.Join(dir, "none"), "no such file", 1},
		"no program": {writeOrders(t, lab.StarterOrders{Volume: dir}), "they name no program", 1},
		"setup fails": {writeOrders(t, lab.StarterOrders{Volume: dir,
			Setups: [][]string{{"/bin/sh", "-c", "exit 5"}}, Run: []string{"/bin/true"}}),
			"prepare with /bin/sh: exit status 5", 5},
		"missing program": {writeOrders(t, lab.StarterOrders{Volume: dir, Run: []string{"/nowhere"}}),
			"/nowhere", 1},
		"file in a missing folder": {writeOrders(t, lab.StarterOrders{Volume: dir,
			Files: []lab.StarterFile{{Path: dir + "/a/b"}}, Run: []string{"/bin/true"}}), "fill the volume", 1},
	} {
		status, err := Run(c.path)
		if status != c.status || err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: exit status %d, %v, want %d and %q", name, status, err, c.status, c.message)
		}
	}
}

// TestProxy: a caller with the key is connected to addresses in the network, or gets the number of a name's
// addresses. All other callers are refused. The function is long because it also serves the unit behind the
// proxy.
func TestProxy(t *testing.T) {
	key, err := lab.NewProxyKey()
	testset.Must(t, err)
	secured, err := lab.ProxyTLS(key)
	testset.Must(t, err)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	unit, err := net.Listen("tcp", "127.0.0.1:0")
	testset.Must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(plain.Close(), unit.Close()); err != nil {
			t.Error(err)
		}
	})
	go func() { // until it is closed
		inside := netip.MustParsePrefix("127.0.0.0/24")
		_ = serveEach(tls.NewListener(plain, secured),
			func(caller net.Conn) error { return serveCaller(caller, inside) })
	}()
	go func() { // until it is closed
		_ = accept.Each(unit, func(caller net.Conn) {
			text, _ := io.ReadAll(caller) // until the caller ends its stream
			_, _ = io.WriteString(caller, "got "+string(text))
			_ = caller.Close()
		})
	}()
	testset.CallWithoutDescriptors(t, plain.Addr().String()) // later callers are still served
	for name, c := range map[string]struct{ request, want string }{
		"connected": {lab.ProxyDial + unit.Addr().String() + "\nhello", "open\ngot hello"},
		"counted":   {lab.ProxyCount + "127.0.0.1\n", "1\n"},
		"unknown":   {"open sesame\n", "\"open sesame\" is no request that the proxy knows\n"},
		"other network": {lab.ProxyDial + "127.0.1.1:80\n",
			"127.0.1.1 is not in the network 127.0.0.0/24 of the units\n"},
		"no listener": {lab.ProxyDial + "127.0.0.1:1\n", "dial tcp 127.0.0.1:1: connect: connection refused\n"},
	} {
		if answer, err := callProxy(t, plain.Addr().String(), secured, c.request); err != nil || answer != c.want {
			t.Errorf("%s: answer %q (%v), want %q", name, answer, err, c.want)
		}
	}
	other, err := lab.NewProxyKey()
	testset.Must(t, err)
	otherKey, err := lab.ProxyTLS(other)
	testset.Must(t, err)
	keyless := secured.Clone()
	keyless.Certificates = nil
	trusting := otherKey.Clone() // accepts the proxy, so that the proxy itself must refuse it
	trusting.RootCAs = secured.RootCAs
	for name, config := range map[string]*tls.Config{"another key": otherKey, "no key": keyless,
		"another key, trusting": trusting} {
		if answer, err := callProxy(t, plain.Addr().String(), config, lab.ProxyCount+"127.0.0.1\n"); err == nil {
			t.Errorf("%s: answer %q", name, answer)
		}
	}
}

// callProxy sends a request to the proxy, and returns its whole answer.
func callProxy(t *testing.T, address string, secured *tls.Config, request string) (string, error) {
	t.Helper()
	connection, err := tls.Dial("tcp", address, secured)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(connection, request)
	err = errors.Join(err, connection.CloseWrite())
	answer, readErr := io.ReadAll(connection)
	_ = connection.Close() // the other side may have closed it
	return string(answer), errors.Join(err, readErr)
}
