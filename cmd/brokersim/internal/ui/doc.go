// Package ui prints what people read: tables, numbers with their units, and
// progress. Colour is used on a terminal only, and not if NO_COLOR is set;
// nothing here is wider than its content.
package ui
