// Package report renders a finished lab.Analysis: as text for a terminal, as
// JSON and CSV, and as one HTML file that needs no network.
//
// It computes no statistics and reads no trials: every number and the answer come
// from the analysis. It adds rounding, readable units, and order. Texts of the
// analysis are never trusted: control characters are removed everywhere, and each
// format is escaped.
//
// Entry points: Terminal, JSON, CSV and HTML for a run; AgainstTerminal, AgainstJSON,
// AgainstHTML and GatesTerminal for one run against another; TracesTerminal and
// TracesJSON for two sets of traces. Both the terminal and the HTML page show the
// same tables (type table), so that a number is rounded in one place only. The plots
// of the page are drawn by the script in report/web from the analysis that the page
// embeds; without JavaScript all text and tables are still there.
package report
