package hosting_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/kit/hosting"
)

// TestKeysAreInFilesOnly: units of one role share an identity, other roles have their own, and no key is in
// arguments or environment.
func TestKeysAreInFilesOnly(t *testing.T) {
	units := []lab.UnitSpec{{Name: "orders-1", Role: "orders"}, {Name: "orders-2", Role: "orders"},
		{Name: "stock", Role: "stock"}}
	units[2].Files = map[string][]byte{"key": []byte("other")}
	units[2].Args = []string{"{}"}
	testset.Must(t, hosting.Protect(units, kit.MutualTLS))
	first, second := units[0].Files["orders.pem"], units[1].Files["orders.pem"]
	stock := units[2].Files["stock.pem"]
	if len(first) == 0 || string(first) != string(second) || string(first) == string(stock) {
		t.Errorf("the identities are %d, %d and %d bytes", len(first), len(second), len(stock))
	}
	if string(units[2].Files["key"]) != "other" || len(units[0].Files) != 1 {
		t.Errorf("other files: %d and %d", len(units[2].Files), len(units[0].Files))
	}
	for _, u := range units {
		if visible := strings.Join(slices.Concat(u.Args, u.Env), " "); strings.Contains(visible, "PRIVATE") {
			t.Errorf("the key of unit %s is in its arguments or environment: %s", u.Name, visible)
		}
	}
	if err := hosting.Protect(units[:1], kit.Plain); err != nil || len(units[0].Files) != 1 {
		t.Errorf("without protection: %v", err)
	}
}

// TestAnIdentityThatCannotBeReadIsNamed by its path, and the error does not quote the key.
func TestAnIdentityThatCannotBeReadIsNamed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "orders.pem")
	if _, err := hosting.Security(kit.TLS, dir, "orders"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v, want it to name %s", err, path)
	}
	testset.Must(t, os.WriteFile(path, []byte("-----BEGIN PRIVATE KEY-----\nsecret\n"), 0o600))
	_, err := hosting.Security(kit.TLS, dir, "orders")
	if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v, want it to name %s and not to quote the key", err, path)
	}
}
