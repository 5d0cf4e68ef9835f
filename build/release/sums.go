package release

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeSums writes the checksums of all files in dir, as "sha256sum --check" reads them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, entry := range entries {
		sum, err := fileSum(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sum, entry.Name())
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(lines.String()), 0o644)
}

// verifySums fails unless all files that SHA256SUMS names are in dir as they were made.
func verifySums(dir string) error {
	list, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return fmt.Errorf("%s is no release: %w", dir, err)
	}
	for line := range strings.Lines(string(list)) {
		want, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sum, err := fileSum(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if hex.EncodeToString(sum) != want {
			return fmt.Errorf("%s is not the file that %s names: make the release again", file, sumsFile)
		}
	}
	return nil
}

func fileSum(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hash.Sum(nil), err
}
