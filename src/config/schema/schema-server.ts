import { z } from 'zod';
import { urlsOfHosts } from '../../kernel/web/urls-of-hosts.ts';
import { guardNames } from '../guard-names.ts';
import { duration, httpUrl, network, networkOrPlace, secret, signingSecret, size, someText } from '../scalars.ts';

const origin = z
  .string({ error: 'expected an origin such as https://app.example.org' })
  .regex(
    /^(\*|[a-z][a-z\d+.-]*:\/\/[^/\s]+)$/i,
    'expected an origin such as https://app.example.org, without a path, or "*"',
  );

/** A word, or a URL that its client can read: what clients say of another one holds the password. */
function storeUrl(form: RegExp, expected: string) {
  return z
    .string()
    .regex(form, { error: expected, abort: true })
    .refine((text) => !text.includes('://') || isReadable(text), {
      error: `${expected}: this URL cannot be read; characters of a password that mean something in a URL are written as %40 for @, %2F for /, %23 for #, %3F for ?, %25 for %`,
    })
    .meta({ mark: 'address', has_user: true });
}

function isReadable(text: string): boolean {
  // A socket's folder may be in ?host=, with no host before the path. PostgreSQL's client takes a stray % for itself.
  if (text.startsWith('postgres'))
    return urlsOfHosts(text).every((one) => URL.canParse(one.replace('@/', '@localhost/')));
  const url = URL.parse(text);
  if (url === null) return false;
  try {
    decodeURIComponent(url.username + url.password);
    return true;
  } catch {
    return false;
  }
}

/** Most worker processes of one server. */
const processesMax = 128;

/** Where Culvert listens, and its bounds for callers. */
export const serverSchema = z
  .strictObject({
    host: someText(255)
      .default('127.0.0.1')
      .describe('Address to listen on. Anything but loopback needs at least one key.'),
    port: z.int().min(0).max(65_535).default(4141).describe('Port to listen on; 0 takes a free one.'),
    processes: z
      .union([z.literal('auto'), z.int().min(1).max(processesMax)], {
        error: `expected auto or a number from 1 to ${processesMax}`,
      })
      .default(1)
      .describe(
        'Worker processes that share the port, each on a core. They share the embedded storage, or PostgreSQL and Redis. `auto`: the cores above two, with the embedded storage at most four. Read at the start.',
      ),
    public_url: httpUrl()
      .optional()
      .describe(
        "How callers reach this server, for links in answers. It may have a path, which requests have or not. Default: the request's Host.",
      ),
    unknown_models: z
      .enum(['nearest', 'refuse'])
      .optional()
      .describe(
        'What a conversation gets for a model that nobody has, such as `claude-…` of a coding assistant: the first chat model of the key, labelled `x-culvert-unknown-model`, or 404. Default: `nearest` while neither file nor environment names a provider or a model, else `refuse`.',
      ),
    guards: guardNames().describe('Guards of all requests and answers.'),
    body_limit: size({ max: '512mb' }).prefault('32mb').describe('Largest JSON body. A larger one returns 413.'),
    body_memory: size({ max: '64gb' })
      .prefault('512mb')
      .describe(
        'Bytes of JSON bodies, and of answers of the vector store, in memory at once; half of it for one account. Beyond that a request returns 503. In a container of less than 3.3 GB it is less, and never less than `body_limit`.',
      ),
    upload_limit: size({ max: '4gb' })
      .prefault('100mb')
      .describe('Largest multipart upload (audio, images). A larger one returns 413.'),
    realtime: z
      .strictObject({
        idle: duration({ min: '1s', max: '1d' })
          .prefault('10m')
          .describe('A session in which nothing is sent either way for so long is closed.'),
        longest: duration({ min: '1s', max: '7d' }).prefault('2h').describe('A session is closed after that.'),
        message_limit: size({ max: '512mb' })
          .prefault('24mb')
          .describe('Largest message of a session, either way. A larger one closes it with 1009.'),
      })
      .prefault({})
      .describe('Realtime sessions (`/v1/realtime`).'),
    cors_origins: z
      .array(origin)
      .max(1_000)
      .default([])
      .describe('Web origins that may call from a browser. Empty: CORS is off.'),
    trusted_proxies: z
      .array(network())
      .max(1_000)
      .default([])
      .describe('Proxies whose X-Forwarded-For, -Proto and -Prefix Culvert believes.'),
    connections_per_address: z
      .int()
      .min(1)
      .max(1_000_000)
      .optional()
      .describe(
        'Connections that one address may have, or one network of 64 bits of IPv6; trusted proxies as many as there are. Default: 2000, and no limit for loopback.',
      ),
    overload: z
      .union([
        z.literal('off'),
        z.strictObject({
          delay: duration({ min: '10ms', max: '1m' })
            .prefault('5s')
            .describe('Longest time that a request waits for its turn. One that would wait longer gets 503 at once.'),
        }),
      ])
      .prefault({})
      .describe(
        'When requests come faster than they can be served, they take turns by account, and the excess gets 503 with Retry-After. `off`: all are begun, however long they take.',
      ),
    smtp: z
      .strictObject({
        url: z
          .string()
          .regex(/^smtps?:\/\/\S+$/, 'expected a URL such as smtps://user:password@mail.example.org')
          .refine(isReadable, 'this URL cannot be read; characters such as @ in a password are written as %40')
          .meta({ mark: 'address', has_user: true })
          .describe('`smtps://` speaks TLS from the start, `smtp://` as soon as the server offers it.'),
        from: z
          .string()
          .max(320)
          .regex(/[^\s<>@]@[^\s<>@]/, 'expected a sender such as Culvert <culvert@example.org>')
          .describe('Sender, such as `Culvert <culvert@example.org>`.'),
      })
      .optional()
      .describe('The mail server for alerts, statements and invitations.'),
    drain_delay: duration({ max: '10m' })
      .prefault('0s')
      .describe(
        'How long all requests are still served after SIGTERM, while /readyz answers 503. A load balancer that asks /readyz needs it to notice.',
      ),
    shutdown_grace: duration({ max: '1h' })
      .prefault('30s')
      .describe('How long running streams may go on after SIGTERM and the drain delay.'),
  })
  .describe('Where Culvert listens and what it takes from callers.');

/** The operator's own access. */
export const adminSchema = z
  .strictObject({
    key: secret(16)
      .optional()
      .describe('Key of the admin API and /metrics. Default: one is generated into the data folder.'),
    dashboard: z
      .boolean()
      .default(true)
      .describe('Serve the dashboard at /dashboard and the page of a caller at /account. Read at the start.'),
  })
  .describe('These keys are about the access of the operator.');

const bucketForm = /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[\w.-]+)*\/?$/;

/** A bucket and maybe a folder in it: `s3://pictures/culvert`. */
export function bucketUrl() {
  return z.string().regex(bucketForm, 'expected a bucket such as s3://records/culvert');
}

/** How S3-compatible storage is reached; every key is optional. */
export const s3Schema = z
  .strictObject({
    endpoint: httpUrl()
      .optional()
      .describe(
        'Address of the storage, such as https://minio.internal:9000. Default: `AWS_ENDPOINT_URL`, else Amazon.',
      ),
    region: z
      .string()
      .regex(/^[\w-]{1,64}$/, 'expected a region such as eu-central-1')
      .meta({ mark: 'address' })
      .optional()
      .describe('Default: `AWS_REGION`, else `us-east-1`.'),
    path_style: z
      .boolean()
      .optional()
      .describe(
        'true: https://endpoint/bucket/…; false: https://bucket.endpoint/…. Default: true with an endpoint, else false.',
      ),
    access_key_id: someText().optional().describe('Default: `AWS_ACCESS_KEY_ID`.'),
    secret_access_key: secret().optional().describe('Default: `AWS_SECRET_ACCESS_KEY`.'),
    session_token: secret().optional().describe('Of temporary keys. Default: `AWS_SESSION_TOKEN`.'),
  })
  .describe('How buckets (`s3://…`) are reached.');

/** Where data is kept. */
export const storageSchema = z
  .strictObject({
    data_dir: someText().default('./.culvert').describe('Folder for databases, files and generated keys.'),
    database: storeUrl(/^(sqlite|postgres(ql)?:\/\/\S+)$/, 'expected sqlite or a URL such as postgres://user@host/db')
      .default('sqlite')
      .describe(
        'Accounts, keys and the ledger: `sqlite` (in the data folder) or a `postgres://` URL, of several hosts where one of them takes writes (`host1,host2:5433`).',
      ),
    state: storeUrl(
      /^(memory|rediss?:\/\/\S+|rediss?\+cluster:\/\/[^\s/]+(\/0?)?(\?\S*)?|rediss?\+sentinel:\/\/[^\s/]+\/[^\s/?]+(\/\d*)?(\?\S*)?)$/,
      'expected memory, or a URL such as redis://host:6379, redis+sentinel://host:26379/NAME, or redis+cluster://host:6379 (of a cluster, which has database 0 alone)',
    )
      .default('memory')
      .describe(
        'Quota counters: `memory` (one process), a `redis://` URL, `redis+sentinel://` with the name of a primary, or `redis+cluster://`.',
      ),
    files: z
      .union([
        z.literal('local'),
        z.string().regex(bucketForm, 'expected local or a bucket such as s3://pictures/culvert'),
      ])
      .default('local')
      .describe(
        'Pictures that are served by a link: `local` (in the data folder) or `s3://BUCKET/FOLDER`, which replicas share. Read at the start.',
      ),
    s3: s3Schema.prefault({}),
    on_state_loss: z
      .enum(['deny', 'local'])
      .default('deny')
      .describe('When Redis is gone: refuse with 503, or enforce a share of each limit locally.'),
    secret: signingSecret()
      .optional()
      .describe(
        'Encrypts stored credentials and signs links, ≥ 32 bytes; shared by all replicas. Default: generated into the data folder; with Redis it must be given.',
      ),
    earlier_secrets: z
      .array(signingSecret())
      .max(10)
      .default([])
      .describe(
        'What secret was before: it still opens what it sealed. `culvert secret rotate` seals everything that is kept anew, and says when it may be removed.',
      ),
    reserve: size()
      .optional()
      .describe(
        'Free space on the disk of the data folder that is kept for the ledger: below it vectors, pages, pictures, uploads and kept replies are refused. Default: 512mb, or 5% of the disk where that is less.',
      ),
    responses: z
      .strictObject({
        enabled: z
          .boolean()
          .default(true)
          .describe('Keep responses that callers do not send `"store": false` with, and conversations.'),
        except: z
          .array(someText())
          .max(1_000)
          .default([])
          .describe('Keys (`account/name`, `*` for any part) whose responses are not kept.'),
        retention: duration({ min: '1m' })
          .prefault('30d')
          .describe('How long a response or a conversation is kept after it was last continued.'),
      })
      .prefault({})
      .describe('Responses and conversations (`/v1/responses`, `/v1/conversations`).'),
    bodies: z
      .strictObject({
        retention: duration({ min: '1m' }).prefault('7d').describe('How long bodies of requests are kept.'),
        max_bytes: size().prefault('1gb').describe('Bytes of all kept bodies together. Then the oldest go.'),
      })
      .prefault({})
      .describe('Requests and answers of keys, accounts and models whose bodies an operator has kept for a time.'),
    cache: z
      .strictObject({
        max_per_scope: size()
          .prefault('64mb')
          .describe('Bytes that one scope may keep, such as one key. Then its oldest answers go.'),
        max: size().prefault('1gb').describe('Bytes that all scopes together may keep.'),
      })
      .prefault({})
      .describe(
        'Answers that models with `cache` keep: `cache.db` in the data folder, or Redis where `state` names one. Read at the start.',
      ),
    files_retention: duration({ min: '1h' })
      .prefault('30d')
      .describe('How long uploaded files (`/v1/files`), batches that have ended and their results are kept.'),
    provider_objects: duration({ min: '30d', max: '3650d' })
      .prefault('365d')
      .describe(
        'How long after its last use Culvert remembers which key has an object that its provider keeps until it is deleted, such as a file or a fine-tuned model.',
      ),
    retention: duration({ min: '1d' })
      .prefault('90d')
      .describe('How long single requests are kept in the ledger, and pages that were read.'),
  })
  .describe('Where things are kept.');

export const batchesSchema = z
  .strictObject({
    upstream: z
      .enum(['auto', 'never'])
      .default('auto')
      .describe(
        "auto: lines whose model runs at providers with a batch API go there, for less, where the batch has a day or more. never: Culvert asks for each line itself. A provider's `batches` narrows or widens it.",
      ),
  })
  .describe('How batches run (`/v1/batches`, `/v1/messages/batches`).');

/** Addresses of callers that the guard allows. */
export const fetchSchema = z
  .strictObject({
    ports: z
      .array(z.int().min(1).max(65_535))
      .max(100)
      .default([80, 443, 8080, 8443])
      .describe('Ports that may be fetched from.'),
    allow_private: z
      .array(networkOrPlace())
      .max(1_000)
      .default([])
      .describe('Networks (CIDR) or host:port that are let through although they are private.'),
  })
  .describe('These keys say what Culvert may fetch when a caller gives a URL (pages, images).');
