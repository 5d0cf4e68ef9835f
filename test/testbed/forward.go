//go:build linux

package testbed

import (
	"context"
	"io"
	"log"
	"net"
)

// forward passes every connection that l accepts on to an address inside the namespace, until l is closed.
func forward(l net.Listener, network *netns, address string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			log.Printf("forward to %s ends: %v", address, err)
			return
		}
		go relay(conn, network, address)
	}
}

func relay(client net.Conn, network *netns, address string) {
	server, err := network.dial(context.Background(), "tcp4", address)
	if err != nil {
		log.Printf("forward to %s: %v", address, err)
		closeQuietly(client)
		return
	}
	splice(client, server)
}

// splice joins two connections until the server side ends.
func splice(client, server net.Conn) {
	defer closeQuietly(server)
	defer closeQuietly(client)
	go pump(server, client)
	pump(client, server)
}

// pump copies until the source ends and tells the other side, which may still have something to say.
func pump(dst, src net.Conn) {
	_, err := io.Copy(dst, src)
	if half, ok := dst.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	closeQuietly(dst)
}
