package scenarios

import (
	_ "embed"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
)

//go:embed init.toml.txt
var starter string

// Init returns a commented scenario to start from, with name as its title.
func Init(name string) []byte {
	title := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	quoted, err := toml.Marshal(map[string]string{"title": title})
	if err != nil {
		quoted = []byte(`title = ""`)
	}
	return []byte(strings.Replace(starter, `title = "TITLE"`, strings.TrimSpace(string(quoted)), 1))
}
