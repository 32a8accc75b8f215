//! Why something is as it is, in one CamelCase word: the `reason` of conditions and events.

/// A reason, as users and their alerts read it. Implemented by the enums that [`reasons!`](crate::reasons) declares, so that
/// an operator's reasons stand in one place, each with its meaning.
pub trait Reason: Copy {
    /// The word itself, CamelCase.
    fn as_str(self) -> &'static str;

    /// What it means, and what to do about it.
    fn meaning(self) -> &'static str;
}

/// Declares an enum of reasons. The variants' names are the words, their doc comments are the documentation for users.
///
/// ```
/// kit::reasons! {
///     /// Why a queue is (not) ready.
///     pub enum QueueReason {
///         /// Every broker answers.
///         AllBrokersReady,
///         /// A broker does not answer; it is replaced after five minutes.
///         BrokerDown,
///     }
/// }
/// use kit::Reason;
/// assert_eq!(QueueReason::BrokerDown.as_str(), "BrokerDown");
/// assert_eq!(QueueReason::ALL.len(), 2);
/// assert!(QueueReason::BrokerDown.meaning().starts_with("A broker does not answer"));
/// ```
#[macro_export]
macro_rules! reasons {
    ($(#[$outer:meta])* $vis:vis enum $name:ident { $($(#[doc = $doc:literal])+ $variant:ident),+ $(,)? }) => {
        $(#[$outer])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        $vis enum $name { $($(#[doc = $doc])+ $variant),+ }

        impl $name {
            /// All of them, in the order of their declaration.
            #[allow(dead_code, reason = "for generated documentation")]
            $vis const ALL: &'static [Self] = &[$(Self::$variant),+];
        }

        impl $crate::Reason for $name {
            fn as_str(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant)),+ }
            }

            fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}
