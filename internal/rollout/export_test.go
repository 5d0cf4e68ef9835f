package rollout

// ContentOf is exported for tests.
var ContentOf = contentOf
