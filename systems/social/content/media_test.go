package content

import (
	"errors"
	"testing"

	"github.com/cleave-lab/cleave/binding/rpc"
	"github.com/cleave-lab/cleave/systems/kit/hosting/hostingtest"
	pb "github.com/cleave-lab/cleave/systems/social/socialpb"
	"github.com/cleave-lab/cleave/systems/social/thirdparty"
)

// TestAPostWithoutMediaAsksNoThirdParty: here it is gone, and only who asks notices.
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
