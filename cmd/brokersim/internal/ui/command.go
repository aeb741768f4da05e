package ui

import "strings"

// Command prints a command line for a POSIX shell.
func Command(args ...string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsFunc(a, special) {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// special reports whether a shell might give r a meaning.
func special(r rune) bool {
	return !strings.ContainsRune("-_./:=@%+,", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
