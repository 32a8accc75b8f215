//! The client of one endpoint, over HTTP/2.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};
use tonic::{Request, Response, Streaming, metadata::MetadataValue, transport::Channel};

use crate::{
    Added, Alarm, AlarmKind, ClusterId, Consistency, Downgrade, Endpoint, EtcdError, HashKv, Health,
    HealthStream, Member, MemberId, Membership, Result, Role, Status, Tls,
    health::{
        HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
        health_client::HealthClient,
    },
    pb::{
        self, AlarmRequest, AlarmType, AuthStatusRequest, CompactionRequest, DefragmentRequest,
        DowngradeRequest, HashKvRequest, MemberAddRequest, MemberListRequest, MemberPromoteRequest,
        MemberRemoveRequest, MemberUpdateRequest, MoveLeaderRequest, RangeRequest, ResponseHeader,
        StatusRequest, WatchCreateRequest, WatchRequest, alarm_request::AlarmAction, auth_client::AuthClient,
        cluster_client::ClusterClient, downgrade_request::DowngradeAction, kv_client::KvClient,
        lease_client::LeaseClient, maintenance_client::MaintenanceClient, watch_client::WatchClient,
        watch_request::RequestUnion,
    },
};

/// A member whose node is gone does not close its connections: a ping finds out. etcd closes connections that ping more often than
/// every 5 s (`--grpc-keepalive-min-time`), or at all while nothing is asked.
const PING_EVERY: Duration = Duration::from_secs(6);
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// What a stream may send until it is told that there is room again. With HTTP/2's own 64 KiB etcd waits for us after every second chunk of a
/// snapshot. What nobody reads of a stream is at most so much.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 2 << 20;

/// A key that nobody has: the empty byte. (An empty key is refused.)
const NOBODYS_KEY: &[u8] = &[0];
/// As beginning and end of a range: all keys.
const EVERY_KEY: &[u8] = &[0];
/// A fragment is cut after the event that fills it; one event is at most a request's size (`--max-request-bytes`).
const LARGEST_MESSAGE: usize = 64 << 20;

/// What a watch tells, as it is on the wire.
pub type EventStream = BoxStream<'static, Result<pb::WatchResponse>>;

/// The client of one endpoint. Clones share its connection.
#[derive(Clone)]
pub struct Client {
    url: Arc<str>,
    channel: Channel,
    deadline: Duration,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({})", self.url)
    }
}

impl Client {
    /// Connects to `url` (`https://db-1-0.db-peer.default.svc:2379`), within `deadline`; each call then has as much.
    pub async fn connect(url: &str, tls: Option<&Tls>, deadline: Duration) -> Result<Self> {
        let invalid =
            |error: tonic::transport::Error| EtcdError::Invalid { url: url.to_owned(), why: reason(&error) };
        let mut endpoint = Channel::from_shared(url.to_owned())
            .map_err(|error| EtcdError::Invalid { url: url.to_owned(), why: error.to_string() })?
            .connect_timeout(deadline)
            .http2_keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(false)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        if let Some(tls) = tls {
            endpoint = endpoint.tls_config(tls.config()).map_err(invalid)?;
        }
        match tokio::time::timeout(deadline, endpoint.connect()).await {
            Err(_) => Err(EtcdError::Unreachable(format!("no connection within {deadline:?}"))),
            Ok(Err(error)) => Err(EtcdError::local(&error)),
            Ok(Ok(channel)) => Ok(Self { url: url.into(), channel, deadline }),
        }
    }

    /// The same connection, with another deadline for each call.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        Self { deadline, ..self.clone() }
    }

    /// Reads, writes and transactions on the wire.
    pub fn kv(&self) -> KvClient<Channel> {
        KvClient::new(self.channel.clone())
    }

    /// Watches on the wire.
    pub fn watch(&self) -> WatchClient<Channel> {
        WatchClient::new(self.channel.clone())
    }

    /// Leases on the wire.
    pub fn lease(&self) -> LeaseClient<Channel> {
        LeaseClient::new(self.channel.clone())
    }

    /// Renews a lease once; a TTL of 0 says that there is no such lease.
    pub async fn keep_alive(&self, lease: i64) -> Result<pb::LeaseKeepAliveResponse> {
        let request = pb::LeaseKeepAliveRequest { id: lease };
        let mut leases = self.lease();
        self.call(async {
            let mut answers =
                leases.lease_keep_alive(stream::once(async move { request })).await?.into_inner();
            let first = answers.message().await?;
            first.map(Response::new).ok_or_else(|| tonic::Status::unavailable("the server ended the stream"))
        })
        .await
    }

    /// Snapshots, on the wire, and whatever else is not in [`Endpoint`].
    pub fn maintenance(&self) -> MaintenanceClient<Channel> {
        MaintenanceClient::new(self.channel.clone())
    }

    /// Every event of every key from `revision` on, in fragments of a few megabytes at most. The stream ends with its first error: also when
    /// the member loses its leader, for it might then tell nothing for ever. What etcd cancels comes as a message (`canceled`).
    pub async fn events(&self, revision: i64) -> Result<EventStream> {
        let create = WatchCreateRequest {
            key: EVERY_KEY.into(),
            range_end: EVERY_KEY.into(),
            start_revision: revision,
            progress_notify: true,
            fragment: true,
            ..WatchCreateRequest::default()
        };
        let create = WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
        // The requests' side stays open: its end would be the watch's.
        let mut request = Request::new(stream::once(async { create }).chain(stream::pending()));
        request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
        let mut watch = self.watch().max_decoding_message_size(LARGEST_MESSAGE);
        let events = within(self.deadline, watch.watch(request)).await?;
        let deadline = self.deadline;
        Ok(events.map_err(move |status| EtcdError::answered(&status, deadline)).boxed())
    }

    fn cluster(&self) -> ClusterClient<Channel> {
        ClusterClient::new(self.channel.clone())
    }

    /// A call that the wire's clients made, as one of ours: within the deadline, and with its errors told apart.
    pub async fn call<T>(&self, call: impl Future<Output = Result<Response<T>, tonic::Status>>) -> Result<T> {
        within(self.deadline, call).await
    }

    /// etcd is told as well how long we wait, so that it gives up too.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.deadline);
        request
    }
}

async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = Result<Response<T>, tonic::Status>>,
) -> Result<T> {
    match tokio::time::timeout(deadline, call).await {
        Err(_) => Err(EtcdError::Deadline(deadline)),
        Ok(Err(status)) => Err(EtcdError::answered(&status, deadline)),
        Ok(Ok(answer)) => Ok(answer.into_inner()),
    }
}

fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error| error.source()).last();
    last.map(ToString::to_string).unwrap_or_default()
}

#[async_trait]
impl Endpoint for Client {
    async fn status(&self) -> Result<Status> {
        let answer = self.call(self.maintenance().status(self.request(StatusRequest {}))).await?;
        Ok(status(answer))
    }

    async fn members(&self, consistency: Consistency) -> Result<Membership> {
        let request = MemberListRequest { linearizable: consistency == Consistency::Linearizable };
        let answer = self.call(self.cluster().member_list(self.request(request))).await?;
        Ok(membership(answer.header, answer.members))
    }

    async fn add_member(&self, peer_urls: &[String], role: Role) -> Result<Added> {
        let request = MemberAddRequest { peer_urls: peer_urls.to_vec(), is_learner: role == Role::Learner };
        let answer = self.call(self.cluster().member_add(self.request(request))).await?;
        Ok(Added {
            member: member(answer.member.unwrap_or_default()),
            membership: membership(answer.header, answer.members),
        })
    }

    async fn remove_member(&self, id: MemberId) -> Result<Membership> {
        let request = MemberRemoveRequest { id: id.0 };
        let answer = self.call(self.cluster().member_remove(self.request(request))).await?;
        Ok(membership(answer.header, answer.members))
    }

    async fn update_member(&self, id: MemberId, peer_urls: &[String]) -> Result<Membership> {
        let request = MemberUpdateRequest { id: id.0, peer_urls: peer_urls.to_vec() };
        let answer = self.call(self.cluster().member_update(self.request(request))).await?;
        Ok(membership(answer.header, answer.members))
    }

    async fn promote_member(&self, id: MemberId) -> Result<Membership> {
        let request = MemberPromoteRequest { id: id.0 };
        let answer = self.call(self.cluster().member_promote(self.request(request))).await?;
        Ok(membership(answer.header, answer.members))
    }

    async fn move_leader(&self, to: MemberId) -> Result<()> {
        let request = MoveLeaderRequest { target_id: to.0 };
        self.call(self.maintenance().move_leader(self.request(request))).await.map(drop)
    }

    async fn alarms(&self) -> Result<Vec<Alarm>> {
        let request = AlarmRequest { action: AlarmAction::Get.into(), ..AlarmRequest::default() };
        let answer = self.call(self.maintenance().alarm(self.request(request))).await?;
        let alarm = |alarm: pb::AlarmMember| {
            let kind = match alarm.alarm() {
                AlarmType::Nospace => AlarmKind::NoSpace,
                AlarmType::Corrupt => AlarmKind::Corrupt,
                AlarmType::None => return None,
            };
            Some(Alarm { member: MemberId(alarm.member_id), kind })
        };
        Ok(answer.alarms.into_iter().filter_map(alarm).collect())
    }

    async fn disarm(&self, alarm: Alarm) -> Result<()> {
        let kind = match alarm.kind {
            AlarmKind::NoSpace => AlarmType::Nospace,
            AlarmKind::Corrupt => AlarmType::Corrupt,
        };
        let request = AlarmRequest {
            action: AlarmAction::Deactivate.into(),
            member_id: alarm.member.0,
            alarm: kind.into(),
        };
        self.call(self.maintenance().alarm(self.request(request))).await.map(drop)
    }

    async fn defragment(&self, deadline: Duration) -> Result<()> {
        let mut request = Request::new(DefragmentRequest {});
        request.set_timeout(deadline);
        within(deadline, self.maintenance().defragment(request)).await.map(drop)
    }

    async fn hash_kv(&self, revision: i64) -> Result<HashKv> {
        self.hash_kv_within(revision, self.deadline).await
    }

    async fn hash_kv_within(&self, revision: i64, deadline: Duration) -> Result<HashKv> {
        let mut request = Request::new(HashKvRequest { revision });
        request.set_timeout(deadline);
        let answer = within(deadline, self.maintenance().hash_kv(request)).await?;
        Ok(HashKv {
            hash: answer.hash,
            compact_revision: answer.compact_revision,
            hash_revision: Some(answer.hash_revision).filter(|revision| *revision != 0),
        })
    }

    async fn downgrade(&self, what: Downgrade<'_>) -> Result<String> {
        let (action, version) = match what {
            Downgrade::Validate(version) => (DowngradeAction::Validate, version),
            Downgrade::Enable(version) => (DowngradeAction::Enable, version),
            Downgrade::Cancel => (DowngradeAction::Cancel, ""),
        };
        let request = DowngradeRequest { action: action.into(), version: version.to_owned() };
        Ok(self.call(self.maintenance().downgrade(self.request(request))).await?.version)
    }

    async fn probe(&self, consistency: Consistency) -> Result<i64> {
        let request = RangeRequest {
            key: NOBODYS_KEY.into(),
            count_only: true,
            serializable: consistency == Consistency::Serializable,
            ..RangeRequest::default()
        };
        let answer = self.call(self.kv().range(self.request(request))).await?;
        Ok(answer.header.unwrap_or_default().revision)
    }

    async fn compact(&self, revision: i64) -> Result<()> {
        let request = CompactionRequest { revision, physical: true };
        self.call(self.kv().compact(self.request(request))).await.map(drop)
    }

    async fn auth_enabled(&self) -> Result<bool> {
        let mut auth = AuthClient::new(self.channel.clone());
        Ok(self.call(auth.auth_status(self.request(AuthStatusRequest {}))).await?.enabled)
    }

    fn watch_health(&self) -> HealthStream {
        let watching = Watching::Opening(HealthClient::new(self.channel.clone()), self.deadline);
        stream::unfold(watching, Watching::next).boxed()
    }
}

/// A health stream: it says nothing after its first error.
enum Watching {
    Opening(HealthClient<Channel>, Duration),
    Open(Streaming<HealthCheckResponse>, Duration),
    Over,
}

impl Watching {
    async fn next(self) -> Option<(Result<Health>, Self)> {
        let (mut stream, deadline) = match self {
            Self::Opening(mut client, deadline) => {
                let everything = HealthCheckRequest { service: String::new() };
                match within(deadline, client.watch(everything)).await {
                    Ok(stream) => (stream, deadline),
                    Err(error) => return Some((Err(error), Self::Over)),
                }
            }
            Self::Open(stream, deadline) => (stream, deadline),
            Self::Over => return None,
        };
        let error = match stream.message().await {
            Ok(Some(answer)) => {
                let health = match answer.status() {
                    ServingStatus::Serving => Health::Serving,
                    _ => Health::NotServing,
                };
                return Some((Ok(health), Self::Open(stream, deadline)));
            }
            Ok(None) => EtcdError::Broken("the server ended the stream".into()),
            Err(status) => EtcdError::answered(&status, deadline),
        };
        Some((Err(error), Self::Over))
    }
}

fn membership(header: Option<ResponseHeader>, members: Vec<pb::Member>) -> Membership {
    let header = header.unwrap_or_default();
    Membership {
        cluster: ClusterId(header.cluster_id),
        told_by: MemberId(header.member_id),
        raft_term: header.raft_term,
        members: members.into_iter().map(member).collect(),
    }
}

fn member(member: pb::Member) -> Member {
    Member {
        id: MemberId(member.id),
        name: member.name,
        peer_urls: member.peer_urls,
        client_urls: member.client_urls,
        role: role(member.is_learner),
    }
}

fn role(is_learner: bool) -> Role {
    if is_learner { Role::Learner } else { Role::Voter }
}

fn status(answer: pb::StatusResponse) -> Status {
    let header = answer.header.unwrap_or_default();
    let downgrade = answer.downgrade_info.filter(|downgrade| downgrade.enabled);
    Status {
        cluster: ClusterId(header.cluster_id),
        member: MemberId(header.member_id),
        version: answer.version,
        role: role(answer.is_learner),
        leader: Some(MemberId(answer.leader)).filter(|leader| leader.0 != 0),
        raft_term: answer.raft_term,
        raft_index: answer.raft_index,
        raft_applied_index: answer.raft_applied_index,
        revision: header.revision,
        db_size: answer.db_size,
        db_size_in_use: answer.db_size_in_use,
        db_size_quota: Some(answer.db_size_quota).filter(|quota| *quota != 0),
        storage_version: Some(answer.storage_version).filter(|version| !version.is_empty()),
        downgrade_target: downgrade.map(|downgrade| downgrade.target_version),
        errors: answer.errors,
    }
}
