package consent

import (
	"fmt"
	"net/netip"
	"strings"
)

// forbiddenRanges returns the address ranges that never get load, with a description of each. No
// permission overrides them.
func forbiddenRanges() []struct{ prefix, is string } {
	return []struct{ prefix, is string }{
		// Metadata services hand out credentials; named before the ranges around them.
		{"169.254.169.254/32", "the metadata service of a cloud"},
		{"100.100.100.200/32", "the metadata service of a cloud"},
		{"192.0.0.192/32", "the metadata service of a cloud"},
		{"168.63.129.16/32", "the management service of a cloud"},
		{"fd00:ec2::254/128", "the metadata service of a cloud"},
		{"169.254.0.0/16", "a link-local address"},
		{"fe80::/10", "a link-local address"},
		{"0.0.0.0/8", "an unspecified address"},
		{"::/128", "an unspecified address"},
		{"255.255.255.255/32", "the broadcast address"},
		{"224.0.0.0/4", "a multicast address"},
		{"ff00::/8", "a multicast address"},
		{"240.0.0.0/4", "a reserved address"},
		// IPv6 addresses that stand for an IPv4 address would bypass the ranges above.
		{"64:ff9b::/96", "an IPv4 address in IPv6 form"},
		{"64:ff9b:1::/48", "an IPv4 address in IPv6 form"},
		{"2002::/16", "an IPv4 address in IPv6 form"},
		{"2001::/32", "an IPv4 address in IPv6 form"},
	}
}

// forbidden returns the reason why an address never gets load, or "" if it may get load.
func forbidden(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "no address"
	case a.Is4In6():
		return "an IPv4 address in IPv6 form"
	}
	for _, n := range forbiddenRanges() {
		if netip.MustParsePrefix(n.prefix).Contains(a.WithZone("")) {
			return n.is
		}
	}
	// ::a.b.c.d is the deprecated form of an IPv4 address, except ::1, which is loopback.
	if a.Is6() && !a.IsLoopback() && netip.MustParsePrefix("::/96").Contains(a.WithZone("")) {
		return "an IPv4 address in IPv6 form"
	}
	if a.Zone() != "" {
		return "an address with a zone"
	}
	return ""
}

// badName returns the reason why a text is not a host name that all resolvers read in the same way, or ""
// if it is one.
func badName(host string) string {
	name := plain(host)
	if name == "" || len(name) > 253 {
		return fmt.Sprintf("a host name has 1 to 253 characters, not %d", len(name))
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Sprintf("%q is not a part of a host name", label)
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return fmt.Sprintf("%q has characters that host names do not have", label)
		}
	}
	// 2130706433, 0x7f.1 and 127.1 are 127.0.0.1 to some resolvers and names to others.
	last := labels[len(labels)-1]
	isDecimal := strings.Trim(last, "0123456789") == ""
	digits, marked := strings.CutPrefix(last, "0x")
	isHex := marked && strings.Trim(digits, "0123456789abcdef") == ""
	if isDecimal || isHex {
		return "it looks like a number, which resolvers read differently"
	}
	return ""
}
