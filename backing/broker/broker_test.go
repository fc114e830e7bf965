package broker

import (
	"strings"
	"testing"
)

func TestTopologyNamesEveryMistake(t *testing.T) {
	bad := Topology{Exchange: "Shop.", Queues: []Queue{
		{Name: "a b", Types: []string{"ok"}}, {Name: "views", Types: []string{"order..created", "ok*"}},
		{Name: "views", Types: []string{"ok"}}, {Name: "views-dead", Types: []string{"ok"}},
		{Name: "empty"}, {Name: "limit", Types: []string{"ok"}, DeliveryLimit: -1},
	}}
	err := bad.check()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`exchange "Shop.": a name has up to 60`, `queue "a b"`, `message type "order..created"`,
		`message type "ok*"`,
		`queue "views" is declared twice`, `queue "views-dead" is declared twice`, `queue "empty" receives nothing`,
		"delivery limit -1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not named in:\n%v", want, err)
		}
	}
	if err := shop().check(); err != nil {
		t.Errorf("a good topology is refused: %v", err)
	}
}

func TestOpenNamesMistakes(t *testing.T) {
	for _, address := range []string{"", "http://localhost"} {
		_, err := Open(Config{URL: address})
		if err == nil || !strings.Contains(err.Error(), "AMQP scheme must be either 'amqp://' or 'amqps://'") {
			t.Errorf("%q: error = %v", address, err)
		}
	}
}

func TestPublishErrorNamesMessagesInOrder(t *testing.T) {
	var failed *PublishError
	if failed.result() != nil {
		t.Error("nothing failed, but there is an error")
	}
	failed = failed.add(5, ErrUnrouted).add(2, errLost)
	err := failed.result()
	if err == nil || failed.Unconfirmed[0] != 2 ||
		!strings.Contains(err.Error(), "2 messages are not confirmed: "+ErrUnrouted.Error()) {
		t.Errorf("error = %v, messages %v", err, failed.Unconfirmed)
	}
}
