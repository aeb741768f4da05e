package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"brokersim/cmd/brokersim/internal/ui"
	"brokersim/scenarios"
)

func newList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the bundled scenarios",
		Long: `List the bundled scenarios with their titles: a table on a terminal, fields
separated by tabs elsewhere.`,
		Example: "  brokersim list\n  brokersim list --json",
		Args:    operands("no operand", 0, 0),
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			return list(cmd, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func list(cmd *cobra.Command, asJSON bool) error {
	type entry struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	var entries []entry
	for _, name := range scenarios.Names() {
		sc, err := scenarios.Named(name)
		if err != nil {
			return err
		}
		entries = append(entries, entry{name, sc.Config.Title})
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	switch {
	case asJSON:
		data, err := encode(entries)
		if err != nil {
			return err
		}
		out.Write(data) // its error is Flush's
	case ui.IsTerminal(cmd.OutOrStdout()):
		t := ui.NewTable("", "")
		for _, e := range entries {
			t.Row(e.Name, e.Title)
		}
		t.Write(out, 0, ui.StyleOf(cmd.OutOrStdout()).Width)
	default:
		for _, e := range entries {
			fmt.Fprintf(out, "%s\t%s\n", e.Name, e.Title)
		}
	}
	return out.Flush()
}
