package consent

import (
	"fmt"
	"strings"
	"time"
)

// Hours is a daily span of time in a time zone.
type Hours struct {
	always   bool
	from, to int // minutes since midnight; if to is before from, the hours end on the next day
	zone     *time.Location
	text     string
}

// ParseHours reads "always" or "22:00-05:30 Europe/Berlin". Without a zone the times are UTC.
func ParseHours(text string) (Hours, error) {
	h := Hours{text: strings.TrimSpace(text), zone: time.UTC}
	if h.text == "always" {
		h.always = true
		return h, nil
	}
	wrong := fmt.Errorf("hours %q: write always, or for example 22:00-05:30 Europe/Berlin", text)
	span, zone, named := strings.Cut(h.text, " ")
	from, to, ok := strings.Cut(span, "-")
	if !ok {
		return h, wrong
	}
	begin, err := time.Parse("15:04", from)
	if err != nil {
		return h, wrong
	}
	end, err := time.Parse("15:04", to)
	if err != nil || end.Equal(begin) {
		return h, wrong
	}
	if named {
		if h.zone, err = namedZone(strings.TrimSpace(zone)); err != nil {
			return h, fmt.Errorf("hours %q: %w: use a zone such as UTC or Europe/Berlin", text, err)
		}
	}
	h.from = minuteOf(begin)
	h.to = minuteOf(end)
	return h, nil
}

// namedZone returns the time zone of a name. It refuses the names that stand for the zone of this host: the
// owner of a target cannot know it.
func namedZone(name string) (*time.Location, error) {
	if name == "Local" || name == "localtime" {
		return nil, fmt.Errorf("time zone %s is another one on every host", name)
	}
	return time.LoadLocation(name)
}

// minuteOf returns the minutes from midnight to a time of day.
func minuteOf(t time.Time) int { return 60*t.Hour() + t.Minute() }

// String returns the hours as they were written.
func (h Hours) String() string { return h.text }

// Until reports whether a moment is within the hours, and returns the end of the hours: for "always", a
// moment a hundred years ahead.
func (h Hours) Until(now time.Time) (end time.Time, open bool) {
	if h.always {
		return now.AddDate(100, 0, 0), true
	}
	local := now.In(h.zone)
	// Hours that began yesterday may end today.
	for day := -1; day <= 0; day++ {
		begin := h.at(local, day, h.from)
		end := h.at(local, day, h.to)
		if h.to < h.from {
			end = h.at(local, day+1, h.to)
		}
		if !now.Before(begin) && now.Before(end) {
			return end, true
		}
	}
	return time.Time{}, false
}

// at returns the moment of a minute of the day on the day of local, or a number of days after that day. It
// uses the calendar, so that days of 23 and 25 hours are right. For a time that the clocks skip in spring, it
// returns the moment at which they do.
func (h Hours) at(local time.Time, days, minute int) time.Time {
	year, month, day := local.Date()
	wanted := time.Date(year, month, day+days, 0, minute, 0, 0, time.UTC)
	moment := time.Date(year, month, day+days, 0, minute, 0, 0, h.zone)
	_, offset := moment.Zone()
	shown := moment.Add(time.Duration(offset) * time.Second) // what the clocks show, read as UTC
	start, end := moment.ZoneBounds()
	switch shown.Compare(wanted) { // time.Date may return a moment on either side of the gap
	case 1:
		return start
	case -1:
		return end
	}
	return moment
}
