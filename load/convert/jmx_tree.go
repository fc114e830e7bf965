package convert

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding/ianaindex"
)

// Limits of a test plan. Folders of Postman collections have the same maxDepth.
const (
	maxDepth = 200     // of nested XML elements
	maxNodes = 500_000 // XML elements
)

// element is one element of a test plan with its settings and the elements below it.
type element struct {
	property
	class    string // such as ThreadGroup or HTTPSamplerProxy
	gui      string // distinguishes kinds of the same class
	enabled  bool
	parent   *element
	children []*element
	reached  bool              // the conversion has used it, or has listed it
	skipped  bool              // a note covers it and everything below it
	vars     map[string]string // variables that are set here, and what stands for them in the scenario
}

// property is a setting of an element: a text, or a collection of properties.
type property struct {
	kind  string // XML tag, such as stringProp; elements have a class instead
	name  string // of an element: its label in the plan
	value string
	sub   []*property
	used  bool // the conversion has read it
}

// walk visits an element and everything below it. If visit returns false, it skips what is below.
func (e *element) walk(visit func(*element) bool) {
	if !visit(e) {
		return
	}
	for _, child := range e.children {
		child.walk(visit)
	}
}

// setVariable notes the text that stands in the scenario for a variable that is set at an element. The first
// text for a variable stays.
func (e *element) setVariable(variable, ref string) {
	if _, known := e.vars[variable]; !known {
		e.vars = with(e.vars, variable, ref)
	}
}

// eachLeaf visits the texts below a property.
func (p *property) eachLeaf(visit func(*property)) {
	if len(p.sub) == 0 {
		visit(p)
	}
	for _, s := range p.sub {
		s.eachLeaf(visit)
	}
}

// use marks a property and all properties in it as used.
func (p *property) use() {
	p.used = true
	for _, s := range p.sub {
		s.use()
	}
}

// node is an XML element as it was read.
type node struct {
	tag   string
	attrs map[string]string
	text  strings.Builder
	kids  []*node
}

// readTree reads the XML of a test plan. It refuses document types, which could define entities.
func readTree(data []byte) (*element, error) {
	top, err := readNodes(data)
	if err != nil {
		return nil, fmt.Errorf("read the test plan: %w", err)
	}
	if top.tag != "jmeterTestPlan" {
		return nil, fmt.Errorf("read the test plan: its root is <%s>, not <jmeterTestPlan>", top.tag)
	}
	root := &element{class: "jmeterTestPlan", enabled: true, reached: true}
	for _, kid := range top.kids {
		if kid.tag == "hashTree" {
			root.adopt(kid)
		}
	}
	if len(root.children) == 0 {
		return nil, errors.New("read the test plan: it is empty")
	}
	return root, nil
}

// readNodes reads XML within the limits.
func readNodes(data []byte) (*node, error) {
	decoder := xml.NewDecoder(bytes.NewReader(data))
	decoder.CharsetReader = decoded
	document := &node{}
	open := []*node{document}
	for count := 0; ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) && len(document.kids) > 0 {
			return document.kids[0], nil
		}
		if err != nil {
			return nil, err
		}
		inner := open[len(open)-1]
		switch t := token.(type) {
		case xml.Directive:
			return nil, errors.New("document types are not allowed")
		case xml.StartElement:
			if count++; len(open) > maxDepth || count > maxNodes {
				return nil, fmt.Errorf("nested deeper than %d or more than %d elements", maxDepth, maxNodes)
			}
			n := &node{tag: t.Name.Local, attrs: map[string]string{}}
			for _, a := range t.Attr {
				n.attrs[a.Name.Local] = a.Value
			}
			inner.kids = append(inner.kids, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			inner.text.Write(t)
		}
	}
}

// decoded converts text in another encoding to UTF-8.
func decoded(label string, input io.Reader) (io.Reader, error) {
	encoding, err := ianaindex.IANA.Encoding(label)
	if err != nil || encoding == nil {
		return nil, fmt.Errorf("the encoding %s is not known: save it as UTF-8", label)
	}
	return encoding.NewDecoder().Reader(input), nil
}

// adopt adds the elements of a <hashTree>. Each element is followed by the <hashTree> of the elements
// below it.
func (e *element) adopt(tree *node) {
	for _, kid := range tree.kids {
		if kid.tag == "hashTree" {
			if len(e.children) > 0 {
				e.children[len(e.children)-1].adopt(kid)
			}
			continue
		}
		child := &element{property: property{name: kid.attrs["testname"]}, class: kid.tag,
			gui: kid.attrs["guiclass"], parent: e, enabled: kid.attrs["enabled"] != "false"}
		for _, p := range kid.kids {
			child.sub = append(child.sub, newProperty(p))
		}
		e.children = append(e.children, child)
	}
}

// newProperty reads both forms: <stringProp name="x">value</stringProp> and
// <doubleProp><name>x</name><value>1.0</value><savedValue>0.0</savedValue></doubleProp>. It ignores
// savedValue.
func newProperty(n *node) *property {
	p := &property{kind: n.tag, name: n.attrs["name"], value: n.text.String()}
	for _, kid := range n.kids {
		switch {
		case kid.tag == "name" && p.name == "":
			p.name = kid.text.String()
		case kid.tag == "value" && len(kid.kids) == 0:
			p.value = kid.text.String()
		case kid.tag == "savedValue":
		default:
			p.sub = append(p.sub, newProperty(kid))
		}
	}
	return p
}

// where returns the path to the element: names from the thread group on.
func (e *element) where() string {
	label := e.label()
	if e.parent == nil || e.parent.class == "jmeterTestPlan" || e.parent.class == "TestPlan" {
		return label
	}
	return e.parent.where() + " > " + label
}

// label returns the element's name, or its class if it has no name.
func (e *element) label() string { return cmp.Or(e.name, e.class) }

// find returns the property of a name in p and marks it as used. It returns nil if there is none.
func (p *property) find(name string) *property {
	if p == nil {
		return nil
	}
	for _, s := range p.sub {
		if s.name == name {
			s.used = true
			return s
		}
	}
	return nil
}

// text returns a property's text, or "".
func (p *property) text(name string) string {
	if found := p.find(name); found != nil {
		return found.value
	}
	return ""
}

// truth reports whether a property is true.
func (p *property) truth(name string) bool { return strings.TrimSpace(p.text(name)) == "true" }

// collection finds the property of a name, marks it as used, and returns the properties in it.
func (p *property) collection(name string) []*property {
	if found := p.find(name); found != nil {
		return found.sub
	}
	return nil
}
