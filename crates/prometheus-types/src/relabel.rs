//! Relabeling: how labels of targets, samples and alerts are rewritten.

use crate::object::object;
use crate::text::text;

text! {
    /// What a relabeling step does; both spellings are accepted.
    pub struct RelabelAction {
        "enum": [
            "replace", "Replace", "keep", "Keep", "drop", "Drop", "hashmod", "HashMod", "labelmap",
            "LabelMap", "labeldrop", "LabelDrop", "labelkeep", "LabelKeep", "lowercase",
            "Lowercase", "uppercase", "Uppercase", "keepequal", "KeepEqual", "dropequal",
            "DropEqual"
        ]
    }
}

object! {
    /// One relabeling step; the steps of a list run in order.
    pub struct RelabelConfig {
        optional {
            /// Labels whose values are joined and matched.
            pub source_labels: Vec<String>,
            /// What the values are joined with, `;` unless given.
            pub separator: Option<String>,
            /// Label that receives the result. Needed by the actions that write one label.
            pub target_label: String,
            /// Expression that the joined values must match as a whole, `(.*)` unless given.
            pub regex: String,
            /// What the hash is divided by, for `hashmod`.
            #[schemars(range(min = 0))]
            pub modulus: i64,
            /// What a match is replaced with, `$1` unless given; may refer to groups of the expression.
            pub replacement: Option<String>,
            /// What the step does.
            #[schemars(extend("default" = "replace"))]
            pub action: RelabelAction,
        }
    }
}
