package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRender(t *testing.T) {
	for _, c := range []struct{ name, screen, want string }{
		{"nothing", "", ""},
		{"a text", "  a <b>", `<text x="16.8" y="15" textLength="42">a &lt;b&gt;</text>`},
		{
			"what is aligned stays where it is", "a b   c", `<text x="0" y="15" textLength="25.2">a b</text>` +
				`<text x="50.4" y="15" textLength="8.4">c</text>`,
		},
		{
			"looks", "\x1b[1;32mok\x1b[m \x1b[2mq quits\x1b[m", `<text class="c2 b" x="0" y="15" textLength="16.8">ok</text>` +
				`<text class="f" x="25.2" y="15" textLength="58.8">q quits</text>`,
		},
		{
			"bars", "\x1b[32m██\x1b[31m▓\x1b[36m▒\x1b[m░ 1", `<rect class="k c2" x="0" y="4" width="16.8" height="13"/>` +
				`<rect class="k c1" x="16.8" y="4" width="8.4" height="13"/><rect class="k m c6" x="25.2" y="4" width="8.4" height="13"/>` +
				`<rect class="k l" x="33.6" y="4" width="8.4" height="13"/><text x="50.4" y="15" textLength="8.4">1</text>`,
		},
		{"behind wide letters", "漢字  a", `<text x="0" y="15" textLength="33.6">漢字</text><text x="50.4" y="15" textLength="8.4">a</text>`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, render(c.screen)[0]); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestPicture shows each frame for its time, each line once, and the last frame where nothing moves.
func TestPicture(t *testing.T) {
	got := picture([]frame{{"$ x", time.Second}, {"$ x\ny", time.Second}, {"$ x\ny", 2 * time.Second}, {"$ x\nz", time.Second}})
	for _, want := range []string{
		"animation:s 5s steps(1,end) infinite", "\n0%{transform:translateX(0px)}\n20%{transform:translateX(-775.2px)}\n80%{transform:translateX(-1550.4px)}\n",
		".s{transform:translateX(-1550.4px);", "@media(prefers-reduced-motion:reduce){.s{animation:none}}",
		`<g transform="translate(1550.4)"><use href="#l0" y="0"/><use href="#l2" y="20"/></g>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if n := strings.Count(got, ">$ x</text>"); n != 1 {
		t.Errorf("a line is there %d times", n)
	}
}

// TestSession is the whole of it: the same each time, small, complete in itself, with a failure, and complete in the end.
func TestSession(t *testing.T) {
	frames, err := session()
	if err != nil {
		t.Fatal(err)
	}
	failed := false
	for _, f := range frames {
		failed = failed || strings.Contains(f.text, "1 erroring")
		if strings.Contains(f.text, " more lines") || strings.Count(f.text, "\n") >= rows {
			t.Errorf("too long for the terminal:\n%s", f.text)
		}
	}
	if !failed || !strings.Contains(frames[len(frames)-1].text, "12 complete") {
		t.Error("no node fails, or the end is not the end")
	}
	got := picture(frames)
	again, err := session()
	if err != nil || picture(again) != got {
		t.Errorf("another time it is another one; error %v", err)
	}
	const most = 150 << 10
	if len(got) > most {
		t.Errorf("%d bytes, more than %d", len(got), most)
	}
	outside := []string{"url(", "@import", "<script", "<image", "<foreignObject", `href="h`}
	for _, other := range outside {
		if strings.Contains(got, other) {
			t.Errorf("it has %s, and GitHub shows no picture that needs anything else", other)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(got)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
