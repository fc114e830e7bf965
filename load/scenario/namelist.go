package scenario

import "strings"

// newPersonName returns a generator of names from lists of common first and last names.
func newPersonName() personName {
	const (
		first = "Ada Aino Alice Amir Ana Anders Aylin Bao Beatriz Ben Carla Carlos Chloe Daan David Dina Elena " +
			"Emil Emma Erik Fatima Felix Finn Gita Grace Hana Hugo Ida Igor Ines Ivan Jan Jin Jonas Julia Kai " +
			"Karin Kofi Lars Lea Leo Lin Lucia Maja Marco Maria Mei Mia Milan Nadia Nils Noa Nora Olga Omar Oscar " +
			"Paula Pavel Rosa Sami Sara Sofia Tomas Yuki"
		last = "Abe Adams Ahmed Almeida Andersen Bauer Becker Berg Bianchi Brown Chen Costa Cruz Dahl Diaz " +
			"Dubois Evans Farkas Fischer Garcia Gomez Haas Hansen Ito Ivanov Jansen Jensen Johnson Kaya Khan Kim " +
			"Klein Kovac Kumar Larsen Lee Lopez Martin Meyer Moreau Nagy Nguyen Nilsson Novak Okafor Olsen Park " +
			"Patel Petrov Ricci Rossi Ruiz Sato Schmidt Silva Singh Smith Sousa Tanaka Virtanen Wagner Wang Weber " +
			"Yilmaz"
	)
	return personName{first: strings.Fields(first), last: strings.Fields(last)}
}
