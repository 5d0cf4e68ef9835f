package v1alpha1

import (
	"encoding/json"
	"strconv"
	"strings"
)

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
	Holding []int32
}

// String is the text of the batch in the status.
func (b ClosedBatch) String() string {
	text := strconv.Itoa(b.Size) + "/" + strconv.Itoa(b.Bad)
	if len(b.Holding) == 0 {
		return text
	}
	orders := make([]string, 0, len(b.Holding))
	for _, order := range b.Holding {
		orders = append(orders, strconv.FormatInt(int64(order), 10))
	}
	return text + ":" + strings.Join(orders, ",")
}

// MarshalJSON writes the batch as one short text: the status has room for the permits only once.
func (b ClosedBatch) MarshalJSON() ([]byte, error) { return json.Marshal(b.String()) }

// UnmarshalJSON reads what MarshalJSON wrote. Anything else is a batch that does not count: one status that cannot be
// read must not hide all other Skyhooks.
func (b *ClosedBatch) UnmarshalJSON(raw []byte) error {
	*b = ClosedBatch{}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	numbers, holding, holds := strings.Cut(text, ":")
	size, bad, _ := strings.Cut(numbers, "/")
	var read ClosedBatch
	var errSize, errBad error
	read.Size, errSize = strconv.Atoi(size)
	read.Bad, errBad = strconv.Atoi(bad)
	if errSize != nil || errBad != nil {
		return nil
	}
	if holds {
		for part := range strings.SplitSeq(holding, ",") {
			order, err := strconv.ParseInt(part, 10, 32)
			if err != nil {
				return nil
			}
			read.Holding = append(read.Holding, int32(order))
		}
	}
	*b = read
	return nil
}
