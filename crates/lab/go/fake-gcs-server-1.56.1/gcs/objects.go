package main

import (
	"bytes"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// The name under which fake-gcs-server answers to the XML API.
const host = "storage.googleapis.com"

// Google takes no part below this but the last one.
const leastPart = 5 << 20

type objects struct {
	fake   http.Handler
	bucket string

	mutex   sync.Mutex
	last    int
	uploads map[string]*upload
}

// upload is one in parts that is not complete.
type upload struct {
	object string
	parts  map[int][]byte
}

type failure struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, failure{Code: code, Message: message})
}

func answer(w http.ResponseWriter, status int, body any) {
	text, _ := xml.Marshal(body)
	w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
	w.WriteHeader(status)
	w.Write(append([]byte(xml.Header), text...))
}

func (o *objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	id := query.Get("uploadId")
	switch {
	case bucket != o.bucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	case r.Method == http.MethodPost && query.Has("uploads"):
		o.begin(w, object)
	case r.Method == http.MethodPut && id != "":
		o.part(w, r, id, query.Get("partNumber"))
	case r.Method == http.MethodPost && id != "":
		o.complete(w, r, id)
	case r.Method == http.MethodDelete && id != "":
		o.forget(id)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if o.write(w, object, body, r.Header.Get("X-Goog-If-Generation-Match")) {
			w.WriteHeader(http.StatusOK)
		}
	default:
		r.Host = host
		o.fake.ServeHTTP(w, r)
	}
}

func (o *objects) begin(w http.ResponseWriter, object string) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.last++
	id := strconv.Itoa(o.last)
	o.uploads[id] = &upload{object: object, parts: map[int][]byte{}}
	answer(w, http.StatusOK, struct {
		XMLName xml.Name `xml:"InitiateMultipartUploadResult"`
		Bucket  string
		Key     string
		ID      string `xml:"UploadId"`
	}{Bucket: o.bucket, Key: object, ID: id})
}

func (o *objects) part(w http.ResponseWriter, r *http.Request, id, number string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	upload, known := o.uploads[id]
	at, err := strconv.Atoi(number)
	if !known || err != nil || at < 1 {
		refuse(w, http.StatusNotFound, "NoSuchUpload", "The requested upload was not found.")
		return
	}
	upload.parts[at] = body
	w.Header().Set("ETag", etag(body))
	w.WriteHeader(http.StatusOK)
}

func (o *objects) forget(id string) *upload {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	upload := o.uploads[id]
	delete(o.uploads, id)
	return upload
}

func (o *objects) complete(w http.ResponseWriter, r *http.Request, id string) {
	var wanted struct {
		Parts []struct {
			PartNumber int
			ETag       string
		} `xml:"Part"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&wanted); err != nil {
		refuse(w, http.StatusBadRequest, "MalformedCompleteMultipartUploadRequest", err.Error())
		return
	}
	upload := o.forget(id)
	if upload == nil {
		refuse(w, http.StatusNotFound, "NoSuchUpload", "The requested upload was not found.")
		return
	}
	var whole bytes.Buffer
	for i, part := range wanted.Parts {
		bytes, known := upload.parts[part.PartNumber]
		if !known || etag(bytes) != part.ETag || part.PartNumber != i+1 {
			refuse(w, http.StatusBadRequest, "InvalidPart", fmt.Sprintf("part %d is not what was sent", part.PartNumber))
			return
		}
		if i+1 < len(wanted.Parts) && len(bytes) < leastPart {
			refuse(w, http.StatusBadRequest, "EntityTooSmall", fmt.Sprintf("part %d is too small", part.PartNumber))
			return
		}
		whole.Write(bytes)
	}
	if o.write(w, upload.object, whole.Bytes(), "") {
		answer(w, http.StatusOK, struct {
			XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
			Bucket  string
			Key     string
			ETag    string
		}{Bucket: o.bucket, Key: upload.object, ETag: w.Header().Get("ETag")})
	}
}

// write makes the object by the JSON API. If it is made, generation and ETag are among the headers; else the refusal was sent.
func (o *objects) write(w http.ResponseWriter, object string, body []byte, generation string) bool {
	query := url.Values{"uploadType": {"media"}, "name": {object}}
	if generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	target := "/upload/storage/v1/b/" + url.PathEscape(o.bucket) + "/o?" + query.Encode()
	request := httptest.NewRequest(http.MethodPost, target, bytes.NewReader(body))
	made := httptest.NewRecorder()
	o.fake.ServeHTTP(made, request)
	switch {
	case made.Code == http.StatusPreconditionFailed:
		refuse(w, made.Code, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
		return false
	case made.Code != http.StatusOK:
		refuse(w, made.Code, "InternalError", made.Body.String())
		return false
	}
	w.Header().Set("ETag", etag(body))
	w.Header().Set("X-Goog-Generation", "1")
	return true
}

func etag(body []byte) string {
	return fmt.Sprintf("%q", fmt.Sprintf("%x", md5.Sum(body)))
}
