//! What administrators add in Secrets, appended as it is.

use rendering::{Map, Tree};

use crate::context::Context;
use crate::document::ConfigError;

/// The maps of a YAML list; an empty text has none.
pub(crate) fn parse_list(field: &'static str, text: Option<&str>) -> Result<Vec<Tree>, ConfigError> {
    let refuse = |why: String| ConfigError::Additional { field, why };
    let Some(text) = text else { return Ok(Vec::new()) };
    match Tree::parse(text).map_err(|error| refuse(error.to_string()))? {
        Tree::Null => Ok(Vec::new()),
        Tree::List(items) if items.iter().all(|item| matches!(item, Tree::Map(_) | Tree::Null)) => Ok(items
            .into_iter()
            .map(|item| if item.is_null() { Tree::Map(Map::new()) } else { item })
            .collect()),
        _ => Err(refuse("it must be a list of maps".to_owned())),
    }
}

impl Context<'_> {
    /// Additional scrape configurations. With several shards they are divided like all others, unless they see to that
    /// themselves.
    pub(crate) fn additional_jobs(&self, text: Option<&str>) -> Result<Vec<Tree>, ConfigError> {
        let field = "additionalScrapeConfigs";
        let mut jobs = parse_list(field, text)?;
        if self.options.daemon_set || self.shards() == 1 {
            return Ok(jobs);
        }
        for job in jobs.iter_mut().filter_map(Tree::as_map_mut) {
            let mut relabelings = match job.remove("relabel_configs") {
                None => Vec::new(),
                Some(Tree::List(steps)) if steps.iter().all(|step| step.as_map().is_some()) => steps,
                Some(_) => {
                    return Err(ConfigError::Additional {
                        field,
                        why: "relabel_configs must be a list of maps".to_owned(),
                    });
                }
            };
            self.shard_if_missing(&mut relabelings);
            job.set("relabel_configs", relabelings);
        }
        Ok(jobs)
    }
}
