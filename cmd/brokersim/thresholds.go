package main

import (
	"brokersim/model"
	"brokersim/scenarios"
	"brokersim/sim/stat"
)

// judge holds a result against its thresholds. A share of the attempts gets the
// interval that the study knows.
func judge(expects []scenarios.Expect, study *model.Study, result *model.Result) []model.ThresholdMark {
	marks := []model.ThresholdMark{}
	for _, e := range expects {
		mark := e.Eval(result)
		if share, ok := shareOf(e, study); ok {
			mark.Lo, mark.Hi, mark.Passed = &share.Lo, &share.Hi, nil
			if holds := e.Holds(share.Lo); holds == e.Holds(share.Hi) {
				mark.Passed = &holds
			}
		}
		marks = append(marks, mark)
	}
	return marks
}

// shareOf is the interval of fraction(OUTCOME).
func shareOf(e scenarios.Expect, study *model.Study) (stat.Interval, bool) {
	if e.Metric != "fraction" {
		return stat.Interval{}, false
	}
	known := false
	for _, name := range model.AttemptClassNames() {
		known = known || name == e.Of
	}
	if !known {
		return stat.Interval{}, false
	}
	share := study.Fraction(func(c model.AttemptClass) bool { return c.String() == e.Of })
	return share, share.OK()
}
