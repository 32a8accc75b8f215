//! What is wrong with an object or a configuration, and in which of its fields.

use prometheus_types::validity::client::InvalidClient;

/// A field that cannot stay as it is. Paths are written as users write them: `spec.receivers[0].slackConfigs[1].apiURL`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// Path of the field; never empty once the error has left this crate.
    pub field: String,
    /// What is wrong with it, and what to do.
    pub problem: String,
}

impl Invalid {
    pub(crate) fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { field: field.into(), problem: problem.into() }
    }

    /// The same problem, seen from the object that holds the field.
    #[must_use]
    pub(crate) fn within(mut self, parent: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => parent.to_owned(),
            field if field.starts_with('[') => format!("{parent}{field}"),
            field => format!("{parent}.{field}"),
        };
        self
    }

    /// The same problem, seen from the list that holds the object.
    #[must_use]
    pub(crate) fn at(self, index: usize) -> Self {
        self.within(&format!("[{index}]"))
    }
}

impl From<InvalidClient> for Invalid {
    fn from(InvalidClient { field, why }: InvalidClient) -> Self {
        Self { field, problem: why }
    }
}

/// Says in which field an error arose.
pub(crate) trait Within<T> {
    fn within(self, parent: &str) -> Result<T, Invalid>;
    fn at(self, list: &str, index: usize) -> Result<T, Invalid>;
}

impl<T> Within<T> for Result<T, Invalid> {
    fn within(self, parent: &str) -> Self {
        self.map_err(|invalid| invalid.within(parent))
    }

    fn at(self, list: &str, index: usize) -> Self {
        self.map_err(|invalid| invalid.at(index).within(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_grows_from_the_inside_out() {
        let leaf: Result<(), _> = Err(Invalid::new("apiURL", "is no URL"));
        let error = leaf.at("slackConfigs", 1).at("receivers", 0).within("spec").unwrap_err();
        assert_eq!(error.to_string(), "spec.receivers[0].slackConfigs[1].apiURL: is no URL");
    }

    #[test]
    fn a_problem_of_the_object_itself_takes_the_objects_path() {
        assert_eq!(Invalid::new("", "is empty").at(2).within("routes").to_string(), "routes[2]: is empty");
    }
}
