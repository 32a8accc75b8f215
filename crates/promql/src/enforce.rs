//! Confines an expression: every selector must match one value of one label.

use crate::ast::{Expr, Selector};
use crate::matcher::Matcher;

/// Puts `matcher` into every selector, in the place of what the expression itself says about that label.
///
/// Also within the parameters of aggregations: `topk(scalar(secret), x)` would otherwise show what must not be seen.
pub fn enforce(expr: &mut Expr, matcher: &Matcher) {
    match expr {
        Expr::Number(_) | Expr::Text(_) => {}
        Expr::Selector(of) => selector(of, matcher),
        Expr::Range(of) => selector(&mut of.selector, matcher),
        Expr::Subquery(of) => enforce(&mut of.expr, matcher),
        Expr::Aggregation(of) => {
            enforce(&mut of.expr, matcher);
            of.parameter.iter_mut().for_each(|parameter| enforce(parameter, matcher));
        }
        Expr::Binary(of) => {
            enforce(&mut of.left, matcher);
            enforce(&mut of.right, matcher);
        }
        Expr::Call(of) => of.arguments.iter_mut().for_each(|argument| enforce(argument, matcher)),
        Expr::Paren(inner) | Expr::Signed(_, inner) => enforce(inner, matcher),
    }
}

fn selector(selector: &mut Selector, matcher: &Matcher) {
    selector.matchers.retain(|own| own.name != matcher.name);
    selector.matchers.push(matcher.clone());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{Options, parse};

    fn confined(expr: &str) -> String {
        let mut expr = parse(expr, &Options::ALL).unwrap();
        enforce(&mut expr, &Matcher::equal("namespace", "tenant"));
        expr.to_string()
    }

    #[test]
    fn every_selector_is_confined() {
        for (expr, expected) in [
            ("up", r#"up{namespace="tenant"}"#),
            (r#"up{namespace="other",job="a"}"#, r#"up{job="a",namespace="tenant"}"#),
            (r#"up{namespace=~".+",namespace!="x"}"#, r#"up{namespace="tenant"}"#),
            ("rate(up[5m])", r#"rate(up{namespace="tenant"}[5m])"#),
            ("max_over_time(rate(a[5m])[1h:])", r#"max_over_time(rate(a{namespace="tenant"}[5m])[1h:])"#),
            ("sum by (job) (a) / -b", r#"sum by (job) (a{namespace="tenant"}) / -b{namespace="tenant"}"#),
            ("topk(scalar(a), b)", r#"topk(scalar(a{namespace="tenant"}), b{namespace="tenant"})"#),
            ("info(a, {b=\"c\"})", r#"info(a{namespace="tenant"}, {b="c",namespace="tenant"})"#),
        ] {
            assert_eq!(confined(expr), expected);
        }
    }
}
