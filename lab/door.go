package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"time"
)

// What callers ask a door for, in a line over TLS: to be connected to HOST:PORT, or how many addresses a name
// has there. The door answers with a line: DoorOpen, the number, or what went wrong.
const (
	DoorDial  = "dial "
	DoorCount = "count "
	DoorOpen  = "open"
)

// doorName is the name in the certificate of a door.
const doorName = "door"

// NewDoorKey returns a new key of a door and of who may call it, with its certificate, as PEM.
func NewDoorKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	made := x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{doorName}, KeyUsage: x509.KeyUsageDigitalSignature,
		NotAfter:    time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), // the key is thrown away with the door
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &made, &made, key.Public(), key)
	own, wrong := x509.MarshalECPrivateKey(key)
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: own})...), nil
}

// DoorTLS returns how a door and its callers prove to each other that they have the same key.
func DoorTLS(key []byte) (*tls.Config, error) {
	own, err := tls.X509KeyPair(key, key)
	if err != nil {
		return nil, err
	}
	alone := x509.NewCertPool()
	alone.AppendCertsFromPEM(key)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: alone,
		ClientCAs: alone, ClientAuth: tls.RequireAndVerifyClientCert, ServerName: doorName}, nil
}
