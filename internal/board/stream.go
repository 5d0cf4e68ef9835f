package board

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stuck is how long a page may take to read one message; it comes again by itself when it is alive.
const stuck = 30 * time.Second

// stream is a connection to one page.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// events sends what happens until the page is closed. A page that reads slowly gets fewer messages, each with all that
// changed meanwhile, and holds up nobody.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	page := s.source.Open(r.URL.Query().Get("skyhook"))
	defer page.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	st := stream{w, http.NewResponseController(w)}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		news := page.News()
		if st.send(news) != nil {
			return
		}
		if !paused(r.Context(), apart*time.Duration(max(1, len(news)))) { // also where what changed does not show
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-page.Changed():
		case <-beat.C:
			if st.send([]Event{{EventBeat, Beat{At: metav1.Now()}}}) != nil {
				return
			}
		}
	}
}

// paused waits, unless the connection ends before.
func paused(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (st stream) send(news []Event) error {
	for _, e := range news {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		if err := st.write(fmt.Sprintf("event: %s\ndata: %s\n\n", e.Name, data)); err != nil {
			return err
		}
	}
	return nil
}

// write sends at once.
func (st stream) write(text string) error {
	if err := st.control.SetWriteDeadline(time.Now().Add(stuck)); err != nil {
		return err
	}
	if _, err := st.w.Write([]byte(text)); err != nil {
		return err
	}
	return st.control.Flush()
}
