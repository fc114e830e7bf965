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

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
)

// nobody is the ID of the user nobody, who owns no files.
const nobody = 65534

// ordered writes the file with orders, and returns its path.
func ordered(t *testing.T, orders lab.StarterOrders) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders")
	file, err := os.Create(path)
	must(t, err)
	packed := gzip.NewWriter(file)
	must(t, errors.Join(json.NewEncoder(packed).Encode(orders), packed.Close(), file.Close()))
	return path
}

// volume returns a new folder that only its owner can use.
func volume(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else: run the tests as root")
	}
	dir, err := os.MkdirTemp("/tmp", "cleave-starter-")
	must(t, err)
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
	status, err := Run(ordered(t, lab.StarterOrders{
		Volume: dir, Dir: dir, User: nobody, Env: []string{"PATH=/usr/bin:/bin", "WORD=said"},
		Files: []lab.StarterFile{{Path: filepath.Join(dir, "etc"), Folder: true},
			{Path: filepath.Join(dir, "etc/goods"), Data: []byte("flour")}},
		Setups: [][]string{{"/bin/sh", "-c", `cat etc/goods > first; id -u >> first`}},
		// The program leaves an orphaned process, which must not matter.
		Run: []string{"/bin/sh", "-c", `(sleep 0 &) ; echo "$WORD" >> first; exit 3`},
	}))
	if status != 3 || err != nil {
		t.Errorf("exit status %d (%v), want 3", status, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "first")); string(text) != "flour65534\nsaid\n" {
		t.Errorf("the programs have written %q (%v)", text, err)
	}
}

// TestRunFails: Run fails for orders that cannot be read or carried out, and if a setup fails.
func TestRunFails(t *testing.T) {
	dir := volume(t)
	for name, c := range map[string]struct {
		path, says string
		status     int
	}{
		"no orders":  {filepath.Join(dir, "none"), "no such file", 1},
		"no program": {ordered(t, lab.StarterOrders{Volume: dir}), "they name no program", 1},
		"a setup": {ordered(t, lab.StarterOrders{Volume: dir,
			Setups: [][]string{{"/bin/sh", "-c", "exit 5"}}, Run: []string{"/bin/true"}}),
			"prepare with /bin/sh: exit status 5", 5},
		"is not there": {ordered(t, lab.StarterOrders{Volume: dir, Run: []string{"/nowhere"}}), "/nowhere", 1},
		"file elsewhere": {ordered(t, lab.StarterOrders{Volume: dir, Files: []lab.StarterFile{{Path: dir + "/a/b"}},
			Run: []string{"/bin/true"}}), "fill the volume", 1},
	} {
		status, err := Run(c.path)
		if status != c.status || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: exit status %d, %v, want %d and %q", name, status, err, c.status, c.says)
		}
	}
}

// TestDoor: a caller with the key is connected to addresses in the network, or gets the count of one. All
// other callers are refused. Long because it has the unit behind the door, too.
func TestDoor(t *testing.T) {
	key, err := lab.NewProxyKey()
	must(t, err)
	secured, err := lab.ProxyTLS(key)
	must(t, err)
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	unit, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() {
		if err := errors.Join(plain.Close(), unit.Close()); err != nil {
			t.Error(err)
		}
	})
	go func() { // until it is closed
		inside := netip.MustParsePrefix("127.0.0.0/24")
		_ = serveEach(tls.NewListener(plain, secured), func(caller net.Conn) error { return admit(caller, inside) })
	}()
	go func() {
		for {
			caller, err := unit.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(caller) // until the caller ends its stream
			_, _ = io.WriteString(caller, "heard "+string(text))
			_ = caller.Close()
		}
	}()
	testset.CallWithoutDescriptors(t, plain.Addr().String()) // later callers are still served
	for name, c := range map[string]struct{ says, want string }{
		"connected":     {lab.ProxyDial + unit.Addr().String() + "\nhello", "open\nheard hello"},
		"counted":       {lab.ProxyCount + "127.0.0.1\n", "1\n"},
		"nothing known": {"open sesame\n", "\"open sesame\" is nothing that a door does\n"},
		"elsewhere": {lab.ProxyDial + "127.0.1.1:80\n",
			"127.0.1.1 is not in the network 127.0.0.0/24 of the units\n"},
		"nobody there": {lab.ProxyDial + "127.0.0.1:1\n", "dial tcp 127.0.0.1:1: connect: connection refused\n"},
	} {
		if said, err := callDoor(t, plain.Addr().String(), secured, c.says); err != nil || said != c.want {
			t.Errorf("%s: it says %q (%v), want %q", name, said, err, c.want)
		}
	}
	other, err := lab.NewProxyKey()
	must(t, err)
	strange, err := lab.ProxyTLS(other)
	must(t, err)
	keyless := secured.Clone()
	keyless.Certificates = nil
	trusting := strange.Clone()
	trusting.RootCAs = secured.RootCAs
	for name, config := range map[string]*tls.Config{"another key": strange, "no key": keyless,
		"another key, and trust": trusting} {
		if said, err := callDoor(t, plain.Addr().String(), config, lab.ProxyCount+"127.0.0.1\n"); err == nil {
			t.Errorf("%s: it says %q", name, said)
		}
	}
}

// callDoor sends a text to a door, and returns its whole answer.
func callDoor(t *testing.T, address string, secured *tls.Config, says string) (string, error) {
	t.Helper()
	connection, err := tls.Dial("tcp", address, secured)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(connection, says)
	err = errors.Join(err, connection.CloseWrite())
	said, wrong := io.ReadAll(connection)
	_ = connection.Close() // the other side may have closed it
	return string(said), errors.Join(err, wrong)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
