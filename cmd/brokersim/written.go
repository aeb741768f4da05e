package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/input"
	"brokersim/cmd/brokersim/internal/output"
	"brokersim/model"
	"brokersim/plots"
	"brokersim/plots/numeral"
)

// written is what a run leaves behind: the paths of what was written, and why
// the rest was not. One failure does not keep the others from being written.
type written struct {
	cmd     *cobra.Command
	quiet   bool
	partial bool // the run was interrupted
	paths   []string

	failures []error
}

func (w *written) failed(err error) { w.failures = append(w.failures, err) }

// note says something on stderr that is no failure.
func (w *written) note(format string, args ...any) {
	if !w.quiet {
		fmt.Fprintf(w.cmd.ErrOrStderr(), format+"\n", args...)
	}
}

// requests ends the requests CSV, if there is one.
func (w *written) requests(path string, r *output.Requests) {
	if r == nil {
		return
	}
	if err := r.Close(); err != nil {
		w.failed(fmt.Errorf("--requests: %w", err))
		return
	}
	if path == "-" {
		path = "stdout"
	} else {
		w.paths = append(w.paths, path)
	}
	if w.partial {
		w.note("%s is partial: %s, as far as the run came", path, numeral.Plural(r.Rows, "row"))
	}
}

// result leaves result.json in the folder.
func (w *written) result(folder *output.Folder, j *job, result *model.Result) {
	const name = "result.json"
	data, err := j.encode(result)
	if err == nil {
		was := w.scenarioOf(folder.Path(name))
		err = folder.Write(name, data)
		if err == nil && was.Hash != "" && was != j.scenario {
			w.note("%s was of another scenario or of other settings (%s, %s): replaced; --out keeps both", folder.Path(name), was.Name, was.Hash)
		}
	}
	if err != nil {
		w.failed(err)
		return
	}
	w.paths = append([]string{folder.Path(name)}, w.paths...)
}

// resultMost bounds a result.json that is looked at.
const resultMost = 16 << 20

// scenarioOf is the scenario of an earlier result, or none.
func (w *written) scenarioOf(path string) model.ScenarioRef {
	var earlier struct {
		Scenario model.ScenarioRef `json:"scenario"`
	}
	f, err := input.Open(context.WithoutCancel(w.cmd.Context()), path, resultMost)
	if err != nil {
		return earlier.Scenario
	}
	defer f.Close()
	if json.NewDecoder(f).Decode(&earlier) != nil {
		return model.ScenarioRef{}
	}
	if strings.ContainsFunc(earlier.Scenario.Name+earlier.Scenario.Hash, unicode.IsControl) {
		return model.ScenarioRef{}
	}
	return earlier.Scenario
}

// formats are those of a figure.
var formats = []struct {
	ext    string
	render func(plots.Figure, plots.Input) ([]byte, error)
}{{".png", plots.PNG}, {".svg", plots.SVG}}

// figures leaves the figures in the folder, and takes those of an earlier run
// away that are not drawn anew. An interrupt ends the drawing.
func (w *written) figures(folder *output.Folder, none bool, in plots.Input) {
	var drawn []string
	for f := plots.IncidentTimeline; f <= plots.WaitingCauses; f++ {
		whole := !none
		for _, format := range formats {
			name := f.String() + format.ext
			if !none && (w.partial || w.cmd.Context().Err() == nil) {
				data, err := format.render(f, in)
				if err == nil {
					err = folder.Write(name, data)
				}
				if err == nil {
					continue
				}
				w.failed(err)
			}
			whole = false
			if err := folder.Remove(name); err != nil {
				w.failed(err)
			}
		}
		if whole {
			drawn = append(drawn, f.String())
		}
	}
	if len(drawn) > 0 {
		w.paths = append(w.paths, folder.Path("{"+strings.Join(drawn, ",")+"}.{png,svg}"))
	}
}
