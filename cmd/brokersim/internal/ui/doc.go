// Package ui prints what people read: tables, numbers with their units, and
// progress. Colour is used on a terminal only, and not if NO_COLOR is set; a
// stream that is no terminal is 100 columns wide.
package ui
