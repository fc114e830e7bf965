package scenario

import "testing"

func TestEveryRoundHasKeysOfItsOwn(t *testing.T) {
	file := &File{
		Schema: Schema, Name: "keys", Values: map[string]Value{"key": {UUID: &struct{}{}}},
		Flows: []Flow{{Name: "one", Steps: []Step{{Request: "GET /${key}"}}}},
	}
	plan, err := file.Compile("")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, at := range []Origin{{Round: 0}, {Round: 1}, {Round: 2}, {Part: 1, Of: 2},
		{Part: 1, Of: 2, Round: 1}} {
		player, session := plan.Player(at), &Session{}
		for range 10 {
			player.Begin(session)
			if request := string(session.HTTP1()); seen[request] {
				t.Errorf("round %d of part %d repeats %q", at.Round, at.Part, request)
			} else {
				seen[request] = true
			}
		}
	}
}
