//! Remote write: which credentials go together, and what Azure's need.

use prometheus_types::auth::AzureAd;
use prometheus_types::remote_write::RemoteWriteSpec;
use prometheus_types::validity::client::check_proxy;
use rendering::Version;

use super::{Rejected, needs};
use crate::gates::{Field, Known};

/// Checks one entry of `remoteWrite` for a version of Prometheus.
pub fn check_remote_write(spec: &RemoteWriteSpec, version: &Version) -> Result<(), Rejected> {
    check(spec, &Known::by(version))
}

pub(crate) fn check(spec: &RemoteWriteSpec, known: &Known) -> Result<(), Rejected> {
    let given: Vec<&str> = [
        ("basicAuth", spec.basic_auth.is_some()),
        ("oauth2", spec.oauth2.is_some()),
        ("authorization", spec.authorization.is_some()),
        ("sigv4", spec.sigv4.is_some()),
        ("azureAd", spec.azure_ad.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, given)| given.then_some(name))
    .collect();
    if let [first, second, ..] = given.as_slice() {
        return Err(Rejected::new(*first, format!("it and {second} exclude each other; remove one")));
    }
    if let Some(azure) = &spec.azure_ad {
        check_azure(azure, known).map_err(|error| error.within("azureAd"))?;
    }
    Ok(check_proxy(&spec.proxy)?)
}

fn check_azure(azure: &AzureAd, known: &Known) -> Result<(), Rejected> {
    let given: Vec<&str> = [
        ("managedIdentity", azure.managed_identity.is_some()),
        ("oauth", azure.oauth.is_some()),
        ("sdk", azure.sdk.is_some()),
        ("workloadIdentity", azure.workload_identity.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, given)| given.then_some(name))
    .collect();
    match given.as_slice() {
        [] => {
            return Err(Rejected::new(
                "managedIdentity",
                "one of managedIdentity, oauth, sdk and workloadIdentity is needed",
            ));
        }
        [_] => {}
        [first, second, ..] => {
            return Err(Rejected::new(*first, format!("it and {second} exclude each other; remove one")));
        }
    }
    if let Some(identity) = &azure.managed_identity
        && identity.client_id.as_deref().unwrap_or_default().is_empty()
    {
        needs(known, Field::AzureDefaultIdentity, "managedIdentity.clientId")?;
    }
    if let Some(oauth) = &azure.oauth {
        needs(known, Field::AzureOAuth, "oauth")?;
        check_uuid("oauth.clientId", &oauth.client_id)?;
    }
    if azure.sdk.is_some() {
        needs(known, Field::AzureSdk, "sdk")?;
    }
    if let Some(identity) = &azure.workload_identity {
        needs(known, Field::AzureWorkloadIdentity, "workloadIdentity")?;
        check_uuid("workloadIdentity.clientId", &identity.client_id)?;
        check_uuid("workloadIdentity.tenantId", &identity.tenant_id)?;
    }
    Ok(())
}

fn check_uuid(field: &str, text: &str) -> Result<(), Rejected> {
    if is_uuid(text) { Ok(()) } else { Err(Rejected::new(field, format!("{text:?} is no UUID"))) }
}

/// The spellings of a UUID that upstream and Prometheus take: plain, in braces, as a URN, without dashes.
pub(crate) fn is_uuid(text: &str) -> bool {
    let plain = match text.len() {
        45 if text.get(..9).is_some_and(|urn| urn.eq_ignore_ascii_case("urn:uuid:")) => {
            text.get(9..).unwrap_or_default()
        }
        38 => text.get(1..37).unwrap_or_default(),
        _ => text,
    };
    match plain.len() {
        32 => plain.bytes().all(|byte| byte.is_ascii_hexdigit()),
        36 => plain
            .char_indices()
            .all(|(at, c)| if matches!(at, 8 | 13 | 18 | 23) { c == '-' } else { c.is_ascii_hexdigit() }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_the_spellings_that_upstream_takes() {
        let plain = "00000000-a12b-3c4d-e5f6-000000000000";
        for text in
            [plain.to_owned(), format!("{{{plain}}}"), format!("urn:uuid:{plain}"), plain.replace('-', "")]
        {
            assert!(is_uuid(&text), "{text}");
        }
        for text in ["", "x", "00000000-a12b-3c4d-e5f6-00000000000g", "00000000a-12b-3c4d-e5f6-000000000000"]
        {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
