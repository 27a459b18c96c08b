import type { ErrorTopic } from '../../src/kernel/error-topic.ts';
import {
  errorTypeOf,
  type FailureKind,
  failureStatus,
  type PageRefusal,
  pageRefusalStatus,
} from '../../src/kernel/failure.ts';

interface Entry {
  /** The cause, in whole sentences. */
  cause: string;
  /** The caller's or the operator's remedy. */
  remedy: string;
}

/** A topic without an entry does not compile. */
const requestErrors = {
  'invalid-request': {
    cause:
      'A field of the request has the wrong type or value, a required field is missing, or no target of the model can do what the request asks. `param` names the field.',
    remedy:
      'Change the field that `param` and `message` name. `culvert explain BODY.json` checks a body without sending it. Do not repeat the request unchanged.',
  },
  unauthenticated: {
    cause:
      'The request has no key, or the key is unknown, revoked or expired. A browser gets this when its session is over.',
    remedy:
      "Send a key as `Authorization: Bearer sk-cv-…` (`x-culvert-key`, `x-api-key`, `api-key`, `x-goog-api-key` and `x-portkey-api-key` work too). A model that is asked with [its caller's subscription](subscriptions.md) needs that credential as well. `culvert keys create` makes a new key; `culvert dashboard` makes a new login link.",
  },
  forbidden: {
    cause:
      'The key is known and may not do this. Its account is suspended, or its network is not allowed. It may also be an admin key where an API key is needed (or the reverse), or its role does not include the operation.',
    remedy:
      'Read `message`: it says which of these it is. Use a key of the right kind, or ask an operator to activate the account (`culvert accounts activate`), to allow the address, or to change the role.',
  },
  'model-unknown': {
    cause:
      'No model has this name, or `only` of the model names other accounts. Callers cannot tell which, but `culvert explain` does.',
    remedy:
      '`message` lists the models of this key and the nearest name. `GET /v1/models` lists all of them. Models of a provider that has no list are named under `models`; a pattern such as `"mine/*"` names all of them.',
  },
  'model-not-in-plan': {
    cause: 'The model exists. The plan of the account, the key or the model itself does not allow it for this caller.',
    remedy:
      'Use a model that `message` lists. An operator can add the model to `plans.NAME.models`, to the key, or to `models.NAME.only`.',
  },
  'not-found': {
    cause:
      'The path, or the object that it names (a request, a collection, a point, a crawl, a file), does not exist for this key.',
    remedy:
      'Check the path: `message` names the nearest one, and `GET /openapi.json` lists every path. Objects of other accounts look as if they did not exist.',
  },
  'method-not-allowed': {
    cause: 'The path exists and does not take this HTTP method.',
    remedy: 'Use a method that the `Allow` header and `message` name.',
  },
  'request-timeout': {
    cause: 'The headers or the body of the request arrived too slowly.',
    remedy:
      'Send the request again, over a faster connection: a body must bring at least 64 KB in every 60 seconds ([limits](limits.md#what-all-callers-share)).',
  },
  conflict: {
    cause:
      'Something with this name exists already, another change came in the meantime, or a request with the same `Idempotency-Key` still runs or had another body.',
    remedy:
      'Read what is there now and decide again. For an `Idempotency-Key`, wait for `Retry-After` and repeat the same body, or use a new key for a new body.',
  },
  'body-too-large': {
    cause: 'The request body is larger than the server takes on this path.',
    remedy:
      'Send less concurrently, or let the operator raise `server.body_limit` (JSON) or `server.upload_limit` (files).',
  },
  'unsupported-media-type': {
    cause: 'The `Content-Type` of the request is missing or is one that this path does not read.',
    remedy: 'Send the type that `message` names, for most paths `application/json`.',
  },
  'unsupported-encoding': {
    cause: 'The body is compressed in a way that the server does not read, or it is not text in UTF-8.',
    remedy:
      'Send the body without `Content-Encoding`, in UTF-8. JSON may be `gzip`, `deflate`, `br` or `zstd`; `server.body_limit` bounds it before and after it is unpacked.',
  },
  'upgrade-required': {
    cause: 'The client asked for a WebSocket or another protocol.',
    remedy: 'Use plain HTTP/1.1 requests. Streams are server-sent events: send `"stream": true`.',
  },
  'headers-too-large': {
    cause: 'The request has more than 16 KB of headers, or more than 1,000 of them.',
    remedy: 'Send fewer or smaller headers. Large cookies of other sites on the same domain are a common cause.',
  },
  unsupported: {
    cause: 'The request asks for something that this server, or its installation, cannot do.',
    remedy:
      'Read `message`: it names what is missing, such as ffmpeg or Chromium, with the command that installs it, or the feature that Culvert does not have.',
  },
} satisfies Partial<Record<ErrorTopic, Entry>>;

const limitErrors = {
  'quota-exceeded': {
    cause: 'A limit without a separate entry is reached. `limit` names it.',
    remedy: 'Wait until `resets_at`, where it is given, or ask the operator for a larger limit.',
  },
  'limit-window': {
    cause: 'The account used all requests of its 5-hour, 7-day or 30-day window. `used` and `allowed` say how many.',
    remedy:
      'Wait until `resets_at`: the window rolls, so requests come back one by one. `GET /v1/usage` shows every limit. An operator raises `plans.NAME.windows`.',
  },
  'limit-minute': {
    cause: 'The account sent more requests within 60 seconds than its plan allows (`rpm`).',
    remedy: 'Wait for `Retry-After` and send at a steadier pace. An operator raises `plans.NAME.rpm`.',
  },
  'limit-free': {
    cause:
      'The account made too many free calls (models, usage, token counts) within 60 seconds. 20 of them count as one.',
    remedy: 'Ask less often, and keep what `GET /v1/models` and `GET /v1/usage` answer for some seconds.',
  },
  'limit-concurrency': {
    cause: 'As many requests of the account run concurrently as its plan allows.',
    remedy:
      'Wait until one of them has ended, and send fewer in parallel. An operator raises `plans.NAME.concurrency`.',
  },
  'limit-tier': {
    cause: 'The limit of a tier of models is reached, while other models may still be used.',
    remedy:
      'Use a model of another tier, or wait until `resets_at`. An operator changes `tiers` or `plans.NAME.tier_limits`.',
  },
  'limit-tokens': {
    cause: 'The account used all tokens of a minute (`tpm`) or of a window (`tokens`).',
    remedy:
      'Wait until `resets_at`, or send shorter prompts. An operator raises `plans.NAME.tpm` or `plans.NAME.tokens`.',
  },
  'limit-budget': {
    cause: 'The account spent its budget in USD for the window.',
    remedy: 'Wait until `resets_at`, or use a cheaper model. An operator raises `plans.NAME.budget`.',
  },
  'limit-storage': {
    cause: 'The account keeps as many bytes on the disk of the server as its plan allows.',
    remedy:
      'Delete vectors, crawls or files: deletes always pass, and room is free again within seconds. An operator raises `plans.NAME.storage`.',
  },
  'limit-crawls': {
    cause: 'The account has as many crawls under way as one account may have.',
    remedy: 'Wait until one of them has ended, or cancel one with `DELETE /v1/tools/crawl/{id}`.',
  },
  'limit-logins': {
    cause: 'Too many logins to the dashboard failed from this address, or from all addresses together.',
    remedy:
      'Wait for the seconds that `message` says. `culvert dashboard` prints a link that logs in without a password.',
  },
} satisfies Partial<Record<ErrorTopic, Entry>>;

const providerErrors = {
  'upstream-refused': {
    cause:
      'The provider found fault with the request itself. Its status and its message are passed on, with the name of the provider before the message. A 403 by which Deepgram refuses a voice is a 400 here. No other provider is asked, since the request would fail there too. If its model lacks what is asked for, such as a parameter, Culvert asked every other target first, and none of them may answer later.',
    remedy: 'Change the request as the message says. `code` has the word of the provider, where it has one.',
  },
  'context-length-exceeded': {
    cause:
      'The prompt has more tokens than the model takes. Culvert asked every target whose context is larger or unknown.',
    remedy:
      'Shorten the conversation, or use a model with a larger context. Clients that compact automatically recognise this error.',
  },
  'upstreams-failed': {
    cause:
      'Every attempt at every provider of the model failed. `message` names each provider with its reason. Nothing is charged, unless the deadline of the caller (`x-culvert-timeout-ms`) passed while a provider worked ([callers who leave](limits.md#what-counts)).',
    remedy:
      'Send the request again: the error is transient, unless `message` says what the operator must change first (`x-should-retry: false`): a refused credential, a spent quota, a model that the provider does not have, a region, or a certificate that is over or not trusted. `culvert requests show ID` shows every attempt. If it stays, the operator checks `culvert check --live` and adds a target or a fallback to the model.',
  },
  'answer-broken-off': {
    cause:
      'The answer had begun when the provider broke it off. Culvert cannot take back the part that it already sent, so it asked no other provider. If the provider gave a status (429 or 5xx), a code or further members, the error has them.',
    remedy: 'Send the request again, and drop what was received.',
  },
  'upstreams-limited': {
    cause:
      'Every provider that can answer says that it is rate limited. The limit is the provider’s and not that of a plan: the header `x-culvert-limited-by: upstream` marks it.',
    remedy: 'Wait for `Retry-After`. The operator adds a credential or another provider to the model.',
  },
  'mcp-failed': {
    cause:
      'The MCP server that has the tool gave no result: it could not be reached, took too long, or its answer was too large or no answer at all. `message` says which.',
    remedy:
      'Try again, or ask an operator to look at the server: `culvert mcp-servers list` shows its state. Its `timeout` and `max_bytes` are in the configuration.',
  },
  'agent-refused': {
    cause:
      'An agent refused a message of A2A, or Culvert did: it has no such task for this key, or the method is not passed on. The error is one of JSON-RPC, whose `code` is the one of A2A. Its HTTP status is 200, as the SDKs expect; the ledger has 400, or 404 for a task that is not there.',
    remedy: 'Read `message` and `code`, and change the message. Ids of tasks are those that the same key was given.',
  },
  'agent-failed': {
    cause:
      'The agent gave no result: it could not be reached, took too long, or its answer was too large or none of A2A. `message` says which.',
    remedy:
      'Try again, or ask an operator to look at the agent: `GET /a2a` shows its state. Its `timeout` and `max_bytes` are in the configuration.',
  },
  'guard-blocked': {
    cause:
      'A guard of the operator found something in the request or in the answer, or could not read a part of the request. `message` names the guard, and `code` is `guard_blocked`.',
    remedy:
      'Take out what the guard looks for, or leave out the part that it cannot read. [Guards](guards.md) says what each check finds.',
  },
  'guard-unanswered': {
    cause:
      'The service that a guard asks gave no answer in time, and the guard has `on_error: deny`. `message` names the guard.',
    remedy:
      'Try again later. An operator can look at the service, give the guard a longer `deadline`, or set `on_error: allow`.',
  },
  'rule-refused': {
    cause:
      'A rule of the operator refuses the request, with its status and message. `message` names the rule, and nothing was charged.',
    remedy: 'Do what the message says. [Rules for routes](routing-rules.md) says how operators write them.',
  },
  'not-cached': {
    cause: 'The request has `x-culvert-cache: only`, and no answer to an equal request is kept.',
    remedy: 'Leave the header out: then the model answers. [Caching](caching.md) says what is kept.',
  },
  'no-target': {
    cause:
      'No target of the model can be tried right now, for example because every connection was refused within the last second.',
    remedy:
      'Wait for `Retry-After`, which is exact, and send the request again. The operator looks at the health of the providers in the dashboard.',
  },
} satisfies Partial<Record<ErrorTopic, Entry>>;

const pageErrors = {
  url_blocked: {
    cause:
      'The address leads into a private network or to a port or a scheme that the web tools do not open, or the site forbids it.',
    remedy:
      'Use a public http or https address. An operator allows a private network with `fetch.allow_private`, and a port with `fetch.ports`.',
  },
  page_timeout: {
    cause: 'The page did not arrive within the time that the request allows.',
    remedy: 'Send the request again with a larger `timeout`, in milliseconds.',
  },
  page_unreachable: {
    cause: 'The name has no address, the connection failed, or the site answered with an error.',
    remedy: 'Open the address in a browser. If it works there, try again later: the site may refuse this server.',
  },
  page_too_large: {
    cause: 'The page is larger than the web tools read.',
    remedy: 'Ask for a smaller page.',
  },
  page_broken: {
    cause: 'The site broke its answer off, or its answer is not valid HTTP.',
    remedy: 'Send the request again. If it stays, the fault is the site’s.',
  },
  page_unreadable: {
    cause: 'The page arrived whole, and no text can be read from it, for example from a damaged PDF.',
    remedy: 'Ask for another format such as `rawHtml`, or another page. The same request fails again.',
  },
  page_redirects: {
    cause: 'The page redirects too often, or in a circle.',
    remedy: 'Use the address at which the redirects should end.',
  },
} satisfies Record<PageRefusal, Entry>;

const serverErrors = {
  'quota-unavailable': {
    cause:
      'The ledger or the counters cannot be reached or written (database down, disk full), so the request was not run: Culvert runs nothing that it cannot account for. Nothing is charged.',
    remedy:
      'Send the request again after `Retry-After`. The operator checks the disk, the database and Redis: `culvert doctor` names what is wrong.',
  },
  overloaded: {
    cause:
      'A queue or the memory for request bodies is full, or the server has more requests than it can serve ([overload](limits.md#overload)). `message` says whether it is this key’s share or that of the whole server.',
    remedy:
      'Send the request again after `Retry-After`, with fewer in parallel. See [whose turn it is](limits.md#whose-turn-it-is).',
  },
  internal: {
    cause: 'Culvert has a bug, or its machine does something that nobody expected.',
    remedy:
      'Give `request_id` to the operator: the log of the server has an entry with this id. Please report it with that entry.',
  },
} satisfies Partial<Record<ErrorTopic, Entry>>;

const groups: readonly (readonly [title: string, introduction: string, entries: Readonly<Record<string, Entry>>])[] = [
  [
    'The request',
    'The request, the key or the name is wrong. Sending it again unchanged does not help.',
    requestErrors,
  ],
  [
    'Limits',
    'A limit of the plan or of the server is reached. The error has `limit`, `used`, `allowed` and `resets_at`; [limits](limits.md) says what counts.',
    limitErrors,
  ],
  ['Providers', 'A provider refused or failed. [Routing](routing.md) says what Culvert tried before.', providerErrors],
  [
    'Web tools',
    'A page cannot be given. `error.reason` has the name of the entry; [web tools](web-tools.md) says what they read.',
    pageErrors,
  ],
  ['The server', 'Culvert itself cannot serve right now. Nothing is charged.', serverErrors],
] satisfies readonly (readonly [string, string, Readonly<Record<string, Entry>>])[];

/** All of them: with this type, a new topic that no group has does not compile. */
export const errorEntries: Readonly<Record<ErrorTopic, Entry>> = {
  ...requestErrors,
  ...limitErrors,
  ...providerErrors,
  ...pageErrors,
  ...serverErrors,
};

/** HTTP status of a topic; null: the provider's own. */
function statusOfTopic(topic: string): number | null {
  if (topic === 'upstream-refused' || topic === 'context-length-exceeded') return null;
  if (topic.startsWith('limit-')) return failureStatus['quota-exceeded'];
  if (topic === 'answer-broken-off') return failureStatus['upstreams-failed'];
  return topic in pageRefusalStatus
    ? pageRefusalStatus[topic as PageRefusal]
    : failureStatus[topic as Exclude<FailureKind, 'page-refused'>];
}

/** docs/errors.md, made from the entries. */
export function errorsReference(): string {
  const parts = [introduction];
  for (const [title, text, entries] of groups) {
    parts.push(`## ${title}`, wrapped(text));
    for (const [topic, { cause, remedy }] of Object.entries(entries)) {
      const status = statusOfTopic(topic);
      const head = status === null ? 'the status of the provider' : `${status} · \`${errorTypeOf(status)}\``;
      parts.push(`### ${topic}`, head, wrapped(`**Cause.** ${cause}`), wrapped(`**Remedy.** ${remedy}`));
    }
  }
  return `${parts.join('\n\n')}\n`;
}

/** In lines of at most 120 characters. */
function wrapped(paragraph: string): string {
  return paragraph.replace(/(.{1,120})(?: |$)/g, '$1\n').trimEnd();
}

const introduction = `# Errors

<!-- Generated from scripts/docs/error-reference.ts by scripts/write-errors-docs.mjs; do not edit. -->

Every error that Culvert answers has an entry here, with its cause and its remedy. The error body links to its entry:

\`\`\`json
{"error": {
  "message": "The model 'gpt-9' does not exist. Did you mean 'gpt-5'? Allowed models: gpt-5, gpt-5-mini.",
  "type": "not_found_error", "code": 404, "param": "model", "request_id": "req_…",
  "doc_url": "https://ai.example.org/docs/errors#model-unknown"}}
\`\`\`

| field | meaning |
|---|---|
| \`message\` | what is wrong, for people: it names the field and the fix |
| \`type\` | the class of the error |
| \`code\` | the HTTP status, or the word of a provider for its own refusal. The Responses format has OpenAI's words here |
| \`param\` | the field of the request, or null |
| \`request_id\` | finds the request: \`GET /v1/requests/{id}\`, \`culvert requests show ID\` |
| \`doc_url\` | the entry on this page. It begins with \`server.public_url\`; without that key it is a path on this server |

The Messages format has the same object in \`{"type": "error", "error": …}\`. Google's format has the link as \`google.rpc.Help\`
in \`details\`. A stream that fails ends with the same object in its last event.

The header \`x-should-retry\` says whether the same request may pass later, and \`Retry-After\` says when.`;
