package system

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cleave-lab/cleave/lab"
	"github.com/cleave-lab/cleave/systems/kit"
	"github.com/cleave-lab/cleave/systems/social"
	"github.com/cleave-lab/cleave/systems/social/population"
	"github.com/cleave-lab/cleave/systems/social/session"
)

// object is a JSON object.
type object = map[string]any

// The operations of the scenario, as the benchmark calls them.
const (
	readHome = "read_home_timeline"
	readUser = "read_user_timeline"
	compose  = "compose_post"
	logIn    = "log_in"
)

const (
	// pageSize is the number of posts that a read asks for, from a random position up to farthest.
	pageSize, farthest = 10, 100
	// textLength is the length of a post's text in front of its mentions and links, in characters.
	textLength = 256
	// A post has 0 to mostMentions mentions, each number equally often, as many links, and as many media but not
	// more than mostMedia.
	mostMentions, mostMedia = 5, 4
)

// tokensExpire is the expiry of the tokens that the load starts with: after any trial.
var tokensExpire = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// key returns the key of a trial's tokens, in hexadecimal.
func key(seed uint64) []byte {
	return hex.AppendEncode(nil, kit.TrialKey("the tokens of a trial of social", seed))
}

// userRows returns a CSV file of all users and their tokens. The tokens are made in advance: a login takes as
// much processor time as a hundred reads, and the benchmark's mix has none.
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

// scenario returns the load of clients as cleave-scenario/1, with its files: the benchmark's mix of
// 60 % home timelines, 30 % user timelines and 10 % posts. All mentioned users exist. Logins are added to the
// mix.
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

// flows returns the flows of a point: those of one operation, or the mix.
func flows(p lab.Point) ([]object, error) {
	const tenth = 10 * (mostMentions + 1) // the weight of a tenth of the mix; a post has mostMentions+1 flows
	mix := [][]object{
		{reading(readHome, "home-timelines", 6*tenth)}, {reading(readUser, "user-timelines", 3*tenth)},
		composing(tenth / (mostMentions + 1)),
	}
	logins, _ := p.Level(Logins)
	only, _ := p.Level(Only)
	switch {
	case only == 0 && logins == 0:
		return slices.Concat(mix...), nil
	case only == 0:
		return append(slices.Concat(mix...), loggingIn(logins/100*10*tenth)), nil
	case logins > 0:
		return nil, fmt.Errorf("point %s: %s join the mix, %s=%g replaces it: set one to 0", p, Logins, Only, only)
	case only == onlyLogins:
		return []object{loggingIn(1)}, nil
	case only < 0 || only > onlyLogins || only != float64(int(only)):
		return nil, fmt.Errorf("point %s: %s is %g: use 0 to %d", p, Only, only, onlyLogins)
	}
	return mix[int(only)-1], nil
}

// authorization returns the header with the token of the flow's user.
func authorization() object { return object{"Authorization": "Bearer ${user.token}"} }

// reading returns the flow that reads timelines at a path. Only home timelines need a token.
func reading(name, path string, weight int) object {
	step := object{
		"name": name, "request": "GET /" + path + "/${user.id}?start=${start}&count=" + fmt.Sprint(pageSize),
		"expect":  object{"status": "200", "json": object{"user": "${user.id}"}},
		"extract": object{"ids": object{"json": "ids"}}, "note": []string{"user.id", "start", "ids"},
	}
	if name == readHome {
		step["headers"] = authorization()
	}
	return object{"name": name, "weight": weight, "steps": []object{step}}
}

// loggingIn returns the flow that logs a user in, with a weight relative to those of the mix.
func loggingIn(weight float64) object {
	return object{"name": logIn, "weight": weight, "steps": []object{{
		"name": logIn, "request": "POST /login",
		"json":    object{"name": "user_${user.id}", "password": population.Password},
		"expect":  object{"status": "200", "json": object{"user.id": "${user.id}"}},
		"extract": object{"token": object{"json": "token"}}, // not used: an answer without it is a failure
	}}}
}

// composing returns the flows that post, one for each number of mentions. They have the same weight.
func composing(weight int) []object {
	var flows []object
	text := "${words}"
	media := []object{}
	for n := 0; n <= mostMentions; n++ {
		flows = append(flows, object{"name": fmt.Sprintf("%s with %d", compose, n), "weight": weight,
			"steps": []object{{
				"name": compose, "request": "POST /posts", "headers": authorization(),
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
