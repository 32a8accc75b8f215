//! What an error of the store may be quoted with: the HTTP status, a well-known code, and what our own client says about the connection.
//!
//! Nothing else of an answer is repeated. `store.server` names any server, and messages end in the status of an object: a server's text
//! there would let a tenant read what only the operator's network reaches.

use std::{error::Error as StdError, fmt, io};

use object_store::client::{HttpError, HttpErrorKind};

use crate::error::{NO_BUCKET, NO_IDENTITY, NO_RIGHT, TRY_AGAIN, WRONG_CREDENTIALS};

/// The codes of S3, Google Cloud Storage, Azure, and the services that give credentials which are repeated. Whatever else a server sends is not.
const CODES: &[&str] = &[
    // S3, and what speaks it.
    "AccessDenied",
    "AccountProblem",
    "AllAccessDisabled",
    "AuthorizationHeaderMalformed",
    "BadDigest",
    "BucketAlreadyExists",
    "EntityTooLarge",
    "EntityTooSmall",
    "ExpiredToken",
    "IllegalLocationConstraintException",
    "InternalError",
    "InvalidAccessKeyId",
    "InvalidArgument",
    "InvalidBucketName",
    "InvalidDigest",
    "InvalidObjectState",
    "InvalidPart",
    "InvalidPartOrder",
    "InvalidRange",
    "InvalidRequest",
    "InvalidSecurity",
    "InvalidStorageClass",
    "InvalidToken",
    "InvalidURI",
    "KMSAccessDeniedException",
    "KMSDisabledException",
    "KMSNotFoundException",
    "MalformedXML",
    "MethodNotAllowed",
    "MissingContentLength",
    "NoSuchBucket",
    "NoSuchKey",
    "NoSuchUpload",
    "NotImplemented",
    "ObjectLocked",
    "OperationAborted",
    "PermanentRedirect",
    "PreconditionFailed",
    "QuotaExceeded",
    "RequestTimeTooSkewed",
    "RequestTimeout",
    "ServerSideEncryptionConfigurationNotFoundError",
    "ServiceUnavailable",
    "SignatureDoesNotMatch",
    "SlowDown",
    "TooManyRequests",
    "XAmzContentSHA256Mismatch",
    "XMinioStorageFull",
    "XMinioServerNotInitialized",
    // Google Cloud Storage.
    "AccountDisabled",
    "AuthenticationRequired",
    "ProjectPaymentRequired",
    "UserProjectMissing",
    "UserProjectAccessDenied",
    "UserRateLimitExceeded",
    // Azure Blob Storage.
    "AccountBeingCreated",
    "AccountIsDisabled",
    "AuthenticationFailed",
    "AuthorizationFailure",
    "AuthorizationPermissionMismatch",
    "AuthorizationProtocolMismatch",
    "AuthorizationServiceMismatch",
    "AuthorizationSourceIPMismatch",
    "BlobAlreadyExists",
    "BlobArchived",
    "BlobImmutableDueToPolicy",
    "BlobNotFound",
    "ContainerBeingDeleted",
    "ContainerDisabled",
    "ContainerNotFound",
    "InsufficientAccountPermissions",
    "InvalidAuthenticationInfo",
    "InvalidBlockList",
    "InvalidHeaderValue",
    "InvalidResourceName",
    "LeaseIdMissing",
    "NoAuthenticationInformation",
    "OperationTimedOut",
    "PublicAccessNotPermitted",
    "ServerBusy",
    // Services that give credentials.
    "ExpiredTokenException",
    "IDPCommunicationError",
    "IDPRejectedClaim",
    "InvalidIdentityToken",
    "MalformedPolicyDocument",
    "PackedPolicyTooLarge",
    "RegionDisabledException",
    "interaction_required",
    "invalid_client",
    "invalid_grant",
    "invalid_request",
    "invalid_resource",
    "invalid_scope",
    "unauthorized_client",
    "unsupported_grant_type",
];

/// What stores say to credentials that do not exist or do not belong together; S3 and Azure say it as if a right were missing.
const UNKNOWN: &[&str] = &[
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "InvalidToken",
    "ExpiredToken",
    "AuthenticationFailed",
    "InvalidAuthenticationInfo",
];
/// Azurite says so under the code that Azure has for a firewall that lets nobody in.
const AZURITE: &str = "Server failed to authenticate the request";

/// What services that give credentials say, with the status 400, to an identity that they do not accept.
const REFUSED: &[&str] = &["InvalidIdentityToken", "invalid_client", "invalid_grant", "unauthorized_client"];

/// Requests to the store itself whose refusals the client gives no kind, as it does with those of services that give credentials.
const WITHOUT_KIND: &[&str] = &["list request", "multipart request"];

/// Before the status in what the client says of an answer.
const STATUS: &str = "Server returned non-2xx status code: ";
/// Before an answer that has the status 200 and is an error all the same.
const ERROR_RESPONSE: &str = "Server returned error response: ";
/// The longest text of our own client that is repeated.
const LONGEST: usize = 200;

/// What our own code finds wrong with an answer.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Finding(pub(crate) &'static str);

/// An error, as far as it may be told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    cause: Cause,
    /// Of [`CODES`].
    code: Option<&'static str>,
    /// The number of an error of Microsoft's identity service: `AADSTS` and digits.
    aadsts: Option<String>,
    /// Whether the store itself was asked for something whose errors have no kind.
    is_of_the_store: bool,
    is_azurite: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Cause {
    /// The server answered with this status.
    Status(u16),
    /// The server answered 200 with an error in it.
    ErrorResponse,
    /// No answer came: the words of our own client, or of the file system.
    Own(String),
    /// An answer came that cannot be understood.
    Other,
}

impl Answer {
    pub(crate) fn of(error: &object_store::Error) -> Self {
        let whole = error.to_string();
        let is_of_the_store = WITHOUT_KIND.iter().any(|request| whole.contains(request));
        let said = innermost(error).to_string();
        let (cause, body) = if let Some((_, rest)) = said.split_once(STATUS) {
            (rest.get(..3).and_then(|it| it.parse().ok()).map_or(Cause::Other, Cause::Status), rest)
        } else if let Some((_, rest)) = said.split_once(ERROR_RESPONSE) {
            (Cause::ErrorResponse, rest)
        } else {
            (of_connection(error), "")
        };
        let words = || body.split(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        Self {
            cause,
            code: words().find_map(|word| CODES.iter().find(|code| **code == word).copied()),
            aadsts: words().find(|word| is_aadsts(word)).map(str::to_owned),
            is_of_the_store,
            is_azurite: body.contains(AZURITE),
        }
    }

    /// What to do about an answer that permission is denied.
    pub(crate) fn denied(&self) -> &'static str {
        let is_unknown = self.is_azurite || self.code.is_some_and(|code| UNKNOWN.contains(&code));
        if is_unknown { WRONG_CREDENTIALS } else { NO_RIGHT }
    }

    /// What to do, by the status and by who was asked.
    pub(crate) fn advice(&self) -> &'static str {
        let Cause::Status(status) = self.cause else { return TRY_AGAIN };
        let is = |codes: &[&str]| self.code.is_some_and(|code| codes.contains(&code));
        match (status, self.is_of_the_store) {
            (404, true) => NO_BUCKET,
            (401, true) => WRONG_CREDENTIALS,
            (403, true) => self.denied(),
            (401 | 403, false) => NO_IDENTITY,
            (400, _) if is(UNKNOWN) || self.is_azurite => WRONG_CREDENTIALS,
            (400, _) if is(REFUSED) => NO_IDENTITY,
            _ => TRY_AGAIN,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Status(status) => write!(f, "the server answers with HTTP status {status}")?,
            Cause::ErrorResponse => f.write_str("the server answers with an error")?,
            Cause::Own(text) => f.write_str(text)?,
            Cause::Other => f.write_str("the server's answer cannot be understood")?,
        }
        match (self.code, &self.aadsts) {
            (Some(code), Some(number)) => write!(f, " ({code}, {number})"),
            (Some(code), None) => write!(f, " ({code})"),
            (None, Some(number)) => write!(f, " ({number})"),
            (None, None) => Ok(()),
        }
    }
}

fn is_aadsts(word: &str) -> bool {
    let digits = word.strip_prefix("AADSTS").unwrap_or_default();
    (4..=8).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit())
}

/// What our own client, the file system or our own code says, when it is their word and not the server's.
fn of_connection(error: &object_store::Error) -> Cause {
    let mut link: &dyn StdError = error;
    loop {
        if let Some(http) = link.downcast_ref::<HttpError>() {
            let what = match http.kind() {
                HttpErrorKind::Connect => "the server cannot be reached",
                HttpErrorKind::Timeout => "the server does not answer in time",
                HttpErrorKind::Decode => "the server's answer cannot be decoded",
                _ => "the connection to the server failed",
            };
            return Cause::Own(format!("{what}: {}", bounded(&innermost(http).to_string())));
        }
        if let Some(own) = link.downcast_ref::<Finding>() {
            return Cause::Own(own.to_string());
        }
        if let Some(io) = link.downcast_ref::<io::Error>().filter(|io| io.raw_os_error().is_some()) {
            return Cause::Own(io.to_string());
        }
        if let Some(io) = link.downcast_ref::<io::Error>().filter(|io| io.get_ref().is_none()) {
            return Cause::Own(io.kind().to_string());
        }
        match link.source() {
            Some(source) => link = source,
            None => return Cause::Other,
        }
    }
}

/// One line of a length that a message can have.
fn bounded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect()
}

/// The last of the causes is the one that says something; the ones before repeat it around their own words.
fn innermost<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::of_store;

    fn denied(body: &str) -> String {
        let said = format!("{STATUS}403 Forbidden: {body}");
        let denied = object_store::Error::PermissionDenied { path: "db/x".into(), source: said.into() };
        of_store("s3://backups", "write", "db/x", &denied).to_string()
    }

    fn told(code: &str) -> String {
        denied(&format!("<Error>\n  <Code>{code}</Code>\n</Error>"))
    }

    #[test]
    fn credentials_that_nobody_has_are_told_from_a_right_that_is_missing() {
        for code in ["SignatureDoesNotMatch", "InvalidAccessKeyId", "AuthenticationFailed"] {
            assert!(told(code).ends_with("The credentials are wrong or missing"), "{}", told(code));
        }
        for code in ["AccessDenied", "AuthorizationPermissionMismatch", "AuthorizationFailure"] {
            assert!(told(code).contains("The credentials are valid, but may not do this"), "{}", told(code));
        }
        assert!(denied(&format!("AuthorizationFailure {AZURITE}")).ends_with(WRONG_CREDENTIALS));
    }

    /// The client gives no kind to a list that is refused, nor to an identity that is; both were once tried again for ever.
    #[test]
    fn what_the_client_gives_no_kind_is_told_by_who_was_asked_and_what_was_answered() {
        for (request, status, todo) in [
            ("list request", "404 Not Found: NoSuchBucket", NO_BUCKET),
            ("list request", "401 Unauthorized: AuthenticationRequired", WRONG_CREDENTIALS),
            ("list request", "403 Forbidden: InvalidAccessKeyId", WRONG_CREDENTIALS),
            ("list request", "403 Forbidden: AccessDenied", NO_RIGHT),
            ("list request", "503 Service Unavailable", TRY_AGAIN),
            ("token request", "401 Unauthorized: AADSTS700211", NO_IDENTITY),
            ("token request", "403 Forbidden: AccessDenied", NO_IDENTITY),
            ("token request", "400 Bad Request: InvalidIdentityToken", NO_IDENTITY),
            ("token request", "404 Not Found", TRY_AGAIN),
            ("put request", "400 Bad Request: InvalidPart", TRY_AGAIN),
        ] {
            let said = format!("Error performing {request}: {STATUS}{status}");
            let error = object_store::Error::Generic { store: "S3", source: said.into() };
            assert_eq!(Answer::of(&error).advice(), todo, "{request} {status}");
        }
    }

    #[test]
    fn nothing_but_status_and_known_codes_is_repeated() {
        let said = denied("<Code>AccessDenied</Code><Message>token hunter2 for AADSTS700211: x</Message>");
        assert_eq!(
            said,
            format!(
                "s3://backups: cannot write db/x: the server answers with HTTP status 403 (AccessDenied, AADSTS700211). {NO_RIGHT}"
            )
        );
        for source in ["hunter2".to_owned(), format!("{ERROR_RESPONSE}hunter2"), format!("{STATUS}hunter2")] {
            let error = object_store::Error::Generic { store: "S3", source: source.into() };
            let said = of_store("s3://backups", "list", "db", &error).to_string();
            assert!(!said.contains("hunter2"), "{said}");
        }
        let custom = io::Error::other("hunter2");
        let error = object_store::Error::Generic { store: "S3", source: Box::new(custom) };
        assert_eq!(Answer::of(&error).cause, Cause::Other);
    }

    #[test]
    fn the_words_of_the_file_system_are_told() {
        let full = io::Error::from_raw_os_error(28);
        let error = object_store::Error::Generic { store: "local", source: Box::new(full) };
        assert_eq!(Answer::of(&error).to_string(), "No space left on device (os error 28)");
    }
}
