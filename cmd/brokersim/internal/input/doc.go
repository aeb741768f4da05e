// Package input opens what commands read. All readers share its rule: only
// regular files, of a bounded size, and reading stops when the command is
// interrupted. A pipe or a device may never begin or never end; what comes from
// one is given as standard input.
package input
