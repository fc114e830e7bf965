// Package content holds the components that make the parts of a post: unique-ids, texts (mentions and links),
// short-urls and media.
//
// Entry points: OpenIDs, NewTexts, NewShortURLs, NewMedia.
package content

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cleave-lab/cleave/backing/document"
	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/social"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
)

var (
	mention = regexp.MustCompile(`\B@[\pL\pM\pN_]+`)
	link    = regexp.MustCompile(`https?://[^\s]+`)
)

// Texts is the component texts.
type Texts struct {
	users  pb.Users
	shorts pb.ShortURLs
}

var _ pb.Texts = (*Texts)(nil)

// NewTexts returns the component, which looks up mentions in users and shortens links with shorts.
func NewTexts(users pb.Users, shorts pb.ShortURLs) *Texts { return &Texts{users, shorts} }

// Prepare returns the text with its links shortened, the users it mentions, and the links. Unknown names are
// ignored.
func (t *Texts) Prepare(ctx context.Context, in *pb.Text) (*pb.PreparedText, error) {
	text := in.GetText()
	if text == "" || len(text) > social.MaxText || !utf8.ValidString(text) {
		return nil, rpc.Problemf(rpc.InvalidArgument, "the text has %d bytes: use 1 to %d of UTF-8",
			len(text), social.MaxText)
	}
	urls := link.FindAllString(text, -1)
	names := mentioned(link.ReplaceAllString(text, " ")) // an @ in a link mentions nobody
	switch {
	case len(urls) > social.MaxLinks:
		return nil, rpc.Problemf(rpc.InvalidArgument, "the text has %d links: use at most %d", len(urls),
			social.MaxLinks)
	case len(names) > social.MaxMentions:
		return nil, rpc.Problemf(rpc.InvalidArgument, "the text mentions %d users: use at most %d",
			len(names), social.MaxMentions)
	}
	prepared := &pb.PreparedText{Text: text}
	if len(names) > 0 {
		found, err := t.users.Find(ctx, &pb.FindRequest{Names: names})
		if err != nil {
			return nil, err
		}
		prepared.Mentions = found.GetUsers()
	}
	if len(urls) > 0 {
		shorts, err := t.shorts.Shorten(ctx, &pb.Links{Urls: urls})
		if err != nil {
			return nil, err
		}
		prepared.Links = shorts.GetLinks()
		short := map[string]string{}
		for _, l := range prepared.GetLinks() {
			short[l.GetUrl()] = l.GetShort()
		}
		prepared.Text = link.ReplaceAllStringFunc(text, func(url string) string { return short[url] })
	}
	return prepared, nil
}

// mentioned returns the names that a text mentions. A mention is a whole word: @bobSmith does not mention
// bob, and an @ within a word, as in a mail address, mentions nobody.
func mentioned(text string) (names []string) {
	for _, word := range mention.FindAllString(text, -1) {
		if name := strings.TrimPrefix(word, "@"); social.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

const shortsName = "short_urls"

// ShortURLsCollection holds links by their short names.
var ShortURLsCollection = document.Collection{Name: shortsName}

// shortBase is the beginning of every short link; a short name follows.
const shortBase = "http://s.example/"

// ShortURLs is the component short-urls.
type ShortURLs struct{ store document.Store }

var _ pb.ShortURLs = (*ShortURLs)(nil)

// NewShortURLs returns the component. The store has declared ShortURLsCollection.
func NewShortURLs(store document.Store) *ShortURLs { return &ShortURLs{store} }

// Shorten stores links and returns their short links. The same link always has the same short link.
func (s *ShortURLs) Shorten(ctx context.Context, in *pb.Links) (*pb.ShortLinks, error) {
	var documents []document.Document
	var answer pb.ShortLinks
	for _, long := range in.GetUrls() {
		u, err := url.Parse(long)
		if err != nil || u.Host == "" || len(long) > social.MaxURL {
			return nil, rpc.Problemf(rpc.InvalidArgument, "the link %.80q is not valid, or longer than %d bytes",
				long, social.MaxURL)
		}
		hash := sha256.Sum256([]byte(long))
		name := base64.RawURLEncoding.EncodeToString(hash[:9])  // 12 characters
		body, _ := json.Marshal(map[string]string{"url": long}) // strings cannot fail
		documents = append(documents, document.Document{ID: name, Version: 1, Body: body})
		answer.Links = append(answer.Links, &pb.ShortLink{Short: shortBase + name, Url: long})
	}
	_, err := s.store.Upsert(ctx, shortsName, documents...)
	return &answer, err
}

// Resolve returns the link behind a short link, or behind its short name alone.
func (s *ShortURLs) Resolve(ctx context.Context, in *pb.Link) (*pb.Link, error) {
	d, err := s.store.Get(ctx, shortsName, strings.TrimPrefix(in.GetUrl(), shortBase))
	if errors.Is(err, document.ErrNotFound) {
		return nil, rpc.Problemf(social.NotFound, "there is no short link %.80q", in.GetUrl())
	}
	var body struct{ URL string }
	if err == nil {
		err = json.Unmarshal(d.Body, &body)
	}
	return &pb.Link{Url: body.URL}, err
}

// Media is the component media.
type Media struct {
	third *thirdparty.Client // nil: no third party checks media
}

var _ pb.Media = (*Media)(nil)

// NewMedia returns the component, which checks media itself. If third is not nil, a third party also checks
// them.
func NewMedia(third *thirdparty.Client) *Media { return &Media{third} }

var mediumID = regexp.MustCompile(`^[A-Za-z0-9]{1,40}$`)

// Attach checks the ids and types of media; their contents are stored elsewhere. The third party is called
// once for all media of a post.
func (m *Media) Attach(ctx context.Context, in *pb.MediaList) (*pb.MediaList, error) {
	if n := len(in.GetMedia()); n > social.MaxMedia {
		return nil, rpc.Problemf(rpc.InvalidArgument, "%d media are attached: use at most %d", n,
			social.MaxMedia)
	}
	for _, one := range in.GetMedia() {
		isType := slices.Contains([]string{"png", "jpg", "mp4"}, one.GetType())
		if !isType || !mediumID.MatchString(one.GetId()) {
			return nil, rpc.Problemf(rpc.InvalidArgument,
				"the medium %.60q of type %.20q is not valid: use letters and digits, and png, jpg or mp4", one.GetId(),
				one.GetType())
		}
	}
	if m.third == nil || len(in.GetMedia()) == 0 {
		return in, nil
	}
	return in, m.third.Approve(ctx)
}
