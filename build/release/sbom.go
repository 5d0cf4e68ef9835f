package release

import (
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/package-url/packageurl-go"
	spdxjson "github.com/spdx/tools-golang/json"
	spdx "github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/skyhook-operator/skyhook/build/images"
)

const (
	sbomExt = ".spdx.json"
	// unknown is how SPDX spells what nobody looked at.
	unknown = "NOASSERTION"
)

// subject is what a document is about, and what is in it.
type subject struct {
	name    string
	version string
	// purpose as SPDX calls it: CONTAINER or ARCHIVE.
	purpose string
	// file has the subject, if it is a file of the release; sha256 is that of the file, or of the image's manifest.
	file    string
	sha256  string
	purl    string
	license string

	programs []goProgram
	debian   []images.DebianFile
}

// goProgram is a binary and what it says about its modules.
type goProgram struct {
	name string
	info *debug.BuildInfo
}

// document builds an SPDX 2.3 document.
type document struct {
	v2_3.Document
	ids map[string]spdx.ElementID
}

// writeDocument writes what is in a subject: the subject, its programs and packages of Debian, and the modules of each
// program.
func writeDocument(file string, o Options, s subject) error {
	d := document{ids: map[string]spdx.ElementID{}, Document: v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: s.name + " " + s.version,
		// Has to be another one for each document. The same name in another release has another sum.
		DocumentNamespace: fmt.Sprintf("%s/spdx/%s-%s-%s", images.Source, url.PathEscape(path.Base(s.name)), s.version,
			s.sha256),
		CreationInfo: &v2_3.CreationInfo{
			Creators: []spdx.Creator{
				{CreatorType: "Tool", Creator: "skyhook-release-" + o.version},
				{CreatorType: "Organization", Creator: "Skyhook"},
			},
			Created: o.created.Format(time.RFC3339),
		},
	}}
	root := d.add(v2_3.Package{
		PackageName: s.name, PackageVersion: s.version, PackageFileName: s.file, PrimaryPackagePurpose: s.purpose,
		PackageChecksums: sha256Sum(s.sha256), PackageLicenseDeclared: s.license,
		PackageExternalReferences: packageURL(s.purl),
	})
	d.relate("DOCUMENT", "DESCRIBES", root)
	for _, program := range s.programs {
		d.addProgram(root, s.version, program)
	}
	for _, deb := range s.debian {
		id := d.add(v2_3.Package{
			PackageName: deb.Name, PackageVersion: deb.Version, PrimaryPackagePurpose: "INSTALL",
			PackageChecksums:       sha256Sum(deb.Sum),
			PackageLicenseDeclared: deb.License, PackageExternalReferences: packageURL(debianURL(deb)),
			PackageComment: "The checksum is that of the Debian package which the files were taken from.",
		})
		d.relate(root, "CONTAINS", id)
	}
	return writeFile(file, func(w io.Writer) error {
		return spdxjson.Write(&d.Document, w, spdxjson.Indent(" "), spdxjson.EscapeHTML(false))
	})
}

func (d *document) addProgram(root spdx.ElementID, version string, p goProgram) {
	main := d.add(v2_3.Package{
		PackageName: p.info.Path, PackageVersion: version, PackageFileName: p.name, PrimaryPackagePurpose: "APPLICATION",
		PackageLicenseDeclared:    "Apache-2.0",
		PackageExternalReferences: packageURL(moduleURL(p.info.Main.Path, version)),
	})
	d.relate(root, "CONTAINS", main)
	d.relate(main, "DEPENDS_ON", d.add(module("stdlib", p.info.GoVersion[len("go"):], "")))
	for _, dependency := range p.info.Deps {
		if dependency.Replace != nil {
			dependency = dependency.Replace
		}
		d.relate(main, "DEPENDS_ON", d.add(module(dependency.Path, dependency.Version, dependency.Sum)))
	}
}

// module of Go. Its checksum is none that SPDX knows: it is a hash over the hashes of the files.
func module(name, version, sum string) v2_3.Package {
	p := v2_3.Package{
		PackageName: name, PackageVersion: version, PrimaryPackagePurpose: "LIBRARY", PackageLicenseDeclared: unknown,
		PackageExternalReferences: packageURL(moduleURL(name, version)),
	}
	if sum != "" {
		p.PackageComment = "go.sum " + sum
	}
	return p
}

var notInIDs = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

// add adds a package once and returns its id. What nobody asserts is added to it.
func (d *document) add(p v2_3.Package) spdx.ElementID {
	key := p.PackageName + "@" + p.PackageVersion + "#" + p.PrimaryPackagePurpose
	if id, exists := d.ids[key]; exists {
		return id
	}
	// The number keeps apart what differs only in characters that ids cannot have.
	id := spdx.ElementID(fmt.Sprintf("Package-%d-%s", len(d.ids), notInIDs.ReplaceAllString(p.PackageName, "-")))
	d.ids[key] = id
	p.PackageSPDXIdentifier = id
	p.PackageDownloadLocation, p.PackageLicenseConcluded, p.PackageCopyrightText = unknown, unknown, unknown
	d.Packages = append(d.Packages, &p)
	return id
}

func (d *document) relate(a spdx.ElementID, how string, b spdx.ElementID) {
	d.Relationships = append(d.Relationships, &v2_3.Relationship{
		RefA: spdx.DocElementID{ElementRefID: a}, RefB: spdx.DocElementID{ElementRefID: b}, Relationship: how,
	})
}

func sha256Sum(hex string) []spdx.Checksum {
	return []spdx.Checksum{{Algorithm: spdx.SHA256, Value: hex}}
}

// packageURL refers to a package as scanners for vulnerabilities know it; an empty one to none.
func packageURL(purl string) []*v2_3.PackageExternalReference {
	if purl == "" {
		return nil
	}
	return []*v2_3.PackageExternalReference{{
		Category: spdx.CategoryPackageManager, RefType: spdx.TypePackageManagerPURL, Locator: purl,
	}}
}

func moduleURL(module, version string) string {
	namespace, name := path.Split(module)
	return packageurl.NewPackageURL(packageurl.TypeGolang, strings.TrimSuffix(namespace, "/"), name, version, nil,
		"").ToString()
}

func debianURL(deb images.DebianFile) string {
	qualifiers := packageurl.QualifiersFromMap(map[string]string{"arch": deb.Arch, "distro": deb.Distribution})
	vendor, _, _ := strings.Cut(deb.Distribution, "-")
	return packageurl.NewPackageURL(packageurl.TypeDebian, vendor, deb.Name, deb.Version, qualifiers, "").ToString()
}
