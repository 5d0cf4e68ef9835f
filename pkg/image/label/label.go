// Package label has the labels by which the image of a package tells what is in
// it. It is below package image for those who must know of no file or network.
package label

// Uninstall is the label that tells the operator whether the package in an
// image can be uninstalled: true or false.
const Uninstall = "com.nvidia.skyhook.uninstall"

// CanUninstall reads [Uninstall] from the labels of an image. Where it is
// missing or has another value, told is false.
func CanUninstall(labels map[string]string) (can, told bool) {
	value := labels[Uninstall]
	return value == "true", value == "true" || value == "false"
}
