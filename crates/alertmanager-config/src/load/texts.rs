//! Texts that look like something else: where the configuration has a text, `0777` and `no` are what is written there.
//!
//! Alertmanager reads them so; a password of digits would not survive being taken for a number.

use rendering::{Map, Tree};

use crate::shape::{Holds, Section};

/// Puts what is `written` in place of what was taken for a number or a flag, wherever the shape wants a text.
pub(super) fn restore(shape: &Section, section: &mut Map, written: &Tree) {
    for key in shape.keys {
        if let (Some(value), Some(written)) = (section.get_mut(key.name), written.get(key.name)) {
            put(key.holds, value, written);
        }
    }
}

fn put(holds: Holds, value: &mut Tree, written: &Tree) {
    match (holds, value) {
        (
            Holds::Text
            | Holds::AlwaysText
            | Holds::Url
            | Holds::TemplateUrl
            | Holds::Duration
            | Holds::DurationText
            | Holds::NonZeroDuration
            | Holds::Texts
            | Holds::AlwaysTexts
            | Holds::TextMap,
            value,
        ) => *value = written.clone(),
        (Holds::Section(shape) | Holds::FullSection(shape), Tree::Map(section)) => {
            restore(shape, section, written);
        }
        (Holds::Sections(shape), Tree::List(items)) => {
            let written = written.as_list().unwrap_or_default();
            for (item, written) in items.iter_mut().zip(written) {
                if let Tree::Map(section) = item {
                    restore(shape, section, written);
                }
            }
        }
        _ => {}
    }
}
