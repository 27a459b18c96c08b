import type { Traces } from '../../kernel/trace.ts';
import { AttemptMetrics } from './genai-metrics.ts';
import { type HeliconeLog, heliconeLogs } from './helicone-logs.ts';
import { type LoggerForm, loggerForm, type NamedLogger } from './logger-forms.ts';
import { LoggerQueue } from './logger-queue.ts';
import { readRejection } from './span-reader.ts';
import { type SpanBatch, SpanSender } from './span-sender.ts';
import { lengthDelimited, resourceAttribute } from './span-writer.ts';
import { createTraces } from './traces.ts';

export interface TelemetryOptions {
  /** Base URL of the receiver; null: as the variables of OpenTelemetry say. */
  endpoint: string | null;
  /** Whether there is a receiver, in addition to the loggers. */
  receives: boolean;
  /** Services that get the same spans. */
  loggers: readonly NamedLogger[];
  headers: Readonly<Record<string, string>>;
  traces: boolean;
  metrics: boolean;
  sample: number;
  version: string;
  database: string;
  /** For the operator's log; no secrets. */
  onTrouble(message: string): void;
  onBack(message: string): void;
}

export interface Telemetry {
  traces: Traces;
  /** Sends the gathered spans; resolves after `waitMs` at the latest. */
  close(waitMs: number): Promise<void>;
}

const metricsIntervalMs = 60_000;
/** A batch is given up after so many times the exporter's timeout, which its retries share. */
const deadlinesOfSend = 2;
/** A shorter word of a header, such as `Bearer`, is no secret. */
const secretCharsMin = 8;
const reasonCharsMax = 300;
const protobuf = { 'Content-Type': 'application/x-protobuf' };
const json = { 'Content-Type': 'application/json' };
/** Logs under way to one service that takes no batches. The exporter takes up to 30 at once. */
const logsAtOnce = 16;
/** A receiver may reject some spans of each batch. */
const rejectionsEachMs = 60_000;

/**
 * OpenTelemetry's exporters, over what `traces` and `genai-metrics` gather. They know the receiver, its headers, retries,
 * compression and the variables `OTEL_*`; they are loaded here, and here alone.
 */
export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const [{ parseTraceParent }, resources] = await Promise.all([
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
  ]);
  const { version, sample, database } = options;
  const detected = resources.detectResources({ detectors: [resources.envDetector] });
  const resource = resources
    .defaultResource()
    .merge(resources.resourceFromAttributes({ 'service.name': 'culvert', 'service.version': version }))
    .merge(detected);
  const loggers = options.loggers.map(loggerForm);
  const queues = await Promise.all(loggers.map((logger) => openLogger(logger, options)));
  const ofLoggers = Object.assign({}, ...loggers.map(({ resource }) => resource)) as Record<string, string>;
  const attributes = { ...ofLoggers, ...resource.attributes };
  const sender = options.traces ? await openSender(options, attributes, queues) : null;
  const metrics = options.metrics ? new AttemptMetrics() : null;
  const reader = metrics === null ? null : await openReader(options, metrics, resource);
  return {
    traces: createTraces({ sender, metrics, sample, database, parse: parseTraceParent }),
    async close(waitMs) {
      await Promise.all([sender?.close(waitMs), reader?.close(waitMs)]);
      await Promise.all(queues.map((queue) => queue.close(waitMs)));
    },
  };
}

type Attributes = ReturnType<typeof import('@opentelemetry/resources')['defaultResource']>['attributes'];

type Send = (batch: SpanBatch) => Promise<string | null>;

/** Sends bodies to one receiver by OpenTelemetry's own exporter. */
async function openExport(
  signal: ReturnType<typeof ofSignal>,
  { onTrouble }: Pick<TelemetryOptions, 'onTrouble'>,
  contentType = protobuf,
): Promise<{ send: Send; shown: string }> {
  const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = await import(
    '@opentelemetry/otlp-exporter-base/node-http'
  );
  const settings = convertLegacyHttpOptions(signal, 'TRACES', 'v1/traces', contentType);
  const headers = await settings.headers();
  const shown = placeOf(settings.url);
  let [rejected, reportedMs] = [0, -rejectionsEachMs];
  const deserializeResponse = (response: Uint8Array) => {
    const { spans, message } = readRejection(response);
    rejected += spans;
    const nowMs = performance.now();
    if ((spans === 0 && message === '') || nowMs - reportedMs < rejectionsEachMs) return null;
    onTrouble(`traces were sent to ${shown}, which rejected ${rejected} spans: ${withoutHeaders(message, headers)}`);
    [rejected, reportedMs] = [0, nowMs];
    return null;
  };
  const exporter = createOtlpHttpExportDelegate<SpanBatch, null>(
    settings,
    {
      serializeRequest: ({ body }) => body,
      deserializeResponse: contentType === protobuf ? deserializeResponse : () => null,
    },
    'otlp_http_span_exporter',
    { name: 'span', countItems: ({ spans }) => spans },
    undefined,
  );
  const send: Send = (batch) =>
    new Promise((resolve) => {
      // The exporter's own timer begins anew with each byte: a receiver that drips would hold all spans for ever.
      const late = setTimeout(() => resolve('it did not answer in time'), deadlinesOfSend * settings.timeoutMillis);
      exporter.export(batch, ({ error, code }) => {
        clearTimeout(late);
        resolve(code === 0 ? null : reasonOf(error, headers));
      });
    });
  return { send, shown };
}

async function openLogger({ name, takes, url, headers }: LoggerForm, options: TelemetryOptions): Promise<LoggerQueue> {
  const { send, shown } = await openExport(
    { url, headers: { ...headers } },
    options,
    takes === 'otlp' ? protobuf : json,
  );
  return new LoggerQueue({
    async send(batch) {
      const logs = takes === 'otlp' ? null : heliconeLogs(batch.body);
      if (logs?.length === 0) return 'empty';
      const why = logs === null ? await send(batch) : await sendLogs(logs, send);
      return why === null ? 'done' : { why };
    },
    onLost: (why) =>
      options.onTrouble(
        `traces cannot be sent to the logger '${name}' (${shown}): ${why}; they are lost until it answers`,
      ),
    onBack: (lost) => options.onBack(`traces are sent to the logger '${name}' again; ${lost} spans were lost`),
  });
}

/** Sends some at once. The first that is given up ends the rest: the service is away, or refuses them all. */
async function sendLogs(logs: readonly HeliconeLog[], send: Send): Promise<string | null> {
  for (let at = 0; at < logs.length; at += logsAtOnce) {
    const bodies = logs.slice(at, at + logsAtOnce).map((log) => Buffer.from(JSON.stringify(log)));
    const failures = await Promise.all(bodies.map((body) => send({ body, spans: 1 })));
    const why = failures.find((one) => one !== null);
    if (why !== undefined) return why;
  }
  return null;
}

async function openSender(
  options: TelemetryOptions,
  attributes: Attributes,
  queues: readonly LoggerQueue[],
): Promise<SpanSender> {
  const receiver = options.receives ? await openExport(ofSignal(options, 'v1/traces'), options) : null;
  const shown = receiver?.shown ?? '';
  return new SpanSender({
    resource: Buffer.concat(
      Object.entries(attributes).map(([key, value]) => resourceAttribute(key, value as string | number)),
    ),
    scope: Buffer.concat([
      lengthDelimited(0x0a, Buffer.from('culvert')),
      lengthDelimited(0x12, Buffer.from(options.version)),
    ]),
    async send(batch) {
      for (const queue of queues) queue.take(batch);
      return receiver === null ? null : receiver.send(batch);
    },
    onLost: (why) =>
      options.onTrouble(`traces cannot be sent to ${shown}: ${why}; they are lost until it answers again`),
    onBack: (lost) => options.onBack(`traces are sent to ${shown} again; ${lost} spans were lost`),
  });
}

async function openReader(
  options: TelemetryOptions,
  metrics: AttemptMetrics,
  resource: ReturnType<typeof import('@opentelemetry/resources')['defaultResource']>,
): Promise<{ close(waitMs: number): Promise<void> }> {
  const [sdk, { OTLPMetricExporter }, { convertLegacyHttpOptions }] = await Promise.all([
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/exporter-metrics-otlp-proto'),
    import('@opentelemetry/otlp-exporter-base/node-http'),
  ]);
  const signal = ofSignal(options, 'v1/metrics');
  const exporter = new OTLPMetricExporter(signal);
  const settings = convertLegacyHttpOptions(signal, 'METRICS', 'v1/metrics', protobuf);
  const shown = placeOf(settings.url);
  const headers = await settings.headers();
  let inTrouble = false;
  const send = exporter.export.bind(exporter);
  // The reader tells nobody that an export failed.
  exporter.export = (metrics, done) =>
    send(metrics, (result) => {
      const isLost = result.code !== 0;
      if (isLost && !inTrouble)
        options.onTrouble(`metrics cannot be sent to ${shown}: ${reasonOf(result.error, headers)}`);
      if (!isLost && inTrouble) options.onBack(`metrics are sent to ${shown} again`);
      inTrouble = isLost;
      done(result);
    });
  const reader = new sdk.PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: metricsIntervalMs,
    metricProducers: [metrics.producer(sdk, resource, options.version)],
  });
  const provider = new sdk.MeterProvider({ resource, readers: [reader] });
  return {
    async close(waitMs) {
      // A receiver that is gone has been reported, or is none of the shutdown's business.
      await provider.shutdown({ timeoutMillis: waitMs }).catch(() => undefined);
    },
  };
}

/** The configuration takes precedence over the variables, which the exporters read themselves. */
function ofSignal({ endpoint, headers }: TelemetryOptions, path: string) {
  const url = endpoint === null ? {} : { url: `${endpoint.replace(/\/+$/, '')}/${path}` };
  return { ...url, ...(Object.keys(headers).length > 0 && { headers: { ...headers } }) };
}

/** Why nothing was taken. */
function reasonOf(error: Error | undefined, headers: Readonly<Record<string, string>>): string {
  return error === undefined ? 'they were refused' : withoutHeaders(error.message, headers);
}

/** Text of a receiver without our headers, which it may repeat. */
function withoutHeaders(words: string, headers: Readonly<Record<string, string>>): string {
  const secrets = Object.values(headers).flatMap((value) => [value, ...value.split(' ')]);
  return secrets
    .filter(({ length }) => length >= secretCharsMin)
    .reduce((text, secret) => text.replaceAll(secret, '[redacted]'), words)
    .slice(0, reasonCharsMax);
}

/** For messages: without a user, a password or a query. */
function placeOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
