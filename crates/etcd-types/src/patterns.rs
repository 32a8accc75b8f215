//! What texts may look like, where more than one field takes them. The schema refuses the others with the pattern in the message.

use schemars::{Schema, SchemaGenerator, json_schema};

/// A time as Go's `time.ParseDuration` takes it, which reads etcd's flags; without a sign, and no finer than milliseconds.
pub(crate) const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$";

/// A time in whole seconds: Kubernetes gives Jobs no finer deadline.
pub(crate) const WHOLE_SECONDS: &str = r"^([0-9]+(s|m|h))+$";

/// A time as Go takes it, or a number alone. Source: etcd's `config.ParseCompactionRetention`, to which a number is hours, or
/// revisions.
pub(crate) const RETENTION: &str = r"^([0-9]+|([0-9]+(\.[0-9]+)?(ms|s|m|h))+)$";

/// A size. Source: the serialisation format of apimachinery's `resource.Quantity`; without a sign.
const QUANTITY: &str =
    r"^([0-9]+(\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?$";

/// The schema of a size. The type's own one would take any text; and null, which kube adds where nobody says otherwise.
pub(crate) fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-int-or-string": true, "nullable": false, "pattern": QUANTITY })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::matches;

    #[test]
    fn a_text_is_taken_or_refused_by_its_pattern() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                DURATION,
                &["90s", "5m", "24h", "1h30m", "1.5h", "250ms", "0s"],
                &["", "4 hours", "PT4H", "4", "-5m", "1d", "h", "1.h", "4h "],
            ),
            (WHOLE_SECONDS, &["90s", "1h30m"], &["", "1.5h", "250ms", "4", "PT4H"]),
            (RETENTION, &["1", "10000", "1h", "1h30m", "0.5h"], &["", "1d", "-1", "1h30", "10 000"]),
            (
                QUANTITY,
                &["8Gi", "1.5Gi", "100M", "2147483648", "1e9", "1E+9", ".5Gi", "64Mi", "1."],
                &["", "large", "8GB", "8 Gi", "-1Gi", "Gi", "8gi", "1e"],
            ),
        ];
        for (pattern, taken, refused) in cases {
            for text in *taken {
                assert!(matches(pattern, &json!(text)), "{pattern} should take {text:?}");
            }
            for text in *refused {
                assert!(!matches(pattern, &json!(text)), "{pattern} should refuse {text:?}");
            }
        }
    }
}
