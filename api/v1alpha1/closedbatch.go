package v1alpha1

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Orders are orders of permits, as order,order: a list would take six times as
// much room in the status, which has little for many permits.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^[0-9]+(,[0-9]+)*$`
type Orders []int32

// String is the text of the orders in the status.
func (o Orders) String() string {
	list := make([]string, 0, len(o))
	for _, order := range o {
		list = append(list, strconv.FormatInt(int64(order), 10))
	}
	return strings.Join(list, ",")
}

// MarshalJSON writes one short text.
func (o Orders) MarshalJSON() ([]byte, error) { return json.Marshal(o.String()) }

// UnmarshalJSON reads what MarshalJSON wrote, and nothing from anything else: one status that cannot be read must not
// hide all other Skyhooks.
func (o *Orders) UnmarshalJSON(raw []byte) error {
	*o = nil
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*o, _ = parseOrders(text)
	}
	return nil
}

func parseOrders(text string) (Orders, bool) {
	var list Orders
	for part := range strings.SplitSeq(text, ",") {
		order, err := strconv.ParseInt(part, 10, 32)
		if err != nil {
			return nil, false
		}
		list = append(list, int32(order))
	}
	return list, true
}

// ClosedBatch is a batch that is over: size/bad, and :order,order of the
// permits that bad nodes of it still hold, which heal when they are complete.
// Size is the number of its nodes that succeeded or failed; bad is how many of
// them failed for good, or are gone.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^[0-9]+/[0-9]+(:[0-9]+(,[0-9]+)*)?$`
type ClosedBatch struct {
	// Size is the number of its nodes that succeeded or failed.
	Size int

	// Bad is how many of them failed for good.
	Bad int

	// Holding are the orders of the permits that bad nodes of it still hold.
	Holding Orders
}

// String is the text of the batch in the status.
func (b ClosedBatch) String() string {
	text := strconv.Itoa(b.Size) + "/" + strconv.Itoa(b.Bad)
	if len(b.Holding) == 0 {
		return text
	}
	return text + ":" + b.Holding.String()
}

// MarshalJSON writes the batch as one short text.
func (b ClosedBatch) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// UnmarshalJSON reads what MarshalJSON wrote. Anything else is a batch that does not count, as for Orders.
func (b *ClosedBatch) UnmarshalJSON(raw []byte) error {
	*b = ClosedBatch{}
	var text string
	_ = json.Unmarshal(raw, &text) // then it is empty
	numbers, holding, holds := strings.Cut(text, ":")
	size, bad, _ := strings.Cut(numbers, "/")
	var read ClosedBatch
	var errSize, errBad error
	read.Size, errSize = strconv.Atoi(size)
	read.Bad, errBad = strconv.Atoi(bad)
	ok := errSize == nil && errBad == nil
	if ok && holds {
		read.Holding, ok = parseOrders(holding)
	}
	if ok {
		*b = read
	}
	return nil
}
