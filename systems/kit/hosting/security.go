package hosting

import (
	"maps"
	"path/filepath"

	"github.com/cleave-lab/cleave/binding/secure"
	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
)

// IdentityFile returns the name of the file, in a unit's folder, that holds the identity of a role.
func IdentityFile(role string) string { return role + ".pem" }

// Protect gives units their identities, from a new authority, if the value of kit.KnobSecurity asks for
// protection. Units of one role share an identity, which has the names of all of them.
func Protect(units []lab.UnitSpec, security string) error {
	if security == kit.Plain {
		return nil
	}
	authority, err := secure.NewAuthority()
	if err != nil {
		return err
	}
	names, identities := map[string][]string{}, map[string][]byte{}
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
		maps.Copy(files, u.Files)
		units[i].Files = files
	}
	return nil
}

// Security returns the protection of a unit's connections for a value of kit.KnobSecurity, with the identity
// that Protect has put into the unit's folder. It returns nil if they are not protected.
func Security(security, dir, role string) (*secure.Transport, error) {
	if security == kit.Plain {
		return nil, nil
	}
	return secure.Read(filepath.Join(dir, IdentityFile(role)), security == kit.MutualTLS)
}
