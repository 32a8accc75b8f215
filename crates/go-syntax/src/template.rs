//! The syntax of Go's `text/template`: does a text parse, given the functions and variables that it may use.

mod parse;
mod tokens;

/// The functions that every template has.
pub const BUILTIN_FUNCTIONS: &[&str] = &[
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
    "printf", "println", "slice", "urlquery",
];

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TemplateError {
    pub line: usize,
    pub reason: String,
}

/// Judges a template that may call `functions` besides those built in, and use `variables` (`$labels`) besides `$`.
/// `name` is the template's own, which a `{{define}}` within it must not take.
pub fn check(name: &str, text: &str, functions: &[&str], variables: &[&str]) -> Result<(), TemplateError> {
    // Most texts are no templates.
    if !text.contains("{{") {
        return Ok(());
    }
    parse::Parser::new(text, functions, variables).whole(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str) -> Result<(), TemplateError> {
        check("__alert_A", text, &["humanize", "query", "first", "value"], &["$labels", "$value"])
    }

    #[test]
    fn what_go_parses_is_accepted() {
        for text in [
            "plain } text }}",
            "{{ $value | humanize }} {{ template \"x\" . }}",
            "{{ with query \"up\" }}{{ . | first | value }}{{ end }}",
            "{{- range $i, $e := .Labels -}}{{ $i }}{{ break }}{{ else }}x{{ end -}}",
            "{{ if eq $labels.job `a` }}1{{ else if not .X }}2{{ else }}3{{ end }}",
            "{{ with .X }}{{ else with .Y }}{{ end }}",
            "{{/* comment */}}{{- /* another */ -}}",
            "{{ $x := 1.5e3 }}{{ $x = 0x1F }}{{ printf \"%v\" 'a' nil true 1i 1+2i }}",
            "{{ (index .Labels \"a\").b.c }}",
            "{{ define \"t\" }}{{ .A }}{{ end }}{{ template \"t\" }}",
            "{{ block \"b\" . }}x{{ end }}",
            "{{ $labels.a.b }}{{ . }}{{ $ }}",
            "{{ print \"}}\" }}",
        ] {
            assert_eq!(verdict(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for text in [
            "{{ $value ",
            "{{ }}",
            "{{ $unknown }}",
            "{{ unknown }}",
            "{{ if .X }}",
            "{{ end }}",
            "{{ else }}",
            "{{ if .X }}{{ else }}{{ else }}{{ end }}",
            "{{ break }}",
            "{{ define \"t\" }}{{ $value }}{{ end }}",
            "{{ define \"t\" }}a{{ end }}{{ define \"t\" }}b{{ end }}",
            "{{ print “x” }}",
            "{{ \"abc }}",
            "{{ \"\\q\" }}",
            "{{ 1 | 2 }}",
            "{{ . | \"x\" }}",
            "{{ (print 1 }}",
            "{{ print 1) }}",
            "{{ .a.1 }}",
            "{{ 12abc }}",
            "{{ $x, $y := 1 }}",
            "{{ range $a, $b, $c := . }}{{ end }}",
            "{{ nil.x }}",
            "{{/* open }}",
            "{{ template . }}",
            "{{ .X ! }}",
            "{{ if .X }}{{ define \"t\" }}{{ end }}{{ end }}",
            "{{ 99999999999999999999 }}",
        ] {
            assert!(verdict(text).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{{{{ print {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(verdict(&deep).is_err());
        assert!(verdict(&"{{ if . }}".repeat(100_000)).is_err());
    }
}
