package agent_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// catalogue says which test covers each behaviour that users of this API know
// from their hosts. The numbers are those of the list of behaviours that the
// project started from; the key is a folder of this repository, the values are
// tests in it, with the row of a table after a slash.
var catalogue = map[string]map[string][]int{
	"internal/agent": {
		"TestDontWriteLogs":                                              {1, 2, 62, 63, 65, 121},
		"TestStepLogsAreSentToOutputsAndLogFile":                         {10, 12, 44, 64},
		"TestLargeLinesAreNotSplit":                                      {8},
		"TestReapOldLogs":                                                {45, 66, 122},
		"TestInterruptAppliesAllCommands":                                {7, 47, 49, 52, 54},
		"TestInterruptIsntRunWhenItsFlagIsThere":                         {48},
		"TestInterruptFailuresRemoveFlag":                                {50, 53},
		"TestSigtermWhileRebootingPreservesTheFlag":                      {51},
		"TestInterruptNoopMakesTheFlagFile":                              {55, 123},
		"TestInterruptBootstrapsCopyDirBeforeRunning":                    {18},
		"TestLegacyFormsReachTheSameModes":                               {56, 79, 80},
		"TestStepsRunInOrderOnTheHost":                                   {12},
		"TestRealExitCodesDecide":                                        {13},
		"TestRunStepReplacesEnvironmentVariables":                        {14},
		"TestRunStepPrintsAllMissingEnvironmentVariables":                {15},
		"TestSkipRules/skip_steps_that_have_flags":                       {16, 38, 57},
		"TestSkipRules/steps_that_have_flags_arent_skipped_when_run_set": {39, 57},
		"TestSkipRules/self_managed_idempotency_runs_when_flag_exists":   {16, 46},
		"TestSkipRules/config_always_runs":                               {16},
		"TestSkipRules/uninstall_always_runs":                            {16},
		"TestOnlyTheDoneStepIsSkipped":                                   {38},
		"TestSameStepsDifferentArgsArentSkipped":                         {37},
		"TestAnyCheckFailingFailsRunButAllChecksRun":                     {17, 22, 42, 43},
		"TestChecksAreNeverSkipped":                                      {17},
		"TestCheckDoesNotFailWhenNoStepsAreDefined":                      {27, 34, 36, 41},
		"TestFlagsAreRemovedAfterUninstall":                              {19, 20},
		"TestVersionHistory":                                             {21, 24, 25, 26, 27},
		"TestUpgradeVersions":                                            {28, 29, 30},
		"TestStepRootIsSetCorrectly":                                     {31, 81},
		"TestWhenAStepFailsNextStepsArentRun":                            {40},
		"TestWarningWhenRunningWithInvalidMode":                          {32},
		"TestNoWarningWhenRunningWithValidMode":                          {33, 35},
		"TestCopyResolv":                                                 {58},
		"TestMissingCopyDirIsPopulatedFromTheContainer":                  {59},
		"TestRootDirIsCopiedButNotForChecksAndUninstall":                 {60},
		"TestExpectedConfigFiles":                                        {60},
		"TestBannerNamesTheDirectoriesReallyUsed":                        {9, 61},
		"TestStepEnvironment":                                            {67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78},
		"TestDemo":                                                       {120},
	},
	"internal/agent/flags": {
		"TestPath/make_flag_path_uses_args":        {3},
		"TestPath/make_flag_path_uses_returncodes": {4},
		"TestPath/make_flag_path_has_package_name": {11},
		"TestSet_CreatesMissingParentDirectories":  {5},
	},
	"internal/agent/history": {
		"TestRecord_GoldenFile":                  {6, 24, 26},
		"TestCorruptHistoryFileIsMovedToBackup":  {23},
		"TestCurrent":                            {30},
		"TestRecord_ContinuesAHistoryInTheField": {24},
	},
	"internal/agent/interrupt": {
		"TestParse_GoldenVectors": {97, 98, 99, 100, 101, 102},
		"TestParse_Errors":        {97},
	},
	"pkg/packagefile": {
		"TestParse_ValidPackage": {82, 83, 84, 87, 103, 104, 106},
		// There is one schema version; all others, "latest" too, are refused.
		"TestParse_Problems/bad version":            {85, 88, 90, 91, 92, 93, 94, 95},
		"TestParse_Problems/latest":                 {93, 96},
		"TestParse_Problems/no modes":               {86},
		"TestParse_Problems/idempotence unknown":    {105},
		"TestParse_Problems/no mode at all":         {110},
		"TestParse_Problems/only check modes":       {111},
		"TestParse_Problems/all lists empty":        {119},
		"TestDescribe":                              {83},
		"TestMode":                                  {87},
		"TestParse_PackageVersion":                  {89},
		"TestLoad_ListsEveryMissingScript":          {82, 103},
		"TestLoad_Warnings":                         {107, 108, 109},
		"TestParse_EveryModeWithStepsNeedsItsCheck": {112, 113, 114, 115, 116},
		"TestParse_CheckWithoutStepsIsFine":         {111},
		"TestParse_UpgradeStep":                     {117, 118},
	},
	"test/e2e": {
		"TestAgentOnTheHost": {120, 121, 123},
	},
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)

// TestEveryKnownBehaviorHasATest holds the list against the tests there are.
func TestEveryKnownBehaviorHasATest(t *testing.T) {
	covered := map[int]bool{}
	for dir, tests := range catalogue {
		source := testSource(t, filepath.Join("../..", dir))
		there := map[string]bool{}
		for _, match := range testName.FindAllStringSubmatch(source, -1) {
			there[match[1]] = true
		}
		for name, numbers := range tests {
			function, row, _ := strings.Cut(name, "/")
			if !there[function] || row != "" && !strings.Contains(source, `"`+row+`"`) {
				t.Errorf("%s has no test %s", dir, name)
				continue
			}
			for _, number := range numbers {
				covered[number] = true
			}
		}
	}
	const behaviors = 123
	for number := 1; number <= behaviors; number++ {
		if !covered[number] {
			t.Errorf("no test covers behavior %d", number)
		}
	}
}

func testSource(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s (%v)", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}
