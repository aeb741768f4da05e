package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table is a table without rules: columns two blanks apart.
type Table struct {
	w     table.Writer
	heads []string
	rows  [][]string
}

// NewTable takes the heads of the columns. A head that begins with ">" is
// that of a column aligned to the right; empty heads all make no head line.
func NewTable(heads ...string) *Table {
	t := &Table{w: table.NewWriter(), heads: make([]string, len(heads))}
	t.w.SetStyle(table.Style{
		Box:     table.BoxStyle{PaddingRight: "  "},
		Format:  table.FormatOptions{Header: text.FormatDefault},
		Options: table.OptionsNoBordersAndSeparators,
	})
	row := make(table.Row, len(heads))
	columns := make([]table.ColumnConfig, len(heads))
	named := false
	for i, head := range heads {
		name, right := strings.CutPrefix(head, ">")
		columns[i].Number = i + 1
		if right {
			columns[i].Align, columns[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		row[i], t.heads[i] = name, name
		named = named || name != ""
	}
	t.w.SetColumnConfigs(columns)
	if named {
		t.w.AppendHeader(row)
	}
	return t
}

// Row adds a row.
func (t *Table) Row(cells ...string) {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	t.w.AppendRow(row)
	t.rows = append(t.rows, cells)
}

// Fits reports whether the table is at most so many columns wide.
func (t *Table) Fits(width int) bool {
	for _, line := range t.Lines() {
		if text.StringWidthWithoutEscSequences(line) > width {
			return false
		}
	}
	return true
}

// Write prints the table, each line after indent blanks. Where that is wider
// than width, each row is a block: its first cell, and below it the others
// with their heads.
func (t *Table) Write(w io.Writer, indent, width int) {
	if t.Fits(width - indent) {
		for _, line := range t.Lines() {
			fmt.Fprintln(w, strings.Repeat(" ", indent)+line)
		}
		return
	}
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Repeat(" ", indent)+row[0])
		block := NewTable("", "")
		for i, c := range row[1:] {
			if c != "" {
				block.Row(t.heads[i+1], c)
			}
		}
		for _, line := range block.Lines() {
			fmt.Fprintln(w, strings.Repeat(" ", indent+2)+line)
		}
	}
}

// Lines gives the lines of the table: the heads, if there are any, and the rows.
func (t *Table) Lines() []string {
	lines := strings.Split(t.w.Render(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}
