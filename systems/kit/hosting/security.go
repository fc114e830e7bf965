package hosting

import (
	"maps"
	"path/filepath"

	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// IdentityFile returns the name of the file with the identity of a role (key and certificates) in a unit's
// folder.
func IdentityFile(role string) string { return role + ".pem" }

// Protect adds an identity, issued by a new certificate authority, to the files of each unit, unless the
// value of kit.KnobSecurity is none. Units of one role share an identity, which has the names of all of them.
func Protect(units []lab.UnitSpec, security string) error {
	if security == kit.Plain {
		return nil
	}
	authority, err := secure.NewAuthority()
	if err != nil {
		return err
	}
	names := map[string][]string{}
	identities := map[string][]byte{}
	for _, u := range units {
		names[u.Role] = append(names[u.Role], u.Name)
	}
	for role, all := range names {
		if identities[role], err = authority.Issue(all...); err != nil {
			return err
		}
	}
	for i, u := range units {
		files := map[string][]byte{IdentityFile(u.Role): identities[u.Role]}
		maps.Copy(files, u.Files) // a copy: units may share a map
		units[i].Files = files
	}
	return nil
}

// Security returns the protection of a unit's connections for a value of kit.KnobSecurity; nil for none. It
// reads the identity that Protect has put into the unit's folder.
func Security(security, dir, role string) (*secure.Transport, error) {
	if security == kit.Plain {
		return nil, nil
	}
	return secure.Read(filepath.Join(dir, IdentityFile(role)), security == kit.MutualTLS)
}
