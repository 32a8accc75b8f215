//! The `remote_read` section.

use prometheus_types::remote_write::RemoteReadSpec;
use rendering::{Map, Tree};

use crate::context::Scope;
use crate::gates::Field;
use crate::values::{string_map, text};

impl Scope<'_> {
    pub(crate) fn remote_read(&self, spec: &RemoteReadSpec) -> Map {
        let known = self.known;
        let mut map = Map::new().with("url", Tree::text(&spec.url));
        map.set_some("remote_timeout", text(spec.remote_timeout.as_ref()));
        known.put_some(&mut map, Field::RemoteReadHeaders, string_map(&spec.headers).non_empty());
        known.put_some(&mut map, Field::RemoteWriteName, Some(&spec.name).filter(|name| !name.is_empty()));
        map.set_some("required_matchers", string_map(&spec.required_matchers).non_empty());
        map.set_some("read_recent", spec.read_recent.then_some(true));
        self.put_basic_auth(&mut map, spec.basic_auth.as_ref());
        map.set_text("bearer_token", &spec.bearer_token)
            .set_text("bearer_token_file", &spec.bearer_token_file);
        self.put_oauth2(&mut map, spec.oauth2.as_ref());
        self.put_tls(&mut map, spec.tls_config.as_ref());
        self.put_authorization(&mut map, spec.authorization.as_ref());
        self.put_proxy(&mut map, &spec.proxy);
        known.put_some(&mut map, Field::FollowRedirects, spec.follow_redirects);
        known.put_some(&mut map, Field::FilterExternalLabels, spec.filter_external_labels);
        map
    }
}
