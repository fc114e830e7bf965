// Package consent decides which targets may get load. Loopback and hosts that Cleave made may. Anything
// else needs both an entry in an allow list, with owner, highest rate, hours and expiry, and proof that
// the author of the entry controls the target: a token that the target itself serves. Some addresses,
// such as the metadata services of clouds, never get load.
//
// Entry points: ReadList, and Guard.Admit, which looks the name up once, checks
// every address it has and returns the only ones to connect to. The package
// connects to nothing; the caller passes functions that do. docs/consent.md
// explains the rules to users.
package consent
