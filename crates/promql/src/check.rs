//! The types: what may stand where. Also settles what only types decide, such as how two sides match.

use crate::ast::{Aggregation, Binary, Call, Expr, Selector};
use crate::functions::{Last, ValueType};
use crate::matcher::METRIC_NAME;
use crate::token::Aggregator;

/// Says what is wrong, if anything is.
pub(crate) fn check(expr: &mut Expr) -> Result<(), String> {
    typed(expr).map(|_| ())
}

fn typed(expr: &mut Expr) -> Result<ValueType, String> {
    match expr {
        Expr::Number(_) => Ok(ValueType::Scalar),
        Expr::Text(_) => Ok(ValueType::Text),
        Expr::Selector(of) => selector(of).map(|()| ValueType::Vector),
        Expr::Range(of) => selector(&of.selector).map(|()| ValueType::Matrix),
        Expr::Subquery(of) => match typed(&mut of.expr)? {
            ValueType::Vector => Ok(ValueType::Matrix),
            other => {
                Err(format!("subquery is only allowed on instant vector, got {} instead", other.documented()))
            }
        },
        Expr::Aggregation(of) => aggregation(of),
        Expr::Binary(of) => binary(of),
        Expr::Call(of) => call(of),
        Expr::Paren(inner) => typed(inner),
        Expr::Signed(_, inner) => match typed(inner)? {
            scalar_or_vector @ (ValueType::Scalar | ValueType::Vector) => Ok(scalar_or_vector),
            other => Err(format!(
                "a sign is only allowed before a scalar or instant vector, got {}",
                other.documented()
            )),
        },
    }
}

fn expect(expr: &mut Expr, want: ValueType, context: &str) -> Result<(), String> {
    let got = typed(expr)?;
    if got == want {
        return Ok(());
    }
    Err(format!("expected type {} in {context}, got {}", want.documented(), got.documented()))
}

fn selector(selector: &Selector) -> Result<(), String> {
    if !selector.name.is_empty() {
        return match selector.matchers.iter().any(|matcher| matcher.name == METRIC_NAME) {
            true => Err(format!("metric name must not be set twice: {:?} and in the braces", selector.name)),
            false => Ok(()),
        };
    }
    if selector.may_match_everything || selector.matchers.iter().any(|matcher| !matcher.matches_empty()) {
        return Ok(());
    }
    Err("vector selector must contain at least one non-empty matcher".to_owned())
}

fn aggregation(aggregation: &mut Aggregation) -> Result<ValueType, String> {
    expect(&mut aggregation.expr, ValueType::Vector, "aggregation expression")?;
    let parameter =
        if aggregation.aggregator == Aggregator::CountValues { ValueType::Text } else { ValueType::Scalar };
    if let Some(expr) = &mut aggregation.parameter {
        expect(expr, parameter, "aggregation parameter")?;
    }
    Ok(ValueType::Vector)
}

fn binary(binary: &mut Binary) -> Result<ValueType, String> {
    let left = typed(&mut binary.left)?;
    let right = typed(&mut binary.right)?;
    let operator = binary.operator;
    let (scalar, vector) = (ValueType::Scalar, ValueType::Vector);
    for side in [left, right] {
        if side != scalar && side != vector {
            return Err("binary expression must contain only scalar and instant vector types".to_owned());
        }
    }
    if binary.returns_bool && !operator.is_comparison() {
        return Err("bool modifier can only be used on comparison operators".to_owned());
    }
    if operator.is_comparison() && !binary.returns_bool && left == scalar && right == scalar {
        return Err("comparisons between scalars must use BOOL modifier".to_owned());
    }
    if operator.is_set() && (left == scalar || right == scalar) {
        return Err(format!("set operator {:?} not allowed in binary scalar expression", operator.text()));
    }
    if let Some(matching) = &binary.matching {
        let twice = matching.labels.iter().find(|label| matching.on && matching.include.contains(label));
        if let Some(label) = twice {
            return Err(format!("label {label:?} must not occur in ON and GROUP clause at once"));
        }
        let fills = matching.fill_left.is_some() || matching.fill_right.is_some();
        if left != vector || right != vector {
            if !matching.labels.is_empty() {
                return Err("vector matching only allowed between instant vectors".to_owned());
            }
            if fills {
                return Err("filling in missing series only allowed between instant vectors".to_owned());
            }
            binary.matching = None;
        } else if operator.is_set() {
            if matching.many.is_some() {
                return Err(format!("no grouping allowed for {:?} operation", operator.text()));
            }
            if fills {
                return Err("filling in missing series not allowed for set operators".to_owned());
            }
        }
    }
    Ok(if left == scalar && right == scalar { scalar } else { vector })
}

fn call(call: &mut Call) -> Result<ValueType, String> {
    let function = call.function;
    let (wanted, got) = (function.arguments.len(), call.arguments.len());
    let (least, most) = match function.last {
        Last::Once => (wanted, Some(wanted)),
        Last::UpTo(times) => (wanted.saturating_sub(1), Some((wanted + times).saturating_sub(1))),
        Last::AnyNumber => (wanted.saturating_sub(1), None),
    };
    if got < least || most.is_some_and(|most| got > most) {
        let name = function.name;
        let bounds = match most {
            Some(most) if most == least => format!("{least}"),
            Some(most) => format!("{least} to {most}"),
            None => format!("at least {least}"),
        };
        return Err(format!("expected {bounds} argument(s) in call to {name:?}, got {got}"));
    }
    if function.name == "info"
        && let Some(labels) = call.arguments.get_mut(1)
    {
        match labels {
            Expr::Selector(selector) if selector.name.is_empty() => selector.may_match_everything = true,
            _ => return Err("expected label selectors only in the second argument of info()".to_owned()),
        }
    }
    for (at, argument) in call.arguments.iter_mut().enumerate() {
        let Some(want) = function.arguments.get(at).or(function.arguments.last()) else { break };
        expect(argument, *want, &format!("call to function {:?}", function.name))?;
    }
    Ok(function.returns)
}
