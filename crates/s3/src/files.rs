//! s3s-fs, but for the reading of objects: it takes 4 KiB at a time from the disk, each with a change of threads, which is 140 MB/s with two
//! cores busy. A store that is slower than any real one makes whatever is measured with it a measurement of the store. And what is written goes
//! by the server's conduct.

use std::{
    collections::HashMap,
    io::SeekFrom,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use s3s::{
    S3, S3Request, S3Response, S3Result,
    dto::{
        AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
        CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CreateBucketInput,
        CreateBucketOutput, CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteBucketInput,
        DeleteBucketOutput, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput,
        ETag, GetBucketLocationInput, GetBucketLocationOutput, GetObjectInput, GetObjectOutput,
        HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListBucketsInput,
        ListBucketsOutput, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output,
        ListPartsInput, ListPartsOutput, PutObjectInput, PutObjectOutput, StreamingBlob, UploadPartCopyInput,
        UploadPartCopyOutput, UploadPartInput, UploadPartOutput,
    },
    s3_error,
};
use s3s_fs::FileSystem;
use tokio::{
    fs::File,
    io::{AsyncReadExt as _, AsyncSeekExt as _},
};
use tokio_util::io::ReaderStream;

use crate::{Conduct, Lie};

const AT_ONCE: usize = 256 << 10;

pub(crate) struct Files {
    pub(crate) files: FileSystem,
    /// Where they are.
    pub(crate) root: PathBuf,
    pub(crate) conduct: Conduct,
    /// The ETags of parts, by upload and number: s3s-fs completes an upload whatever the client believes to have sent.
    pub(crate) parts: Mutex<HashMap<(String, i32), ETag>>,
}

/// All that s3s-fs can do, as it does it.
macro_rules! files {
    ($($method:ident($input:ident) -> $output:ident;)*) => {
        #[async_trait::async_trait]
        impl S3 for Files {
            $(async fn $method(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                self.files.$method(request).await
            })*

            async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
                self.read(request).await
            }

            async fn list_objects_v2(
                &self,
                request: S3Request<ListObjectsV2Input>,
            ) -> S3Result<S3Response<ListObjectsV2Output>> {
                self.list(request).await
            }

            async fn put_object(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
                self.write(request).await
            }

            async fn upload_part(&self, request: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
                self.write_part(request).await
            }

            async fn complete_multipart_upload(
                &self,
                request: S3Request<CompleteMultipartUploadInput>,
            ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
                self.complete(request).await
            }
        }
    };
}

files! {
    create_bucket(CreateBucketInput) -> CreateBucketOutput;
    delete_bucket(DeleteBucketInput) -> DeleteBucketOutput;
    head_bucket(HeadBucketInput) -> HeadBucketOutput;
    get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput;
    list_buckets(ListBucketsInput) -> ListBucketsOutput;
    list_objects(ListObjectsInput) -> ListObjectsOutput;
    head_object(HeadObjectInput) -> HeadObjectOutput;
    copy_object(CopyObjectInput) -> CopyObjectOutput;
    delete_object(DeleteObjectInput) -> DeleteObjectOutput;
    delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput;
    create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput;
    upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput;
    list_parts(ListPartsInput) -> ListPartsOutput;
    abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput;
}

impl Files {
    /// s3s-fs says what the answer is, and has found that the object is one of its own; only its bytes are read here.
    async fn read(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let key = request.input.key.clone();
        let path = self.root.join(&request.input.bucket).join(&key);
        let range = request.input.range;
        let mut answer = self.files.get_object(request).await?;

        let gone = |error: std::io::Error| s3_error!(NoSuchKey, "{error}");
        let mut file = File::open(path).await.map_err(gone)?;
        let length = file.metadata().await.map_err(gone)?.len();
        let range = range.map_or(Ok(0..length), |range| range.check(length))?;
        file.seek(SeekFrom::Start(range.start)).await.map_err(gone)?;
        let mut wanted = range.end - range.start;
        if self.conduct.about(&key) == Some(Lie::Truncates) {
            wanted = wanted.saturating_sub(1);
            answer.output.content_length = i64::try_from(wanted).ok();
        }
        let bytes = ReaderStream::with_capacity(file.take(wanted), AT_ONCE);
        answer.output.body = Some(StreamingBlob::wrap(bytes));
        Ok(answer)
    }

    async fn list(
        &self,
        mut request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        if let Some(prefix) = self.conduct.listed_instead() {
            request.input.prefix = Some(prefix);
        }
        self.files.list_objects_v2(request).await
    }

    async fn write(&self, request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        let (bucket, key) = (request.input.bucket.clone(), request.input.key.clone());
        let mut answer = self.files.put_object(request).await?;
        self.acknowledged(&bucket, &key, &mut answer.output.e_tag).await?;
        Ok(answer)
    }

    async fn write_part(
        &self,
        request: S3Request<UploadPartInput>,
    ) -> S3Result<S3Response<UploadPartOutput>> {
        let key = request.input.key.clone();
        let part = (request.input.upload_id.clone(), request.input.part_number);
        let mut answer = self.files.upload_part(request).await?;
        if let Some(e_tag) = &answer.output.e_tag {
            self.parts().insert(part, e_tag.clone());
        }
        if self.conduct.about(&key) == Some(Lie::Mistakes) {
            answer.output.e_tag = Some(another());
        }
        Ok(answer)
    }

    async fn complete(
        &self,
        request: S3Request<CompleteMultipartUploadInput>,
    ) -> S3Result<S3Response<CompleteMultipartUploadOutput>> {
        let (bucket, key) = (request.input.bucket.clone(), request.input.key.clone());
        let upload = request.input.upload_id.clone();
        for part in request.input.multipart_upload.iter().flat_map(|upload| upload.parts.iter().flatten()) {
            let known = self.parts().get(&(upload.clone(), part.part_number.unwrap_or_default())).cloned();
            if known.is_some() && known != part.e_tag {
                return Err(s3_error!(InvalidPart));
            }
        }
        self.parts().retain(|(other, _), _| *other != upload);
        let mut answer = self.files.complete_multipart_upload(request).await?;
        self.acknowledged(&bucket, &key, &mut answer.output.e_tag).await?;
        Ok(answer)
    }

    fn parts(&self) -> MutexGuard<'_, HashMap<(String, i32), ETag>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An object is stored; what is left of it, and what is said about it, is a matter of conduct.
    async fn acknowledged(&self, bucket: &str, key: &str, e_tag: &mut Option<ETag>) -> S3Result<()> {
        let file = self.root.join(bucket).join(key);
        self.conduct.stored(key, &file).await.map_err(|error| s3_error!(InternalError, "{error}"))?;
        if self.conduct.about(key) == Some(Lie::Mistakes) {
            *e_tag = Some(another());
        }
        Ok(())
    }
}

/// The ETag of nothing that anybody has stored.
fn another() -> ETag {
    ETag::Strong("00000000000000000000000000000000".to_owned())
}
