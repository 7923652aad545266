// Uses a server as Go programs do, through gohbase, and writes what happened to a file.
// Arguments: the port of the server's ZooKeeper, and the file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
)

const (
	table = "go_table"
	// Timestamps from here on were given by the server.
	serverTimeMin = 1_000_000_000_000
	timeout       = 30 * time.Second
)

type session struct {
	client gohbase.Client
	admin  gohbase.AdminClient
	ctx    context.Context
	out    io.Writer
}

func main() {
	logrus.SetLevel(logrus.ErrorLevel)
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	defer file.Close()
	quorum := "127.0.0.1:" + os.Args[1]
	ctx, cancel := context.WithTimeout(context.Background(), 4*timeout)
	defer cancel()
	s := session{gohbase.NewClient(quorum), gohbase.NewAdminClient(quorum), ctx, file}
	defer s.client.Close()
	s.dropLeftovers()
	s.create()
	s.putAndGet()
	s.counters()
	s.deletes()
	s.checkAndPut()
	s.scans()
	s.filters()
	s.manyAtOnce()
	s.snapshots()
	s.end()
}

func (s *session) say(format string, arguments ...any) {
	fmt.Fprintf(s.out, format+"\n", arguments...)
}

func (s *session) done(what string, err error) {
	s.say("%s: %s", what, ended(err))
}

// ended tells of an error without what differs from run to run: gohbase puts the server's words into its own.
func ended(err error) string {
	if err == nil {
		return "done"
	}
	if errors.Is(err, gohbase.TableNotFound) {
		return "table not found"
	}
	text := err.Error()
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" :\n\t\"", r) }) {
		if strings.HasPrefix(word, "org.apache.hadoop.hbase.") || strings.HasPrefix(word, "java.") {
			return "fails with " + word
		}
	}
	return "fails: " + text
}

func show(result *hrpc.Result) string {
	if result == nil {
		return "nothing"
	}
	if result.Exists != nil {
		return fmt.Sprintf("exists %v", *result.Exists)
	}
	cells := make([]string, 0, len(result.Cells))
	for _, cell := range result.Cells {
		when := fmt.Sprint(*cell.Timestamp)
		if *cell.Timestamp >= serverTimeMin && *cell.Timestamp != math.MaxInt64 {
			when = "now"
		}
		cells = append(cells, fmt.Sprintf("%q %s:%q@%s=%q", cell.Row, cell.Family, cell.Qualifier, when, cell.Value))
	}
	partial := ""
	if result.Partial {
		partial = " partial"
	}
	return "{" + strings.Join(cells, ", ") + "}" + partial
}

func (s *session) dropLeftovers() {
	_ = s.admin.DisableTable(hrpc.NewDisableTable(s.ctx, []byte(table)))
	_ = s.admin.DeleteTable(hrpc.NewDeleteTable(s.ctx, []byte(table)))
	if snapshot, err := hrpc.NewSnapshot(s.ctx, "go_snapshot", table); err == nil {
		_ = s.admin.DeleteSnapshot(snapshot)
	}
}

func (s *session) create() {
	families := map[string]map[string]string{"f": {"VERSIONS": "3"}, "g": nil}
	splits := hrpc.SplitKeys([][]byte{[]byte("h"), []byte("p")})
	s.done("create", s.admin.CreateTable(hrpc.NewCreateTable(s.ctx, []byte(table), families, splits)))
	s.done("create again", s.admin.CreateTable(hrpc.NewCreateTable(s.ctx, []byte(table), families)))
	request, err := hrpc.NewListTableNames(s.ctx, hrpc.ListRegex("go_.*"))
	s.done("list request", err)
	names, err := s.admin.ListTableNames(request)
	s.done("list", err)
	for _, name := range names {
		s.say("  %s:%s", name.Namespace, name.Qualifier)
	}
	status, err := s.admin.ClusterStatus()
	s.done("status", err)
	s.say("  servers %d, dead %d, master named %v", len(status.GetLiveServers()), len(status.GetDeadServers()), status.GetMaster().GetHostName() != "")
}

type values = map[string]map[string][]byte

func (s *session) put(row string, data values, options ...func(hrpc.Call) error) {
	request, err := hrpc.NewPutStr(s.ctx, table, row, data, options...)
	if err == nil {
		_, err = s.client.Put(request)
	}
	s.done("put "+row, err)
}

func (s *session) get(what, row string, options ...func(hrpc.Call) error) {
	request, err := hrpc.NewGetStr(s.ctx, table, row, options...)
	if err != nil {
		s.done("get "+what, err)
		return
	}
	result, err := s.client.Get(request)
	if err != nil {
		s.done("get "+what, err)
		return
	}
	s.say("get %s: %s", what, show(result))
}

func (s *session) putAndGet() {
	for version := uint64(1); version <= 4; version++ {
		s.put("a", values{"f": {"q": fmt.Appendf(nil, "v%d", version)}}, hrpc.TimestampUint64(version*10))
	}
	many := map[string][]byte{}
	for column := range 12 {
		many[fmt.Sprintf("c%02d", column)] = fmt.Appendf(nil, "%d", column)
	}
	s.put("b", values{"f": many, "g": {"": {0, 255}}}, hrpc.TimestampUint64(5))
	s.put("x", values{"g": {"now": []byte("v")}})
	s.put("durable", values{"f": {"q": []byte("v")}}, hrpc.Durability(hrpc.SkipWal), hrpc.TimestampUint64(1))
	s.put("wrong", values{"nofamily": {"q": []byte("v")}})
	s.get("a", "a")
	s.get("a, 2 versions", "a", hrpc.MaxVersions(2))
	s.get("a between 20 and 40", "a", hrpc.MaxVersions(5), hrpc.TimeRangeUint64(20, 40))
	s.get("b", "b")
	s.get("b, some", "b", hrpc.Families(map[string][]string{"f": {"c03", "c11", "none"}}))
	s.get("b, 3 of each family from the second", "b", hrpc.MaxResultsPerColumnFamily(3), hrpc.ResultOffset(1))
	s.get("x", "x")
	s.get("nothing", "nothing")
	s.get("a family that is not there", "a", hrpc.Families(map[string][]string{"nofamily": nil}))
	exists, err := hrpc.NewGetStr(s.ctx, table, "a")
	s.done("ask only for existence", err)
	exists.ExistsOnly()
	result, err := s.client.Get(exists)
	s.done("exists", err)
	s.say("  %s", show(result))
	absent, _ := hrpc.NewGetStr(s.ctx, "go_absent", "a")
	_, err = s.client.Get(absent)
	s.done("get from a table that is not there", err)
}

func (s *session) counters() {
	for _, amount := range []int64{5, -7, 0} {
		request, _ := hrpc.NewIncStrSingle(s.ctx, table, "counter", "f", "n", amount)
		value, err := s.client.Increment(request)
		s.done("increment", err)
		s.say("  %d", value)
	}
	for _, text := range []string{"ab", "cd"} {
		request, _ := hrpc.NewAppStr(s.ctx, table, "append", values{"f": {"log": []byte(text)}})
		result, err := s.client.Append(request)
		s.done("append", err)
		s.say("  %s", show(result))
	}
	request, _ := hrpc.NewIncStrSingle(s.ctx, table, "append", "f", "log", 1)
	_, err := s.client.Increment(request)
	s.done("count what is no number", err)
}

func (s *session) deletes() {
	remove := func(what, row string, data values, options ...func(hrpc.Call) error) {
		for version := uint64(1); version <= 3; version++ {
			s.put(row, values{"f": {"q": fmt.Appendf(nil, "v%d", version), "p": []byte("p")}, "g": {"q": []byte("g")}}, hrpc.TimestampUint64(version))
		}
		request, err := hrpc.NewDelStr(s.ctx, table, row, data, options...)
		if err == nil {
			_, err = s.client.Delete(request)
		}
		s.done("delete "+what, err)
		s.get("what is left", row, hrpc.MaxVersions(9))
	}
	remove("a row", "d1", nil)
	remove("a family", "d2", values{"f": nil})
	remove("a column", "d3", values{"f": {"q": nil}})
	remove("the newest of a column", "d4", values{"f": {"q": nil}}, hrpc.DeleteOneVersion())
	remove("a version", "d5", values{"f": {"q": nil}}, hrpc.DeleteOneVersion(), hrpc.TimestampUint64(2))
	remove("columns up to 2", "d6", values{"f": {"q": nil, "p": nil}}, hrpc.TimestampUint64(2))
	remove("a family at 2", "d7", values{"f": nil}, hrpc.DeleteOneVersion(), hrpc.TimestampUint64(2))
}

func (s *session) checkAndPut() {
	check := func(what, row string, expected []byte) {
		put, err := hrpc.NewPutStr(s.ctx, table, row, values{"f": {"checked": []byte(what)}}, hrpc.TimestampUint64(9))
		if err != nil {
			s.done(what, err)
			return
		}
		held, err := s.client.CheckAndPut(put, "f", "q", expected)
		s.done("check "+what, err)
		s.say("  %v", held)
	}
	check("holds", "a", []byte("v4"))
	check("does not hold", "a", []byte("other"))
	check("not there", "cas", nil)
	check("there", "a", nil)
	s.get("a", "a")
	s.get("cas", "cas")
}

func (s *session) scan(what, start, stop string, options ...func(hrpc.Call) error) {
	s.say("scan %s:", what)
	request, err := hrpc.NewScanRangeStr(s.ctx, table, start, stop, options...)
	if err != nil {
		s.done("  request", err)
		return
	}
	scanner := s.client.Scan(request)
	defer scanner.Close()
	for {
		result, err := scanner.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			s.done("  next", err)
			return
		}
		s.say("  %s", show(result))
	}
}

func (s *session) scans() {
	s.scan("all of g", "", "", hrpc.Families(map[string][]string{"g": nil}))
	s.scan("a to c", "a", "c")
	s.scan("all versions", "a", "b", hrpc.MaxVersions(math.MaxInt32))
	s.scan("in time", "", "", hrpc.TimeRangeUint64(20, 31))
	s.scan("backwards", "x", "d5", hrpc.Reversed(), hrpc.Families(map[string][]string{"f": {"q"}}))
	s.scan("a row at a time", "", "", hrpc.NumberOfRows(1), hrpc.Families(map[string][]string{"f": {"q"}}))
	s.scan("in small pieces", "b", "c", hrpc.MaxResultSize(1))
	s.scan("in small pieces as they come", "b", "c", hrpc.MaxResultSize(1), hrpc.AllowPartialResults())
	s.scan("2 of each family", "b", "c", hrpc.MaxResultsPerColumnFamily(2))
	s.scan("a family that is not there", "", "", hrpc.Families(map[string][]string{"nofamily": nil}))
}

func (s *session) filters() {
	binary := filter.NewBinaryComparator(filter.NewByteArrayComparable([]byte("v3")))
	equal := filter.NewCompareFilter(filter.Equal, binary)
	row := filter.NewRowFilter(filter.NewCompareFilter(filter.GreaterOrEqual, filter.NewBinaryComparator(filter.NewByteArrayComparable([]byte("d5")))))
	prefix := filter.NewPrefixFilter([]byte("d"))
	asked := []struct {
		name   string
		filter filter.Filter
	}{
		{"prefix", prefix},
		{"value", filter.NewValueFilter(equal)},
		{"row", row},
		{"both", filter.NewList(filter.MustPassAll, prefix, filter.NewColumnPrefixFilter([]byte("q")))},
		{"one", filter.NewList(filter.MustPassOne, filter.NewValueFilter(equal), filter.NewPrefixFilter([]byte("x")))},
		{"page", filter.NewPageFilter(1)},
		{"keys", filter.NewList(filter.MustPassAll, filter.NewFirstKeyOnlyFilter(), filter.NewKeyOnlyFilter(true))},
		{"pagination", filter.NewColumnPaginationFilter(2, 1, nil)},
		{"range", filter.NewColumnRangeFilter([]byte("c03"), []byte("c05"), true, false)},
		{"single", filter.NewSingleColumnValueFilter([]byte("f"), []byte("q"), filter.Equal, binary, true, true)},
		{"skip", filter.NewSkipFilter(filter.NewValueFilter(filter.NewCompareFilter(filter.NotEqual, binary)))},
		{"while", filter.NewWhileMatchFilter(filter.NewRowFilter(filter.NewCompareFilter(filter.Less, binary)))},
		{"timestamps", filter.NewTimestampsFilter([]int64{10, 3})},
		{"fuzzy", filter.NewFuzzyRowFilter([]*filter.BytesBytesPair{filter.NewBytesBytesPair([]byte("d?"), []byte{0, 1})})},
		{"ranges", filter.NewMultiRowRangeFilter([]*filter.RowRange{filter.NewRowRange([]byte("a"), []byte("b"), true, true),
			filter.NewRowRange([]byte("d3"), []byte("d4"), false, true)})},
		{"regex", filter.NewRowFilter(filter.NewCompareFilter(filter.Equal, filter.NewRegexStringComparator("^d[1-3]$", 0, "UTF-8", "JAVA")))},
		{"substring", filter.NewQualifierFilter(filter.NewCompareFilter(filter.Equal, filter.NewSubstringComparator("C1")))},
		{"inclusive stop", filter.NewInclusiveStopFilter([]byte("append"))},
	}
	for _, one := range asked {
		s.scan("filtered by "+one.name, "", "", hrpc.Filters(one.filter), hrpc.Families(map[string][]string{"f": nil}))
	}
	s.get("filtered", "b", hrpc.Filters(filter.NewColumnPrefixFilter([]byte("c1"))))
}

// manyAtOnce makes gohbase gather operations into multi requests.
func (s *session) manyAtOnce() {
	var group sync.WaitGroup
	failures := make(chan string, 500)
	for number := range 500 {
		group.Add(1)
		go func() {
			defer group.Done()
			key := fmt.Sprintf("%c%03d", 'a'+number%26, number)
			request, err := hrpc.NewPutStr(s.ctx, table, "many"+key, values{"f": {"q": []byte(key)}}, hrpc.TimestampUint64(1))
			if err == nil {
				_, err = s.client.Put(request)
			}
			if err == nil {
				var get *hrpc.Get
				get, err = hrpc.NewGetStr(s.ctx, table, "many"+key)
				if err == nil {
					var result *hrpc.Result
					result, err = s.client.Get(get)
					if err == nil && (len(result.Cells) != 1 || string(result.Cells[0].Value) != key) {
						err = fmt.Errorf("read something else: %s", show(result))
					}
				}
			}
			if err == nil {
				var count *hrpc.Mutate
				count, err = hrpc.NewIncStrSingle(s.ctx, table, "shared", "f", "n", 1)
				if err == nil {
					_, err = s.client.Increment(count)
				}
			}
			if err != nil {
				failures <- ended(err)
			}
		}()
	}
	group.Wait()
	close(failures)
	var told []string
	for failure := range failures {
		told = append(told, failure)
	}
	sort.Strings(told)
	s.say("500 writers at once: %d failures %v", len(told), told)
	s.get("what they counted", "shared")
}

func (s *session) snapshots() {
	snapshot, err := hrpc.NewSnapshot(s.ctx, "go_snapshot", table)
	s.done("snapshot request", err)
	s.done("snapshot", s.admin.CreateSnapshot(snapshot))
	list, err := s.admin.ListSnapshots(hrpc.NewListSnapshots(s.ctx))
	s.done("snapshots", err)
	for _, one := range list {
		if strings.HasPrefix(one.GetName(), "go_") {
			s.say("  %s of %s, %s", one.GetName(), one.GetTable(), pb.SnapshotDescription_Type(one.GetType()))
		}
	}
	s.done("delete snapshot", s.admin.DeleteSnapshot(snapshot))
	balancer, _ := hrpc.NewSetBalancer(s.ctx, true)
	was, err := s.admin.SetBalancer(balancer)
	s.done("balancer", err)
	s.say("  was %v", was)
}

func (s *session) end() {
	name := []byte(table)
	s.done("delete while enabled", s.admin.DeleteTable(hrpc.NewDeleteTable(s.ctx, name)))
	s.done("disable", s.admin.DisableTable(hrpc.NewDisableTable(s.ctx, name)))
	s.done("disable again", s.admin.DisableTable(hrpc.NewDisableTable(s.ctx, name)))
	s.done("enable", s.admin.EnableTable(hrpc.NewEnableTable(s.ctx, name)))
	s.get("a again", "a")
	s.done("disable", s.admin.DisableTable(hrpc.NewDisableTable(s.ctx, name)))
	s.done("delete", s.admin.DeleteTable(hrpc.NewDeleteTable(s.ctx, name)))
	s.done("delete again", s.admin.DeleteTable(hrpc.NewDeleteTable(s.ctx, name)))
}
