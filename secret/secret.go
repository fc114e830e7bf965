// Package secret keeps values that must not be published, such as passwords, out
// of plans, reports and messages. Documents have references in their place, ${NAME},
// which are replaced by the values when something is started.
//
// It knows no file formats: its users pass the texts, and the form of references. It
// cannot recognise secrets under harmless names.
//
// Entry points: NewVault, Vault.Mask, Vault.Fill, Vault.Conceal, Named, HidePasswords.
package secret

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Prefix is the prefix of the variables for masked values.
const Prefix = "CLEAVE_MASKED_"

// leastConcealed is the length in bytes of the shortest value that Conceal replaces:
// shorter ones occur in texts by chance.
const leastConcealed = 6

// Vault holds the secret values of one run of the program. It is used by one goroutine.
type Vault struct {
	environment func(name string) (string, bool)
	masked      map[string]string // masked values by variable
	concealed   map[string]bool   // values that Conceal replaces
	warnings    []string
}

// NewVault returns a vault that looks up variables with a function such as
// os.LookupEnv.
func NewVault(environment func(name string) (string, bool)) *Vault {
	return &Vault{environment: environment, masked: map[string]string{}, concealed: map[string]bool{}}
}

// nameWord matches the words of a name: API_KEY, apiKey and api-key have the same two.
var nameWord = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z0-9]+`)

// afterCapitals matches where a word begins behind capitals, as in DBPass, but not the plural of KEYs.
var afterCapitals = regexp.MustCompile(`([A-Z])([A-Z][a-z]{2})`)

// Named reports whether a variable, a header or an option has the name of a secret. The
// names of files with secrets, such as TOKEN_FILE, do not count.
func Named(name string) bool {
	words := nameWord.FindAllString(afterCapitals.ReplaceAllString(name, "${1}_$2"), -1)
	for i, w := range words {
		words[i] = strings.ToUpper(strings.TrimRight(w, "0123456789")) // DB_PASS2 is one, too
	}
	words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
	if len(words) == 0 || slices.Contains([]string{"FILE", "PATH", "DIR"}, words[len(words)-1]) {
		return false
	}
	whole := strings.Join(words, "")
	for _, part := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "COOKIE", "CREDENTIAL",
		"APIKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHORIZATION"} {
		if strings.Contains(whole, part) {
			return true
		}
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"KEY", "KEYS", "AUTH", "PASS", "PWD"}, w)
	})
}

// Mask keeps a value and returns the variable that replaces it in documents. It adds a
// warning in which what and name describe the place of the value: "system shop" and
// "API_TOKEN".
func (v *Vault) Mask(what, name, value string) string {
	base := Prefix + strings.ToUpper(strings.Trim(notInNames.ReplaceAllString(name, "_"), "_"))
	variable := base
	for n := 2; ; n++ {
		kept, taken := v.masked[variable]
		if taken && kept == value {
			return variable
		}
		if !taken {
			break
		}
		variable = fmt.Sprintf("%s_%d", base, n)
	}
	v.masked[variable] = value
	v.addConcealed(value)
	v.warnings = append(v.warnings, fmt.Sprintf("%s: the value of %s looks like a secret: plan and report "+
		"show %s in its place, and a replay asks for that variable; better write ${NAME} of your environment, or "+
		"use env_file",
		what, name, variable))
	return variable
}

// notInNames matches characters that names of variables cannot have.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// addConcealed makes Conceal replace a value, and also the part after its first word,
// because "Bearer abc" may appear as abc.
func (v *Vault) addConcealed(value string) {
	_, rest, _ := strings.Cut(value, " ")
	for _, text := range []string{value, rest} {
		if len(text) >= leastConcealed {
			v.concealed[text] = true
		}
	}
}

// Warnings returns the warnings about values that were masked since the last call.
func (v *Vault) Warnings() []string {
	warnings := v.warnings
	v.warnings = nil
	return warnings
}

// passwordInURL matches the password of URLs: scheme://user:password@host. The password may contain @. But
// after its first @ a separator such as a comma ends the URL: an @ behind that belongs to another text.
var passwordInURL = regexp.MustCompile(
	`([a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*:)([^@/\s"?#&]+(?:@[^@/\s"',;?#&|]+)*)(@)`)

// MaskURLs masks the passwords of all URLs in a text in which $${ stands for ${. It leaves passwords with a
// reference, because Fill does not fill in references within masked values. what and name are those of Mask.
// form returns the reference to a variable.
func (v *Vault) MaskURLs(what, name, text string, form func(variable string) string) string {
	return ReplacePasswords(text, func(password string) string {
		if plain, isPlain := Plain(password); isPlain {
			return form(v.Mask(what, name+"_PASSWORD", plain))
		}
		return password
	})
}

// HidePasswords replaces by asterisks the passwords of all URLs in a text, except those with a
// reference. It is for messages about what users have written.
func HidePasswords(text string) string {
	return ReplacePasswords(text, func(password string) string {
		if _, isPlain := Plain(password); isPlain {
			return "***"
		}
		return password
	})
}

// ReplacePasswords replaces the passwords of all URLs in a text.
func ReplacePasswords(text string, replace func(password string) string) string {
	return passwordInURL.ReplaceAllStringFunc(text, func(found string) string {
		parts := passwordInURL.FindStringSubmatch(found)
		return parts[1] + replace(parts[2]) + parts[3]
	})
}

// shellVariables matches a text that is nothing but variables, which a shell or a program fills in later:
// $NAME, ${NAME}, ${a.b}, ${NAME:?message}. Other forms, such as ${NAME:-default}, may contain a password.
var shellVariables = regexp.MustCompile(
	`^(?:\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_.]*(?::?\?[^}]*)?\})+$`)

// IsVariables reports whether a text of a shell or of a container is nothing but variables.
func IsVariables(text string) bool { return shellVariables.MatchString(text) }

// Reference returns the reference to a variable in system files and plans: ${NAME}.
func Reference(variable string) string { return "${" + variable + "}" }

// Plain returns the value of a text in which $${ stands for ${, and whether nothing has to be filled in.
func Plain(text string) (value string, isPlain bool) {
	return strings.ReplaceAll(text, "$${", "${"), !strings.Contains(strings.ReplaceAll(text, "$${", " "), "${")
}

// reference matches references, and $${, which stands for the text ${.
var reference = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// HasReference reports whether a text has a reference.
func HasReference(text string) bool {
	return slices.ContainsFunc(reference.FindAllStringSubmatch(text, -1),
		func(m []string) bool { return m[1] != "" })
}

// Fill replaces the references in a text by their values: those in atHand, the masked
// ones, or else those of the environment. The error is a MissingError.
func (v *Vault) Fill(text string, atHand map[string]string) (string, error) {
	return v.replace(text, reference, atHand)
}

// FillMasked replaces only references to masked values, for texts in which ${NAME} has
// another meaning, such as commands.
func (v *Vault) FillMasked(text string) (string, error) { return v.replace(text, maskedReference, nil) }

// replace replaces the matches of a pattern of references by their values.
func (v *Vault) replace(text string, references *regexp.Regexp, atHand map[string]string) (string, error) {
	missing := MissingError{}
	filled := references.ReplaceAllStringFunc(text, func(found string) string {
		name := references.FindStringSubmatch(found)[1]
		if name == "" {
			return "${"
		}
		value, known := v.Value(name, atHand)
		if !known && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return "", missing
	}
	return filled, nil
}

// MaskedIn returns the variables of masked values to which a text refers.
func MaskedIn(text string) []string {
	var names []string
	for _, found := range maskedReference.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	return names
}

// maskedReference matches references to masked values.
var maskedReference = regexp.MustCompile(`\$\{(` + Prefix + `[A-Z0-9_]*)\}`)

// Value returns the value of a variable, and whether it has one: the one in atHand, the masked one, or else
// the one in the environment. From now on Conceal replaces it.
func (v *Vault) Value(name string, atHand map[string]string) (string, bool) {
	value, known := atHand[name]
	if !known {
		value, known = v.masked[name]
	}
	if !known {
		value, known = v.environment(name)
	}
	v.addConcealed(value)
	return value, known
}

// Conceal replaces by asterisks all values in a text that were masked or returned by Value. It leaves values
// shorter than leastConcealed.
func (v *Vault) Conceal(text string) string {
	longestFirst := slices.SortedFunc(maps.Keys(v.concealed), func(a, b string) int { return len(b) - len(a) })
	for _, value := range longestFirst {
		text = strings.ReplaceAll(text, value, "***")
	}
	return text
}

// MissingError lists the variables that are not set.
type MissingError []string

// Error implements error.
func (m MissingError) Error() string {
	var reasons []string
	for _, name := range m {
		if strings.HasPrefix(name, Prefix) {
			reasons = append(reasons,
				fmt.Sprintf("a value was masked when the plan was made: give it in the environment variable %s", name))
		} else {
			reasons = append(reasons, fmt.Sprintf("the environment variable %s is not set: set it to its value", name))
		}
	}
	return strings.Join(reasons, "; ")
}
