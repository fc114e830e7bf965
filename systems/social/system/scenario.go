package system

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/session"
)

// object is JSON.
type object = map[string]any

// The operations of the scenario, as the benchmark calls them.
const (
	readHome = "read_home_timeline"
	readUser = "read_user_timeline"
	compose  = "compose_post"
	logIn    = "log_in"
)

const (
	// pageSize is the number of posts that a read asks for, from a place up to farthest.
	pageSize, farthest = 10, 100
	// textLength is how long the words of a post are.
	textLength = 256
	// mostMentions, links and media are drawn evenly from none to so many.
	mostMentions, mostMedia = 5, 4
)

// tokensExpire is when the tokens expire with which the load begins: in no trial.
var tokensExpire = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// key returns the key of a trial's tokens, in hexadecimal. It comes from the seed, so that a trial can be
// repeated, and protects nothing once the trial is over.
func key(seed uint64) []byte {
	hash := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("key of the tokens of a trial of social "), seed))
	return hex.AppendEncode(nil, hash[:])
}

// userRows returns a file with all users and their tokens. They have logged in before the load: a login takes
// as much processor time as a hundred reads, and the benchmark's mix has none.
func userRows(users int, seed uint64) ([]byte, error) {
	signer, err := session.NewSigner(key(seed))
	if err != nil {
		return nil, err
	}
	rows := []byte("id,token\n")
	for user := 1; user <= users; user++ {
		token, err := signer.Sign(population.User(user), tokensExpire)
		if err != nil {
			return nil, err
		}
		rows = fmt.Appendf(rows, "%d,%s\n", user, token)
	}
	return rows, nil
}

// scenario returns what clients do, as cleave-scenario/1 with its files: the benchmark's mix of
// 60 % home timelines, 30 % user timelines and 10 % posts, each of which has as many mentions as
// links, and as many media as there may be. Whom they mention exists. Logins come beside the mix.
func scenario(p lab.Point, seed uint64) (json.RawMessage, map[string][]byte, error) {
	users, _ := sizeOf(p)
	values := object{
		"start": object{"integer": object{"from": 0, "to": farthest}},
		"words": object{"text": object{"length": textLength}}, "medium": object{"text": object{"length": 18}},
		"host": object{"text": object{"length": 10}},
	}
	for i := range mostMentions {
		values[fmt.Sprint("other", i)] = object{"integer": object{"from": 1, "to": users}}
	}
	played, err := flows(p)
	if err != nil {
		return nil, nil, err
	}
	rows, err := userRows(users, seed)
	if err != nil {
		return nil, nil, err
	}
	const usersFile = "users.csv"
	text, err := json.Marshal(object{"schema": "cleave-scenario/1", "name": social.Name, "cookies": false,
		"values": values, "data": object{"user": object{"csv": usersFile, "order": "random"}}, "flows": played})
	return text, map[string][]byte{usersFile: rows}, err
}

// flows returns what is played at a point: one operation, or the mix.
func flows(p lab.Point) ([]object, error) {
	const shares = 10 * (mostMentions + 1) // a tenth for each number of mentions
	mix := [][]object{
		{reading(readHome, "home-timelines", 6*shares)}, {reading(readUser, "user-timelines", 3*shares)},
		composing(shares / (mostMentions + 1)),
	}
	logins, _ := p.Level(Logins)
	only, _ := p.Level(Only)
	switch {
	case only == 0 && logins == 0:
		return slices.Concat(mix...), nil
	case only == 0:
		return append(slices.Concat(mix...), loggingIn(logins/100*10*shares)), nil
	case logins > 0:
		return nil, fmt.Errorf("point %s: %s come beside the mix, and %s is %g: use 0", p, Logins, Only, only)
	case only == onlyLogins:
		return []object{loggingIn(1)}, nil
	case only < 0 || only > onlyLogins || only != float64(int(only)):
		return nil, fmt.Errorf("point %s: %s is %g: use 0 to %d", p, Only, only, onlyLogins)
	}
	return mix[int(only)-1], nil
}

// bearing returns the header with a user's token.
func bearing() object { return object{"Authorization": "Bearer ${user.token}"} }

// reading returns the flow that reads timelines of one kind.
func reading(name, path string, weight int) object {
	step := object{
		"name": name, "request": "GET /" + path + "/${user.id}?start=${start}&count=" + fmt.Sprint(pageSize),
		"expect":  object{"status": "200", "json": object{"user": "${user.id}"}},
		"extract": object{"ids": object{"json": "ids"}}, "note": []string{"user.id", "start", "ids"},
	}
	if name == readHome {
		step["headers"] = bearing()
	}
	return object{"name": name, "weight": weight, "steps": []object{step}}
}

// loggingIn returns the flow that logs a user in.
func loggingIn(weight float64) object {
	return object{"name": logIn, "weight": weight, "steps": []object{{
		"name": logIn, "request": "POST /login",
		"json":    object{"name": "user_${user.id}", "password": population.Password},
		"expect":  object{"status": "200", "json": object{"user.id": "${user.id}"}},
		"extract": object{"token": object{"json": "token"}},
	}}}
}

// composing returns the flows that post, one for each number of mentions.
func composing(weight int) []object {
	var flows []object
	text, media := "${words}", []object{}
	for n := 0; n <= mostMentions; n++ {
		flows = append(flows, object{"name": fmt.Sprintf("%s with %d", compose, n), "weight": weight,
			"steps": []object{{
				"name": compose, "request": "POST /posts", "headers": bearing(),
				"json":    object{"author": "user_${user.id}", "text": text, "media": slices.Clone(media)},
				"expect":  object{"status": "201", "json": object{"author.id": "${user.id}"}},
				"extract": object{"id": object{"json": "id"}}, "note": []string{"user.id", "id"},
			}}})
		text += fmt.Sprintf(" @user_${other%d} http://${host}%d.example/a", n, n)
		if n < mostMedia {
			media = append(media, object{"id": fmt.Sprintf("${medium}%d", n), "type": "png"})
		}
	}
	return flows
}
