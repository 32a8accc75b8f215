//! s3s-fs, but for the reading of objects: it takes 4 KiB at a time from the disk, each with a change of threads, which is 140 MB/s with two
//! cores busy. A store that is slower than any real one makes whatever is measured with it a measurement of the store.

use std::{io::SeekFrom, path::PathBuf};

use s3s::{
    S3, S3Request, S3Response, S3Result,
    dto::{
        AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput,
        CompleteMultipartUploadOutput, CopyObjectInput, CopyObjectOutput, CreateBucketInput,
        CreateBucketOutput, CreateMultipartUploadInput, CreateMultipartUploadOutput, DeleteBucketInput,
        DeleteBucketOutput, DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput,
        GetBucketLocationInput, GetBucketLocationOutput, GetObjectInput, GetObjectOutput, HeadBucketInput,
        HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListBucketsInput, ListBucketsOutput,
        ListObjectsInput, ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, ListPartsInput,
        ListPartsOutput, PutObjectInput, PutObjectOutput, StreamingBlob, UploadPartCopyInput,
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

const AT_ONCE: usize = 256 << 10;

pub(crate) struct Files {
    pub(crate) files: FileSystem,
    /// Where they are.
    pub(crate) root: PathBuf,
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
    list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output;
    head_object(HeadObjectInput) -> HeadObjectOutput;
    put_object(PutObjectInput) -> PutObjectOutput;
    copy_object(CopyObjectInput) -> CopyObjectOutput;
    delete_object(DeleteObjectInput) -> DeleteObjectOutput;
    delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput;
    create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput;
    upload_part(UploadPartInput) -> UploadPartOutput;
    upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput;
    list_parts(ListPartsInput) -> ListPartsOutput;
    complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput;
    abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput;
}

impl Files {
    /// s3s-fs says what the answer is, and has found that the object is one of its own; only its bytes are read here.
    async fn read(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        let path = self.root.join(&request.input.bucket).join(&request.input.key);
        let range = request.input.range;
        let mut answer = self.files.get_object(request).await?;

        let gone = |error: std::io::Error| s3_error!(NoSuchKey, "{error}");
        let mut file = File::open(path).await.map_err(gone)?;
        let length = file.metadata().await.map_err(gone)?.len();
        let range = range.map_or(Ok(0..length), |range| range.check(length))?;
        file.seek(SeekFrom::Start(range.start)).await.map_err(gone)?;
        let bytes = ReaderStream::with_capacity(file.take(range.end - range.start), AT_ONCE);
        answer.output.body = Some(StreamingBlob::wrap(bytes));
        Ok(answer)
    }
}
