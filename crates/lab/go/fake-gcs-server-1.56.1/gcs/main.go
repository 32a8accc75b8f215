// Command gcs is fake-gcs-server with what it lacks of Google's XML API, by which our client writes: objects in one piece or in parts, the
// condition that an object is new, and the refusal of whoever shows no credentials. Objects themselves are written by its own JSON API.
//
// It says on which address it listens, and ends when its standard input does.
package main

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	bucket := flag.String("bucket", "backups", "the one bucket that there is")
	account := flag.String("account", "", "file with the public key of a service account, as PEM")
	token := flag.String("token", "", "a token that is accepted as it is")
	flag.Parse()
	if err := serve(*listen, *bucket, *account, *token); err != nil {
		log.Fatal(err)
	}
}

func serve(listen, bucket, account, token string) error {
	fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, PublicHost: host})
	if err != nil {
		return err
	}
	fake.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: bucket})
	door := door{token: token}
	if account != "" {
		if door.account, err = publicKey(account); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		// Whoever started it is gone when this ends.
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	objects := &objects{fake: fake.HTTPHandler(), bucket: bucket, uploads: map[string]*upload{}}
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !isBearer || !door.opens(given) {
			refuse(w, http.StatusUnauthorized, "AuthenticationRequired", "Authentication required.")
			return
		}
		objects.ServeHTTP(w, r)
	}))
}

func publicKey(file string) (*rsa.PublicKey, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New(file + " is not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	account, isRSA := key.(*rsa.PublicKey)
	if !isRSA {
		return nil, errors.New(file + " is not an RSA key")
	}
	return account, nil
}
