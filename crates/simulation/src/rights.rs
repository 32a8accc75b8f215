//! What an operator asked for, to be held against the rights that it declares.

use apiserver::Recorded;

use crate::Run;

/// The operator's requests in `runs`, as `parse` makes them of HTTP's method and path. An error names those that it had no right to.
pub fn asked<'r, R>(
    runs: impl IntoIterator<Item = &'r Run>,
    parse: impl Fn(&str, &str) -> Option<R>,
) -> Result<Vec<R>, String> {
    let requests: Vec<&Recorded> = runs.into_iter().flat_map(|run| &run.requests).collect();
    let refused: Vec<String> =
        requests.iter().filter(|request| request.code == Some(403)).map(|request| request.told()).collect();
    if !refused.is_empty() {
        return Err(format!("the operator has no right to:\n  {}", refused.join("\n  ")));
    }
    let http = requests.iter().filter_map(|request| request.http());
    Ok(http.filter_map(|(method, path)| parse(method, &path)).collect())
}
