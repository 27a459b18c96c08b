import { z } from 'zod';
import {
  duration,
  httpUrl,
  name,
  percentage,
  secret,
  size,
  someText,
  timeZone,
  webhookSecret,
  webhookUrl,
} from '../scalars.ts';
import { headersSchema } from './schema-route.ts';
import { bucketUrl } from './schema-server.ts';

/** Members that a service needs, in addition to those that every one may have. */
const needs = {
  langfuse: ['public_key', 'api_key'],
  datadog: ['api_key'],
  braintrust: ['api_key', 'project'],
  arize: ['api_key', 'space', 'project'],
  mlflow: ['url', 'experiment'],
  wandb: ['api_key', 'entity', 'project'],
  helicone: ['api_key'],
} as const;

type Service = keyof typeof needs;

const may: Readonly<Record<Service, readonly string[]>> = {
  langfuse: [],
  datadog: ['site'],
  braintrust: [],
  arize: [],
  mlflow: ['api_key'],
  wandb: [],
  helicone: [],
};

const shared = ['type', 'name', 'url', 'headers'];
const word = (description: string) => someText(256).optional().describe(description);

const loggerSchema = z
  .strictObject({
    type: z.enum(Object.keys(needs) as [Service, ...Service[]]).describe('The service.'),
    name: name('a logger').optional().describe('Name for the log. Default: the type.'),
    url: httpUrl()
      .optional()
      .describe('Base URL of an own installation. `mlflow` needs it. Default: that of the service.'),
    api_key: secret().optional().describe('API key. Of `langfuse` the secret key, of `mlflow` a bearer token.'),
    public_key: word('Public key of `langfuse`.'),
    project: word('Project of `braintrust`, `arize` or `wandb`.'),
    space: word('Space of `arize`, by its id.'),
    entity: word('Team or user of `wandb`.'),
    experiment: word('Experiment of `mlflow`, by its id.'),
    site: word('Site of `datadog`. Default: datadoghq.com.').meta({ mark: 'address' }),
    headers: headersSchema('Further headers, in place of those of the service where they have the same name.'),
  })
  .superRefine((logger, context) => {
    const { type } = logger;
    const given = Object.entries(logger).flatMap(([member, value]) => (value === undefined ? [] : [member]));
    for (const member of needs[type])
      if (!given.includes(member)) context.addIssue({ code: 'custom', path: [member], message: `${type} needs it` });
    const known: readonly string[] = [...shared, ...needs[type], ...may[type]];
    for (const member of given)
      if (!known.includes(member))
        context.addIssue({ code: 'custom', path: [member], message: `${type} has no such setting` });
  });

const loggersSchema = z
  .array(loggerSchema)
  .max(10)
  .default([])
  .describe('Services that get the traces, each by its own form. Read at the start.');

function isOneOf(...given: unknown[]): boolean {
  return given.filter((one) => one !== undefined).length === 1;
}

function hasSecretOfWebhook({ webhook, secret }: { webhook?: unknown; secret?: unknown }): boolean {
  return (webhook === undefined) === (secret === undefined);
}

const secretFault = { error: 'webhook and secret need each other', path: ['secret'] };

const sinkSchema = z
  .strictObject({
    name: name('a sink').describe(
      'Culvert keeps the place of the sink in the ledger under this name. Under another name the sink begins anew.',
    ),
    s3: bucketUrl()
      .optional()
      .describe('`s3://BUCKET/FOLDER` gets an object for each batch. `storage.s3` says how the bucket is reached.'),
    webhook: webhookUrl().optional().describe('This URL gets each batch by POST.'),
    secret: webhookSecret().optional().describe('Signs what the webhook gets (Standard Webhooks), ≥ 32 bytes.'),
    folder: someText().optional().describe('This folder on the machine gets a file for each batch.'),
    bodies: z
      .boolean()
      .default(false)
      .describe('Whether records hold the bodies of the keys that `telemetry.log.bodies` names.'),
    batch_records: z.int().min(1).max(10_000).default(1_000).describe('Largest number of records in a batch.'),
    batch_size: size({ max: '64mb' })
      .prefault('4mb')
      .describe('Largest size of a batch. A longer record is sent alone.'),
    every: duration({ min: '100ms', max: '1d' })
      .prefault('30s')
      .describe('Time between two batches. Full batches follow each other at once.'),
  })
  .refine(({ s3, webhook, folder }) => isOneOf(s3, webhook, folder), 'a sink has one of s3, webhook and folder')
  .refine(hasSecretOfWebhook, secretFault);

function addresses(example: string) {
  return z
    .array(z.email(`expected an address such as ${example}`))
    .min(1)
    .max(50);
}

/** Receivers of one kind, with different names. */
function receivers<T extends z.ZodType<{ name: string }>>(receiver: T) {
  return z
    .array(receiver)
    .max(20)
    .refine((list) => new Set(list.map((one) => one.name)).size === list.length, 'two receivers have the same name')
    .default([]);
}

const alertReceiverSchema = z
  .strictObject({
    name: name('a receiver').describe('Name of the receiver in the log, and in the queue of what waits for it.'),
    slack: webhookUrl().optional().describe('Incoming webhook of Slack, or of a service that takes its format.'),
    teams: webhookUrl().optional().describe('Webhook of Microsoft Teams: the URL of its workflow for webhook alerts.'),
    email: addresses('ops@example.org')
      .optional()
      .describe('Addresses that get the alerts by mail, from the server that `server.smtp` names.'),
    webhook: webhookUrl().optional().describe('This URL gets the alerts as JSON, by POST.'),
    secret: webhookSecret().optional().describe('Signs what the webhook gets (Standard Webhooks), ≥ 32 bytes.'),
  })
  .refine(
    ({ slack, teams, email, webhook }) => isOneOf(slack, teams, email, webhook),
    'a receiver has one of slack, teams, email and webhook',
  )
  .refine(hasSecretOfWebhook, secretFault);

const alertsSchema = z.strictObject({
  to: receivers(alertReceiverSchema).describe('Who is notified when something goes wrong, and when it is over.'),
  error_rate: percentage()
    .prefault('20%')
    .describe(
      'Culvert warns if this share of the requests of five minutes fails. It needs at least 20 requests for that.',
    ),
  every: duration({ min: '1s', max: '1h' })
    .prefault('15s')
    .describe('How often Culvert looks for problems. An alert is over when four looks in a row did not find it.'),
  quiet: duration({ max: '1d' })
    .prefault('15m')
    .describe(
      'Shortest time between two messages about the same alert. If the alert comes back sooner, Culvert waits that long, and sends it only if it still lasts.',
    ),
});

const statementReceiverSchema = z
  .strictObject({
    name: name('a receiver').describe('Name of the receiver in the log, and in the list of what was sent.'),
    accounts: z
      .array(name('an account'))
      .min(1)
      .max(1_000)
      .optional()
      .describe('Only these accounts are in its statement. Default: all.'),
    email: addresses('finance@example.org')
      .optional()
      .describe('Addresses that get the statement by mail, from the server that `server.smtp` names.'),
    webhook: webhookUrl().optional().describe('This URL gets the statement as JSON, by POST.'),
    secret: webhookSecret().optional().describe('Signs what the webhook gets (Standard Webhooks), ≥ 32 bytes.'),
  })
  .refine(({ email, webhook }) => isOneOf(email, webhook), 'a receiver has one of email and webhook')
  .refine(hasSecretOfWebhook, secretFault);

const statementsSchema = z.strictObject({
  time_zone: timeZone().default('UTC').describe('Where a month begins and ends, such as Europe/Berlin.'),
  to: receivers(statementReceiverSchema).describe(
    'Who gets the statement of each month. Where there is a receiver, Culvert closes the month that is over.',
  ),
});

/** Keys whose contents are recorded; false: none. */
function keysOrNone() {
  const error = 'expected false or a list of keys such as [dev/laptop]';
  return z.union([z.literal(false), z.array(someText()).max(100)], { error }).default(false);
}

/** Logs and metrics. */
export const telemetrySchema = z
  .strictObject({
    log: z
      .strictObject({
        level: z
          .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
          .default('info')
          .describe('Least important level that is written.'),
        bodies: keysOrNone().describe(
          'Keys (`account/name`) whose request and answer bodies of model calls are logged, for debugging: up to 64 KB of each, without credentials. Default: none.',
        ),
      })
      .prefault({})
      .describe('The log on standard output.'),
    alerts: alertsSchema.prefault({}).describe('Messages about what goes wrong, to people and programs.'),
    statements: statementsSchema
      .prefault({})
      .describe('What each account used in a month, sent when the month is over.'),
    sinks: z
      .array(sinkSchema)
      .max(10)
      .refine((sinks) => new Set(sinks.map((sink) => sink.name)).size === sinks.length, 'two sinks have the same name')
      .default([])
      .describe('Where the record of every request goes, as JSON lines, at least once. Read at the start.'),
    loggers: loggersSchema,
    prometheus: z.boolean().default(true).describe('Serve /metrics to the admin key.'),
    otlp: z
      .strictObject({
        endpoint: httpUrl()
          .optional()
          .describe(
            'Base URL of a receiver of OTLP over HTTP, such as http://127.0.0.1:4318; /v1/traces and /v1/metrics are added. Default: what OTEL_EXPORTER_OTLP_ENDPOINT says. Without either nothing is sent.',
          ),
        headers: headersSchema('Headers sent to the receiver, such as Authorization.'),
        traces: z.boolean().default(true).describe('Send traces.'),
        metrics: z.boolean().default(true).describe('Send the metrics of the GenAI conventions, every minute.'),
        sample: z
          .number()
          .min(0)
          .max(1)
          .default(1)
          .describe("Share of the traces that are recorded, 0 to 1. A caller's `traceparent` decides for its own."),
        content: keysOrNone().describe(
          'Keys (`account/name`) whose messages and answers are in the spans of their conversations: up to 64 KB of each, without credentials. Default: none.',
        ),
      })
      .prefault({})
      .describe('OpenTelemetry, by OTLP. Culvert reads these keys at the start, and `content` at every reload too.'),
  })
  .describe('These keys are about logs and metrics.');
