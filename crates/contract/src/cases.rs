//! The cases, one file per area.

mod access;
mod apply;
mod apply_lists;
mod builtins;
mod cel;
mod collections;
mod concurrency;
mod crds;
mod deletion;
mod discovery;
mod dry_run;
mod errors;
mod escalation;
mod field_validation;
mod garbage;
mod generation;
mod managers;
mod metadata_only;
mod names;
mod namespaces;
mod objects;
mod paging;
mod patch;
mod schema;
mod selectors;
mod strategic;
mod subresources;
mod validation;
mod watch;

use crate::Case;

pub(crate) const TABLES: &[&[Case]] = &[
    objects::CASES,
    errors::CASES,
    concurrency::CASES,
    names::CASES,
    generation::CASES,
    subresources::CASES,
    apply::CASES,
    apply_lists::CASES,
    managers::CASES,
    patch::CASES,
    strategic::CASES,
    dry_run::CASES,
    field_validation::CASES,
    deletion::CASES,
    garbage::CASES,
    namespaces::CASES,
    collections::CASES,
    schema::CASES,
    validation::CASES,
    cel::CASES,
    crds::CASES,
    selectors::CASES,
    paging::CASES,
    watch::CASES,
    metadata_only::CASES,
    builtins::CASES,
    access::CASES,
    escalation::CASES,
    discovery::CASES,
];
