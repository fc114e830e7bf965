package msgpack

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// messages returns messages with all kinds of fields: maps, lists, oneofs, nested messages, enums.
func messages(t testing.TB) []proto.Message {
	nested, err := structpb.NewStruct(map[string]any{"a": []any{1.5, "ü", nil, true}, "b": map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	return []proto.Message{
		nested, &wrapperspb.BytesValue{Value: []byte{0, 255}}, wrapperspb.Bool(true), wrapperspb.String("\x00 <>"),
		wrapperspb.Int32(math.MinInt32), wrapperspb.Int64(math.MaxInt64), wrapperspb.UInt32(math.MaxUint32),
		wrapperspb.UInt64(math.MaxUint64), wrapperspb.Float(1.5), wrapperspb.Double(math.Inf(-1)),
		&descriptorpb.FieldDescriptorProto{Name: proto.String(""), Number: proto.Int32(0),
			Label: descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(),
			Type:  descriptorpb.FieldDescriptorProto_TYPE_BYTES.Enum()},
		&descriptorpb.SourceCodeInfo_Location{Path: []int32{1, 0, -1}, LeadingDetachedComments: []string{"", "b"}},
	}
}

func TestMessagesComeBack(t *testing.T) {
	for _, m := range messages(t) {
		data, err := Codec{}.Append([]byte("kept"), m)
		if err != nil || !bytes.HasPrefix(data, []byte("kept")) {
			t.Fatalf("%T: %q, %v", m, data, err)
		}
		back := m.ProtoReflect().New().Interface()
		if err := (Codec{}).Unmarshal(data[len("kept"):], back); err != nil || !proto.Equal(m, back) {
			t.Errorf("%T: %v came back as %v, %v", m, m, back, err)
		}
	}
}

// TestTheFormat compares encoded messages with the bytes of the specification.
func TestTheFormat(t *testing.T) {
	for want, m := range map[string]proto.Message{
		"\x81\xa5value\xa2ab":               wrapperspb.String("ab"),
		"\x81\xa5value\xc4\x02\x00\xff":     wrapperspb.Bytes([]byte{0, 255}),
		"\x81\xa5value\xcd\x01\x00":         wrapperspb.UInt64(256),
		"\x81\xa5value\xff":                 wrapperspb.Int64(-1),
		"\x80":                              wrapperspb.Int64(0),
		"\x81\xa4path\x92\x01\x02":          &descriptorpb.SourceCodeInfo_Location{Path: []int32{1, 2}},
		"\x81\xa6fields\x81\xa1k\x80":       &structpb.Struct{Fields: map[string]*structpb.Value{"k": {}}},
		"\x81\xa4name\xa0":                  &descriptorpb.FieldDescriptorProto{Name: proto.String("")},
		"\x81\xa5value\xca\x3f\xc0\x00\x00": wrapperspb.Float(1.5),
	} {
		if got, err := (Codec{}).Append(nil, m); err != nil || string(got) != want {
			t.Errorf("%v is %q, %v, want %q", m, got, err, want)
		}
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	deep := strings.Repeat("\x81\xaalist_value\x81\xa6values\x91", 60) + "\x80"
	for data, want := range map[string]string{
		"":                                  "too few bytes left",
		"\x81\xa5value\xa2ab more":          "5 bytes behind the message",
		"\x81\xa5value\xa5ab":               "value: ",
		"\x81\xa5value\xa1\xff":             "value: a string is not in UTF-8",
		"\x81\xa5value\x01":                 "value: ",
		"\xdf\xff\xff\xff\xff":              "too few bytes left",
		"\x81\xa5other\xdd\xff\xff\xff\xff": "too few bytes left",
		"\x81\xa5other" + strings.Repeat("\x91", 200_000): "recursion limit",
	} {
		err := Codec{}.Unmarshal([]byte(data), &wrapperspb.StringValue{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", data, err, want)
		}
	}
	if err := (Codec{}).Unmarshal([]byte(deep), &structpb.Value{}); err == nil ||
		!strings.Contains(err.Error(), "more than 100 deep") {
		t.Errorf("a message nested more than 100 deep: %v", err)
	}
	if err := (Codec{}).Unmarshal([]byte("\x82\xa5other\x93\x01\xc0\x80\xa5value\xa1a"),
		&wrapperspb.StringValue{}); err != nil {
		t.Errorf("an unknown field: %v", err)
	}
	if _, err := (Codec{}).Append(nil, "text"); err == nil {
		t.Error("a text was encoded as a message")
	}
}

// FuzzUnmarshal: a message that was decoded can be encoded and decoded again to an equal one, and its memory
// is proportional to the input.
func FuzzUnmarshal(f *testing.F) {
	for _, m := range messages(f) {
		data, err := Codec{}.Append(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(msgp.AppendMapHeader(nil, math.MaxUint32))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, into := range []proto.Message{&structpb.Struct{}, &descriptorpb.FieldDescriptorProto{},
			&descriptorpb.SourceCodeInfo{}, &wrapperspb.BytesValue{}, &wrapperspb.UInt32Value{}} {
			if (Codec{}).Unmarshal(data, into) != nil {
				continue
			}
			if size := proto.Size(into); size > 10*len(data)+10 {
				t.Errorf("%d bytes became %d", len(data), size)
			}
			again, err := Codec{}.Append(nil, into)
			if err != nil {
				t.Fatal(err)
			}
			back := into.ProtoReflect().New().Interface()
			if err := (Codec{}).Unmarshal(again, back); err != nil || !proto.Equal(into, back) {
				t.Errorf("%v came back as %v, %v", into, back, err)
			}
		}
	})
}
