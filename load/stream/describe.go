package stream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/cleave-lab/cleave/load/http2"
	"github.com/cleave-lab/cleave/load/scenario"
)

// fromProtoSet finds methods in a FileDescriptorSet (protoc --include_imports --descriptor_set_out).
func fromProtoSet(text []byte, names []string) (map[string]*method, error) {
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(text, set); err != nil {
		return nil, fmt.Errorf("the file of descriptors is no FileDescriptorSet: %w: make it with protoc "+
			"--include_imports --descriptor_set_out", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("the file of descriptors is not complete: %w: make it with protoc "+
			"--include_imports --descriptor_set_out", err)
	}
	var services []string
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			service := f.Services().Get(i)
			services = append(services, string(service.FullName()))
		}
		return true
	})
	slices.Sort(services)
	return findMethods(files, names, services)
}

// findMethods finds methods by name. The error names all missing ones, and the methods that exist.
func findMethods(files *protoregistry.Files, names, services []string) (map[string]*method, error) {
	methods := make(map[string]*method, len(names))
	types := dynamicpb.NewTypes(files)
	var mistakes []error
	for _, name := range names {
		m, err := findMethod(files, name, services)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		m.types = types
		methods[name] = m
	}
	return methods, errors.Join(mistakes...)
}

// findMethod finds a method by its name, "package.Service/Method". services are the known ones, for the
// error.
func findMethod(files *protoregistry.Files, name string, services []string) (*method, error) {
	service, short, found := strings.Cut(name, "/")
	if !found {
		return nil, fmt.Errorf("gRPC method %q: write it as package.Service/Method", name)
	}
	descriptor, _ := files.FindDescriptorByName(protoreflect.FullName(service))
	s, is := descriptor.(protoreflect.ServiceDescriptor)
	if !is {
		return nil, fmt.Errorf("gRPC service %q is not there; there are: %s", service, strings.Join(services, ", "))
	}
	m := s.Methods().ByName(protoreflect.Name(short))
	switch {
	case m == nil:
		return nil, fmt.Errorf("gRPC service %s has no method %q; it has: %s", service, short,
			strings.Join(namesOf(s.Methods()), ", "))
	case m.IsStreamingClient() || m.IsStreamingServer():
		return nil, fmt.Errorf("gRPC method %s is a stream: only unary methods can be called", name)
	}
	return &method{path: "/" + name, in: m.Input(), out: m.Output()}, nil
}

func namesOf(methods protoreflect.MethodDescriptors) []string {
	names := make([]string, methods.Len())
	for i := range names {
		names[i] = string(methods.Get(i).Name())
	}
	return names
}

// reflector asks the reflection service of a server (grpc.reflection.v1).
type reflector struct {
	link    *grpcLink
	version string
	files   map[string]*descriptorpb.FileDescriptorProto
}

// fromServer finds methods by reflection, in the newest version that the server supports; the messages of
// both versions are the same.
func fromServer(link *grpcLink, names []string) (map[string]*method, error) {
	const next = "switch reflection on in the server, or give its descriptors with --proto-set FILE " +
		"(protoc --include_imports --descriptor_set_out FILE)"
	var last error
	for _, version := range []string{"v1", "v1alpha"} {
		r := &reflector{link, version, make(map[string]*descriptorpb.FileDescriptorProto)}
		methods, err := r.find(names)
		var status callStatus
		switch {
		case !errors.As(err, &status):
			return methods, err
		case status.code != codes.Unimplemented:
			return nil, fmt.Errorf("the server was asked what %s is (gRPC reflection %s) and did not tell: %w: %s",
				strings.Join(names, ", "), version, err, next)
		}
		last = err
	}
	return nil, fmt.Errorf("the server does not describe itself, so nothing is known of %s (gRPC reflection "+
		"was tried, v1 and v1alpha: %w): %s",
		strings.Join(names, ", "), last, next)
}

// find asks for the services of methods, and finds the methods in them.
func (r *reflector) find(names []string) (map[string]*method, error) {
	services, err := r.services()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		service, _, _ := strings.Cut(name, "/")
		if !slices.Contains(services, service) {
			continue // reported with all other missing ones
		}
		request := &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}
		if err := r.fetch(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: request}); err != nil {
			return nil, fmt.Errorf("ask the server about %s: %w", service, err)
		}
	}
	set := &descriptorpb.FileDescriptorSet{File: slices.Collect(maps.Values(r.files))}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("what the server says of itself is not complete: %w", err)
	}
	return findMethods(files, names, services)
}

// call sends a request and returns its answer. The method takes and returns streams; one message is a stream.
func (r *reflector) call(
	request *grpc_reflection_v1.ServerReflectionRequest,
) (*grpc_reflection_v1.ServerReflectionResponse, error) {
	body, err := prefixed(request)
	if err != nil {
		return nil, err
	}
	x := &exchange{limit: r.link.limit, permits: func() bool { return true },
		h2: &http2.Exchange{Clock: func() time.Duration { return 0 }}}
	message, status, ok := r.link.call(x, &scenario.Call{
		GRPC: "grpc.reflection." + r.version + ".ServerReflection/ServerReflectionInfo"}, body)
	isOther := x.answer.Status != 0 && !isOfGRPC(&x.answer)
	switch {
	case !ok && isOther:
		return nil, fmt.Errorf("what answers there is no gRPC server (%s): is the address right?", x.why)
	case !ok:
		return nil, fmt.Errorf("ask the server what it offers (gRPC reflection): %s", x.why)
	case status.code != codes.OK:
		return nil, status
	}
	answer := new(grpc_reflection_v1.ServerReflectionResponse)
	if err := proto.Unmarshal(message, answer); err != nil {
		return nil, fmt.Errorf("the answer of gRPC reflection: %w", err)
	}
	if e := answer.GetErrorResponse(); e != nil {
		return nil, callStatus{codes.Code(e.GetErrorCode()), e.GetErrorMessage()}
	}
	return answer, nil
}

// services returns the names of all services of the server, in order.
func (r *reflector) services() ([]string, error) {
	answer, err := r.call(&grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range answer.GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	slices.Sort(names)
	return names, nil
}

// fetch requests a file and all that it imports, unless they are known.
func (r *reflector) fetch(request *grpc_reflection_v1.ServerReflectionRequest) error {
	answer, err := r.call(request)
	if err != nil {
		return err
	}
	var imports []string
	for _, text := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, file); err != nil {
			return fmt.Errorf("a file that is no descriptor: %w", err)
		}
		r.files[file.GetName()] = file
		imports = append(imports, file.GetDependency()...)
	}
	for _, name := range imports {
		if r.files[name] != nil {
			continue
		}
		by := &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: name}
		if err := r.fetch(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: by}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
