import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import protobuf from 'protobufjs';

/** Enough for a busy machine: only a test that fails waits so long. */
const patienceMs = 60_000;

/** A span as a receiver reads it: ids in hex, times in ms since the epoch, attributes as plain values. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string;
  traceState: string;
  name: string;
  kind: number;
  startMs: number;
  endMs: number;
  flags: number;
  /** 2: error. */
  status: number;
  message: string;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

export interface ReceivedPoint {
  metric: string;
  unit: string;
  attributes: Record<string, unknown>;
  count: number;
  sum: number;
  bounds: number[];
  counts: number[];
}

/** A receiver of OTLP/HTTP that decodes protobuf by its published schema, or JSON, which a collector forwards. */
export interface OtlpReceiver {
  url: string;
  spans(): ReceivedSpan[];
  points(): ReceivedPoint[];
  headers(): IncomingHttpHeaders[];
  paths(): string[];
  /** Answers with this status from now on; 0: not at all. */
  answer(status: number): void;
  /** The spans of a trace, or of all, once there are this many; fails after ten seconds. */
  when(count: number, of?: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan[]>;
  close(): Promise<void>;
}

const string = (id: number) => ({ type: 'string', id });
const many = (type: string, id: number) => ({ rule: 'repeated', type, id });

/** The part of opentelemetry-proto that is read here. */
const schema = protobuf.Root.fromJSON({
  nested: {
    AnyValue: {
      oneofs: {
        value: { oneof: ['stringValue', 'boolValue', 'intValue', 'doubleValue', 'arrayValue', 'kvlistValue'] },
      },
      fields: {
        stringValue: string(1),
        boolValue: { type: 'bool', id: 2 },
        intValue: { type: 'int64', id: 3 },
        doubleValue: { type: 'double', id: 4 },
        arrayValue: { type: 'ArrayValue', id: 5 },
        kvlistValue: { type: 'Attributes', id: 6 },
      },
    },
    ArrayValue: { fields: { values: many('AnyValue', 1) } },
    KeyValue: { fields: { key: string(1), value: { type: 'AnyValue', id: 2 } } },
    Attributes: { fields: { attributes: many('KeyValue', 1) } },
    Scope: { fields: { name: string(1), version: string(2) } },
    Status: { fields: { message: string(2), code: { type: 'int32', id: 3 } } },
    Span: {
      fields: {
        traceId: { type: 'bytes', id: 1 },
        spanId: { type: 'bytes', id: 2 },
        traceState: string(3),
        parentSpanId: { type: 'bytes', id: 4 },
        name: string(5),
        kind: { type: 'int32', id: 6 },
        startTimeUnixNano: { type: 'fixed64', id: 7 },
        endTimeUnixNano: { type: 'fixed64', id: 8 },
        attributes: many('KeyValue', 9),
        status: { type: 'Status', id: 15 },
        flags: { type: 'fixed32', id: 16 },
      },
    },
    ScopeSpans: { fields: { scope: { type: 'Scope', id: 1 }, spans: many('Span', 2) } },
    ResourceSpans: { fields: { resource: { type: 'Attributes', id: 1 }, scopeSpans: many('ScopeSpans', 2) } },
    Traces: { fields: { resourceSpans: many('ResourceSpans', 1) } },
    Point: {
      fields: {
        count: { type: 'fixed64', id: 4 },
        sum: { type: 'double', id: 5 },
        bucketCounts: many('fixed64', 6),
        explicitBounds: many('double', 7),
        attributes: many('KeyValue', 9),
      },
    },
    Histogram: { fields: { dataPoints: many('Point', 1) } },
    Metric: { fields: { name: string(1), unit: string(3), histogram: { type: 'Histogram', id: 9 } } },
    ScopeMetrics: { fields: { metrics: many('Metric', 2) } },
    ResourceMetrics: { fields: { scopeMetrics: many('ScopeMetrics', 2) } },
    Metrics: { fields: { resourceMetrics: many('ResourceMetrics', 1) } },
  },
});

export async function startOtlpReceiver(t: { after(fn: () => Promise<void>): void }): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const points: ReceivedPoint[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const paths: string[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      headers.push(request.headers);
      paths.push(request.url ?? '');
      if (status === 0) return;
      response.writeHead(status).end();
      if (status !== 200) return;
      const body = Buffer.concat(chunks);
      const isJson = request.headers['content-type']?.includes('json') === true;
      const read = (type: string) => (isJson ? JSON.parse(body.toString()) : decoded(type, body)) as Message;
      if (request.url?.endsWith('/v1/traces') === true) spans.push(...spansIn(read('Traces')));
      else points.push(...pointsIn(read('Metrics')));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  t.after(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => spans,
    points: () => points,
    headers: () => headers,
    paths: () => paths,
    answer: (next) => {
      status = next;
    },
    async when(count, of = () => true) {
      const untilMs = performance.now() + patienceMs;
      for (;;) {
        const found = spans.filter(of);
        if (found.length >= count) return found;
        if (performance.now() > untilMs) throw new Error(`${found.length} spans came, ${count} were awaited`);
        await wait(20);
      }
    },
    close,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: messages as the schema above, or their JSON, has them.
type Message = any;

function decoded(type: string, body: Buffer): Message {
  const found = schema.lookupType(type);
  return found.toObject(found.decode(body), { longs: String, arrays: true, bytes: Buffer });
}

function spansIn({ resourceSpans }: Message): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }: Message) =>
    scopeSpans
      .flatMap((one: Message) => one.spans)
      .map((span: Message) => ({
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        traceState: span.traceState ?? '',
        name: span.name,
        kind: span.kind,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
        flags: span.flags,
        status: span.status?.code ?? 0,
        message: span.status?.message ?? '',
        attributes: plain(span.attributes),
        resource: plain(resource.attributes),
      })),
  );
}

function pointsIn({ resourceMetrics }: Message): ReceivedPoint[] {
  return resourceMetrics
    .flatMap((one: Message) => one.scopeMetrics)
    .flatMap((one: Message) => one.metrics)
    .flatMap(({ name, unit, histogram }: Message) =>
      histogram.dataPoints.map((point: Message) => ({
        metric: name,
        unit,
        attributes: plain(point.attributes),
        count: Number(point.count),
        sum: point.sum,
        bounds: point.explicitBounds,
        counts: point.bucketCounts.map(Number),
      })),
    );
}

function hex(id: Buffer | string | undefined): string {
  return typeof id === 'string' ? id : (id?.toString('hex') ?? '');
}

function plain(attributes: Message[] | undefined): Record<string, unknown> {
  return Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, plainValue(value)]));
}

function plainValue(value: Message): unknown {
  if (value.arrayValue !== undefined && value.arrayValue !== null) return value.arrayValue.values.map(plainValue);
  if (value.intValue !== undefined && value.intValue !== null) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue;
}
