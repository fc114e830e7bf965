package content

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/internal/testset"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	"github.com/cleave-lab/cleave/systems/social"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
)

// TestAPostWithoutMediaAsksNoThirdParty: nobody listens at the third party's address, and only posts with
// media fail.
func TestAPostWithoutMediaAsksNoThirdParty(t *testing.T) {
	m := NewMedia(thirdparty.NewClient(hostingtest.Nobody(t)))
	if _, err := m.Attach(t.Context(), &pb.MediaList{}); err != nil {
		t.Errorf("without media: %v", err)
	}
	var problem *rpc.Problem
	_, err := m.Attach(t.Context(), &pb.MediaList{Media: []*pb.Medium{{Id: "a", Type: "png"}}})
	if !errors.As(err, &problem) || problem.Kind != rpc.Unavailable {
		t.Errorf("with a medium: %v", err)
	}
}

// TestLinksAreShortenedInPlace: each link is replaced where it is, although http://s is also the beginning of
// every short link. A link ends at a blank: the comma belongs to the first one.
func TestLinksAreShortenedInPlace(t *testing.T) {
	texts := NewTexts(nil, NewShortURLs(open(t, ShortURLsCollection)))
	got, err := texts.Prepare(t.Context(),
		&pb.Text{Text: "see https://a.example/long, http://s and https://a.example/long"})
	testset.Must(t, err)
	short := map[string]string{}
	for _, l := range got.GetLinks() {
		short[l.GetUrl()] = l.GetShort()
	}
	want := "see " + short["https://a.example/long,"] + " " + short["http://s"] + " and " +
		short["https://a.example/long"]
	if got.GetText() != want || len(short) != 3 {
		t.Errorf("the text is %q, want %q", got.GetText(), want)
	}
}

// everybody is a component users that knows every name.
type everybody struct{ pb.Users }

func (everybody) Find(_ context.Context, in *pb.FindRequest) (*pb.FoundUsers, error) {
	var found pb.FoundUsers
	for _, name := range in.GetNames() {
		found.Users = append(found.Users, &pb.User{Name: name})
	}
	return &found, nil
}

// TestAMentionIsAWholeWord: the first name in a longer word is not mentioned.
func TestAMentionIsAWholeWord(t *testing.T) {
	longest := strings.Repeat("a", social.MaxName)
	texts := NewTexts(everybody{}, nil)
	for text, want := range map[string]string{
		"@ada_1, @bob: (@eve)": "ada_1 bob eve",
		"@bob's and @eve.":     "bob eve",
		"@bob@eve":             "bob",
		"@bobSmith @bobé @Bob": "",
		"ada@bob.example":      "",
		"@" + longest:          longest,
		"@" + longest + "a":    "",
		"@12 @_bob @":          "",
	} {
		got, err := texts.Prepare(t.Context(), &pb.Text{Text: text})
		testset.Must(t, err)
		var names []string
		for _, user := range got.GetMentions() {
			names = append(names, user.GetName())
		}
		if found := strings.Join(names, " "); found != want {
			t.Errorf("%s mentions %q, want %q", text, found, want)
		}
	}
}

// TestALinkMentionsNobody: nobody is looked up, so the component needs no users.
func TestALinkMentionsNobody(t *testing.T) {
	texts := NewTexts(nil, NewShortURLs(open(t, ShortURLsCollection)))
	got, err := texts.Prepare(t.Context(), &pb.Text{Text: "see https://a.example/@ada/1"})
	if err != nil || len(got.GetMentions()) != 0 || len(got.GetLinks()) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
