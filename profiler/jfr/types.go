package jfr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// class is a type of values, by the description in the recording.
type class struct {
	name   string
	fields []field
}

// field is a field of a class. For a constant, the value holds a key, and the pool of its class holds the
// constant.
type field struct {
	name     string
	class    int64
	constant bool
	array    bool
	needed   bool // by samples
}

// element is a node of the metadata tree.
type element struct {
	name       string
	attributes map[string]string
	children   []element
}

// mostDepth bounds the depth of the tree, and of nested values: those of the JDK have six levels.
const mostDepth = 32

// readClasses reads a metadata event, after its size and type.
func readClasses(b *decoder) map[int64]*class {
	b.number() // start
	b.number() // duration
	b.number() // id
	texts := make([]string, b.count())
	for i := range texts {
		texts[i], _ = b.text()
	}
	root := readElement(b, texts, 0)
	classes := map[int64]*class{}
	for _, metadata := range root.children {
		for _, e := range metadata.children {
			if e.name != "class" {
				continue
			}
			c := &class{name: e.attributes["name"]}
			for _, f := range e.children {
				if f.name == "field" {
					name := f.attributes["name"]
					c.fields = append(c.fields, field{name: name, class: integer(f.attributes["class"]),
						constant: f.attributes["constantPool"] == "true", array: f.attributes["dimension"] == "1",
						needed: slices.Contains(neededFields, name)})
				}
			}
			classes[integer(e.attributes["id"])] = c
		}
	}
	return classes
}

// integer returns the id of a class, or 0, which is none, for a text that is no number.
func integer(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// readElement reads a node of the metadata tree, with its children.
func readElement(b *decoder, texts []string, depth int) element {
	if depth > mostDepth {
		b.fail(fmt.Errorf("the metadata nest deeper than %d", mostDepth))
		return element{}
	}
	text := func() string {
		i := b.number()
		if i < 0 || i >= int64(len(texts)) {
			b.fail(fmt.Errorf("the metadata name text %d of %d", i, len(texts)))
			return ""
		}
		return texts[i]
	}
	e := element{name: text(), attributes: map[string]string{}}
	for range b.count() {
		key := text()
		e.attributes[key] = text()
	}
	for range b.count() {
		e.children = append(e.children, readElement(b, texts, depth+1))
		if b.err != nil {
			break
		}
	}
	return e
}

// value is the value of a field: a number, a text, or an object with those of its fields that samples need.
// That of an array is its first element: the first frame of a stack is the running method.
type value struct {
	number int64
	text   string
	parts  []part
}

// part is a field of an object.
type part struct {
	name string
	value
}

// part returns a field of an object; a zero value if it has none of that name.
func (v value) part(name string) value {
	for _, p := range v.parts {
		if p.name == name {
			return p.value
		}
	}
	return value{}
}

// neededFields are the names of the fields that samples need.
var neededFields = []string{"startTime", "stackTrace", "frames", "method", "type", "name", "string",
	"description"}

// read reads a value of a class. Values of the types boolean, byte, float and double are skipped, because no
// sample needs them.
func (c *chunk) read(b *decoder, of *class, depth int) value {
	if depth > mostDepth {
		b.fail(fmt.Errorf("values of %s nest deeper than %d", of.name, mostDepth))
		return value{}
	}
	switch of.name {
	case "boolean", "byte":
		b.take(1)
		return value{}
	case "char", "short", "int", "long":
		return value{number: b.number()}
	case "float":
		b.take(4)
		return value{}
	case "double":
		b.take(8)
		return value{}
	case "java.lang.String":
		text, key := b.text()
		return value{text: text, number: key}
	}
	if c.left--; c.left < 0 {
		b.fail(errors.New("its values outnumber its bytes"))
		return value{}
	}
	var v value
	for _, f := range of.fields {
		one := c.readField(b, f, depth)
		if b.err != nil {
			break
		}
		if f.needed {
			v.parts = append(v.parts, part{f.name, one})
		}
	}
	return v
}

// readField reads the value of a field, or the keys of its constants.
func (c *chunk) readField(b *decoder, f field, depth int) value {
	of, known := c.classes[f.class]
	if !known {
		b.fail(fmt.Errorf("field %s is of the class %d, which the recording does not describe", f.name, f.class))
		return value{}
	}
	one := func() value {
		if f.constant {
			return value{number: b.number()}
		}
		return c.read(b, of, depth+1)
	}
	if !f.array {
		return one()
	}
	var first value
	for i := range b.count() {
		next := one()
		if i == 0 {
			first = next
		}
		if b.err != nil {
			break
		}
	}
	return first
}
