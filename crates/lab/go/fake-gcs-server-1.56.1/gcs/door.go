package main

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// door knows who may come in: whoever has the token, and the service account that signs its own.
type door struct {
	account *rsa.PublicKey
	token   string
}

func (d door) opens(given string) bool {
	if d.token != "" && given == d.token {
		return true
	}
	return d.account != nil && d.signed(given)
}

// signed says whether the account made this token (a JWT, RS256) and it is not over.
func (d door) signed(given string) bool {
	parts := strings.Split(given, ".")
	if len(parts) != 3 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(d.account, crypto.SHA256, digest[:], signature) != nil {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Exp   int64  `json:"exp"`
		Scope string `json:"scope"`
	}
	if err != nil || json.Unmarshal(text, &claims) != nil {
		return false
	}
	return time.Now().Unix() < claims.Exp && strings.HasPrefix(claims.Scope, "https://www.googleapis.com/auth/")
}
