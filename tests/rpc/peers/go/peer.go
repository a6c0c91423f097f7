// A client of the older proving daemon in Go (grpc-go): all eight RPCs with the old contract, whose
// descriptor is read at run time.
//
// usage: peer ADDRESS CONTRACT DATA OUT.  As python/peer.py, but that CONTRACT is a FileDescriptorSet.
package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

var (
	conn    *grpc.ClientConn
	service protoreflect.ServiceDescriptor
	vanilla []byte
	request struct {
		MinerID    uint64 `json:"miner_id"`
		Randomness string `json:"randomness"`
	}
)

const (
	winningPost = 4
	completed   = 1
	failed      = 2
	timedOut    = 4
)

func check(ok bool, format string, args ...any) {
	if !ok {
		fmt.Fprintf(os.Stderr, "peer go: "+format+"\n", args...)
		os.Exit(1)
	}
}

type fields map[string]any

func fill(m protoreflect.Message, f fields) {
	for name, v := range f {
		fd := m.Descriptor().Fields().ByName(protoreflect.Name(name))
		switch v := v.(type) {
		case fields:
			fill(m.Mutable(fd).Message(), v)
		case [][]byte:
			for _, b := range v {
				m.Mutable(fd).List().Append(protoreflect.ValueOfBytes(b))
			}
		case int:
			if fd.Kind() == protoreflect.EnumKind {
				m.Set(fd, protoreflect.ValueOfEnum(protoreflect.EnumNumber(v)))
			} else if fd.Kind() == protoreflect.Uint32Kind {
				m.Set(fd, protoreflect.ValueOfUint32(uint32(v)))
			} else {
				m.Set(fd, protoreflect.ValueOfUint64(uint64(v)))
			}
		default:
			m.Set(fd, protoreflect.ValueOf(v))
		}
	}
}

func get(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func try(method string, f fields) (protoreflect.Message, error) {
	d := service.Methods().ByName(protoreflect.Name(method))
	in, out := dynamicpb.NewMessage(d.Input()), dynamicpb.NewMessage(d.Output())
	fill(in, f)
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Second)
	defer cancel()
	return out, conn.Invoke(ctx, "/"+string(service.FullName())+"/"+method, in, out)
}

func call(method string, f fields) protoreflect.Message {
	m, err := try(method, f)
	check(err == nil, "%s: %v", method, err)
	return m
}

func refused(method string, f fields, code codes.Code) {
	_, err := try(method, f)
	check(status.Code(err) == code && status.Convert(err).Message() != "", "%s: %v, not %v", method, err, code)
}

func winning(id string, proof []byte) fields {
	randomness, err := hex.DecodeString(request.Randomness)
	check(err == nil, "randomness: %v", err)
	return fields{"request_id": id, "proof_kind": winningPost, "sector_size": 2048, "registered_proof": 0, "priority": 4,
		"vanilla_proofs": [][]byte{proof}, "miner_id": int(request.MinerID), "randomness": randomness}
}

func prove(submit fields) protoreflect.Message {
	return get(call("Prove", fields{"submit": submit}), "result").Message()
}

func state(m protoreflect.Message) int { return int(get(m, "status").Enum()) }

func connect(address, contract, data string) {
	binary, err := os.ReadFile(contract)
	check(err == nil, "contract: %v", err)
	var set descriptorpb.FileDescriptorSet
	check(proto.Unmarshal(binary, &set) == nil && len(set.File) == 1, "contract: not one file's descriptor")
	file, err := protodesc.NewFile(set.File[0], nil)
	check(err == nil, "contract: %v", err)
	service = file.Services().ByName("ProvingEngine")
	text, err := os.ReadFile(filepath.Join(data, "request.json"))
	check(err == nil && json.Unmarshal(text, &request) == nil, "request: %v", err)
	vanilla, err = os.ReadFile(filepath.Join(data, "vanilla-0.bin"))
	check(err == nil, "vanilla: %v", err)
	// As Curio connects: without TLS, 256 MiB each way.
	conn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20), grpc.MaxCallSendMsgSize(256<<20)))
	check(err == nil, "connect: %v", err)
}

func main() {
	connect(os.Args[1], os.Args[2], os.Args[3])
	check(get(call("GetStatus", nil), "uptime_seconds").Uint() < 1<<32, "uptime")
	check(strings.Contains(get(call("GetMetrics", nil), "prometheus_text").String(), "cuzk_"), "metrics")
	circuit := fields{"circuit_id": "winning-post-2kib"}
	call("PreloadSRS", circuit)
	check(get(call("PreloadSRS", circuit), "already_loaded").Bool(), "a second preload loads again")

	id := get(call("SubmitProof", winning("winpost-go", vanilla)), "job_id").String()
	check(id == "winpost-go", "job id %s", id)
	first := state(call("AwaitProof", fields{"job_id": id, "timeout_ms": 1}))
	check(first == timedOut || first == completed, "state %d", first)
	done := call("AwaitProof", fields{"job_id": id})
	proof := get(done, "proof").Bytes()
	check(state(done) == completed && len(proof) == 192, "%d: %s", state(done), get(done, "error_message").String())
	check(os.WriteFile(os.Args[4], proof, 0o644) == nil, "writing")

	joined := prove(winning("winpost-go", vanilla))
	check(bytes.Equal(get(joined, "proof").Bytes(), proof), "the same id and content give another proof")
	named := prove(winning("", vanilla))
	check(get(named, "job_id").String() != "" && state(named) == completed, "without an id: %s", get(named, "error_message").String())

	broken := prove(winning("broken-go", vanilla[:1000]))
	check(state(broken) == failed && get(broken, "error_message").String() != "", "a broken one: %d", state(broken))
	c1 := append([]byte(`{"SectorNum":1,"Phase1Out":"`), bytes.Repeat([]byte("A"), 50_000_000)...)
	large := prove(fields{"request_id": "large-go", "proof_kind": 1, "vanilla_proof": c1, "sector_number": 1, "miner_id": 1000})
	check(state(large) == failed && strings.HasPrefix(get(large, "error_message").String(), "C1 parse failed"),
		"50 MB that are no JSON: %s", get(large, "error_message").String())

	check(!get(call("CancelProof", fields{"job_id": "nobody"}), "was_running").Bool(), "cancel of nothing")
	refused("AwaitProof", fields{"job_id": "nobody"}, codes.NotFound)
	refused("SubmitProof", fields{"request_id": "x"}, codes.InvalidArgument)
	refused("Prove", nil, codes.InvalidArgument)
	evicted := call("EvictSRS", circuit)
	check(get(evicted, "was_loaded").Bool() && get(evicted, "freed_bytes").Uint() > 0, "evict")
	fmt.Println("peer go: all eight RPCs are right")
}
