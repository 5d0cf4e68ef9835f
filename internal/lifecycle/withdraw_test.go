package lifecycle_test

import (
	"time"

	"github.com/skyhook-operator/skyhook/internal/lifecycle"
	"github.com/skyhook-operator/skyhook/internal/record"
)

// typo is a version whose image does not exist, where 1.0 was meant.
const typo id = "a@9.0"

// withdrawn is about a version that the spec no longer wants although nothing of it ever ran.
var withdrawn = []row{
	when("it is installed for the first time: nothing is known to have begun",
		spec(pkg(a)), want(apply.inProgress(a).anew(), apply.start(a), is(inProgress))),
	when("the version is corrected: its pod ends first",
		spec(pkg(a).uninstall(on)), kept(pkg(typo).def("typo").uninstall(on)),
		node(apply.erroring(typo).def("typo").reason("ErrImagePull").untouched()), pods(apply.stuck(typo)),
		want(apply.delete(typo), wait(a, waitingForPodToEnd), is(inProgress))),
	when("it is still being deleted",
		spec(pkg(a).uninstall(on)), node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		pods(apply.stuck(typo).terminating()),
		want(wait(a, waitingForPodToEnd), is(inProgress))),
	when("it is gone without having begun: forgotten, and the right version is applied",
		spec(pkg(a).uninstall(on)), kept(pkg(typo).def("typo").uninstall(on)),
		node(apply.erroring(typo).def("typo").reason("ErrImagePull").untouched()), wentUnbegun(apply.stuck(typo)),
		want(apply.inProgress(a).anew(), remove(typo), apply.start(a), is(inProgress))),
	when("the API server refused its pod: the same",
		spec(pkg(a).uninstall(on)), node(apply.erroring(typo).reason("PodRejected").unbegun()),
		want(apply.inProgress(a).anew(), remove(typo), apply.start(a), is(inProgress))),
	when("its pod is gone, and nobody saw how: it may be there, and is uninstalled as any other",
		spec(pkg(a).uninstall(on, auto)), kept(pkg(typo).def("typo").uninstall(on, auto)),
		node(apply.erroring(typo).def("typo").reason("ErrImagePull").untouched()),
		want(uninstall.inProgress(typo).anew().def("typo"), uninstall.start(typo).as("typo"), wait(a, waitingForUninstall), is(inProgress))),
	when("the pod of another run tells nothing",
		spec(pkg(a).uninstall(on, auto)), kept(pkg(typo).def("typo").uninstall(on, auto)),
		node(apply.erroring(typo).def("typo").reason("ErrImagePull").untouched()), wentUnbegun(apply.stuck(typo).run("r0")),
		want(uninstall.inProgress(typo).anew().def("typo"), uninstall.start(typo).as("typo"), wait(a, waitingForUninstall), is(inProgress))),
	when("it begins in the last moment: uninstalled as any other",
		spec(pkg(a).uninstall(on, auto)), kept(pkg(typo).def("typo").uninstall(on, auto)),
		node(apply.erroring(typo).def("typo").reason("ErrImagePull").untouched()), pods(apply.running(typo).begun()),
		want(apply.delete(typo), wait(typo, waitingForPodToEnd), wait(a, waitingForUninstall), is(erroring))),
	when("it began, and a record of an earlier operator does not tell: uninstalled as any other",
		spec(pkg(a).uninstall(on, auto)), kept(pkg(typo).def("typo").uninstall(on, auto)),
		node(apply.erroring(typo).def("typo").reason("ErrImagePull")), wentUnbegun(apply.stuck(typo)),
		want(uninstall.inProgress(typo).anew().def("typo"), uninstall.start(typo).as("typo"), wait(a, waitingForUninstall), is(inProgress))),
	when("the package is removed",
		spec(pkg(b)), kept(pkg(typo).def("typo").uninstall(on)),
		node(config.complete(b), apply.erroring(typo).def("typo").reason("ErrImagePull").untouched()), wentUnbegun(apply.stuck(typo)),
		want(remove(typo), is(complete), returned)),
	when("its uninstall is asked for",
		spec(pkg(typo).uninstall(on, asked)), node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		wentUnbegun(apply.stuck(typo)),
		want(remove(typo), is(complete), returned)),
	when("the Skyhook is deleted",
		spec(pkg(typo).uninstall(on)), deleting, node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		pods(apply.stuck(typo)),
		want(apply.delete(typo), wait(typo, waitingForPodToEnd), is(inProgress))),
	when("the Skyhook is deleted, and the pod is gone",
		spec(pkg(typo).uninstall(on)), deleting, node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		wentUnbegun(apply.stuck(typo)),
		want(remove(typo), is(complete), returned)),
	when("paused: it is forgotten, and nothing starts",
		spec(pkg(a).uninstall(on)), pausedNode, node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		wentUnbegun(apply.stuck(typo)),
		want(remove(typo), nodeWait(reasonPaused), tell(reasonPaused), is(paused))),
	when("paused, and still wanted: that its pod never began is noted",
		spec(pkg(typo).uninstall(on)), pausedNode, node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		wentUnbegun(apply.stuck(typo)),
		want(noted(typo), nodeWait(reasonPaused), tell(reasonPaused), is(paused))),
	when("disabled: the same",
		spec(pkg(a).uninstall(on)), disabledNode, node(apply.erroring(typo).reason("ErrImagePull").untouched()),
		wentUnbegun(apply.stuck(typo)),
		want(remove(typo), nodeWait(reasonDisabled), tell(reasonDisabled), is(disabled), returned)),
	when("an older version is installed, and wanted again: it is there",
		spec(pkg(a).uninstall(on)), node(config.complete(a), upgrade.erroring(typo).reason("ErrImagePull").untouched().since(-second)),
		wentUnbegun(upgrade.stuck(typo)),
		want(remove(typo), is(complete), returned)),
	when("an older version is installed, and a newer one is wanted: upgrade",
		spec(pkg("a@2.0").uninstall(on)),
		node(config.complete(a), upgrade.erroring(typo).reason("ErrImagePull").untouched().since(-second)),
		wentUnbegun(upgrade.stuck(typo)),
		want(upgrade.inProgress("a@2.0").anew(), remove(typo), upgrade.start("a@2.0"), is(inProgress))),
	when("an older version is installed, and the Skyhook is deleted: that one is uninstalled",
		spec(pkg(typo).uninstall(on)), kept(pkg(a).def("old").uninstall(on)), deleting,
		node(config.complete(a).def("old"), upgrade.erroring(typo).reason("ErrImagePull").untouched().since(-second)),
		wentUnbegun(upgrade.stuck(typo)),
		want(uninstall.inProgress(a).anew().def("old"), remove(typo), uninstall.start(a).as("old"), is(inProgress))),
	when("the node gives it up: nothing of it is looked at",
		spec(pkg(b)), abandoned, node(config.complete(b), apply.erroring(typo).untouched()),
		want(is(complete), returned)),
}

func (e entry) untouched() entry { return e.but(func(e *record.Entry) { e.Untouched = true }) }

// unbegun: its last pod is known never to have begun.
func (e entry) unbegun() entry {
	return e.untouched().but(func(e *record.Entry) { e.RejectedAt = at(-time.Minute) })
}

func (p pod) begun() pod { p.Begun = true; return p }

func noted(i id) words { return "noted " + words(i) }

// wentUnbegun: pods that went without having begun.
func wentUnbegun(list ...pod) part {
	return gate(func(o *lifecycle.Observation) { o.Unbegun = livePods(list...) })
}
