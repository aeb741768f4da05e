package scenarios

import (
	_ "embed"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed init.toml.txt
var starter string

// Init returns a commented scenario to start from, with name as its title.
func Init(name string) []byte {
	quoted, err := toml.Marshal(map[string]string{"title": strings.ToValidUTF8(name, "?")})
	if err != nil {
		quoted = []byte(`title = ""`)
	}
	return []byte(strings.Replace(starter, `title = "TITLE"`, strings.TrimSpace(string(quoted)), 1))
}
