// One kind of work by some callers at once for some seconds, as crates/client/examples/load.rs does it:
// load ZK_PORT get|put|gets|puts|scan CALLERS WARM_SECONDS SECONDS ROWS
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	log "github.com/sirupsen/logrus"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
)

const table = "client_load"

// Rows of one batch.
const batch = 100

var (
	client gohbase.Client
	rows   int
	done   int64
	value  = make([]byte, 100)
	ctx    = context.Background()
)

func main() {
	log.SetLevel(log.ErrorLevel)
	work, callers, warm, seconds := os.Args[2], number(os.Args[3]), number(os.Args[4]), number(os.Args[5])
	var options []gohbase.Option
	if work == "get" || work == "put" {
		// Otherwise a call waits up to 20 ms for others to travel with.
		options = append(options, gohbase.RpcQueueSize(1))
	}
	client = gohbase.NewClient("127.0.0.1:"+os.Args[1], options...)
	rows = number(os.Args[6])
	for caller := 0; caller < callers; caller++ {
		go worker(work, caller)
	}
	time.Sleep(time.Duration(warm) * time.Second)
	begin, cpu, before := time.Now(), cpuMicroseconds(), atomic.LoadInt64(&done)
	time.Sleep(time.Duration(seconds) * time.Second)
	took := time.Since(begin).Seconds()
	fmt.Printf("rows %d seconds %.3f cpu_us %d\n", atomic.LoadInt64(&done)-before, took, cpuMicroseconds()-cpu)
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func key(number int) string {
	key := []byte("row00000000")
	for at := len(key) - 1; number > 0; at, number = at-1, number/10 {
		key[at] = byte('0' + number%10)
	}
	return string(key)
}

func worker(work string, caller int) {
	random := caller*7919 + 1
	for {
		random = (random*1103515245 + 12345) % 2147483648
		switch work {
		case "get":
			get(random % rows)
		case "put":
			put(random % rows)
		case "gets":
			together(random, get)
		case "puts":
			together(random, put)
		case "scan":
			scan()
		default:
			panic("there is no work " + work)
		}
	}
}

func get(number int) {
	request, err := hrpc.NewGetStr(ctx, table, key(number))
	check(err)
	result, err := client.Get(request)
	check(err)
	if len(result.Cells) != 1 {
		panic("a row has not one cell")
	}
	atomic.AddInt64(&done, 1)
}

func put(number int) {
	request, err := hrpc.NewPutStr(ctx, table, key(number), map[string]map[string][]byte{"f": {"q": value}})
	check(err)
	_, err = client.Put(request)
	check(err)
	atomic.AddInt64(&done, 1)
}

// This version has no call for a batch: it gathers what comes at once.
func together(random int, one func(int)) {
	var all sync.WaitGroup
	for index := 0; index < batch; index++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			one(number)
		}((random + index*7919) % rows)
	}
	all.Wait()
}

func scan() {
	request, err := hrpc.NewScanStr(ctx, table)
	check(err)
	scanner, count := client.Scan(request), 0
	for {
		result, err := scanner.Next()
		if err == io.EOF {
			break
		}
		check(err)
		if len(result.Cells) != 1 {
			panic("a row has not one cell")
		}
		count++
		atomic.AddInt64(&done, 1)
	}
	if count != rows {
		panic(fmt.Sprintf("the scan found %d rows", count))
	}
}

func cpuMicroseconds() int64 {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return (usage.Utime.Sec+usage.Stime.Sec)*1000000 + usage.Utime.Usec + usage.Stime.Usec
}
