import type { AlertsTriedReply } from '../admin/alerts.ts';
import type { CacheClearedReply, CacheReply } from '../admin/cache.ts';
import type { ProcessRow } from '../admin/cluster.ts';
import { attemptGroups } from '../books/ledger/traffic-queries.ts';
import { objectIn } from '../kernel/json.ts';
import { calls, lists } from './admin-entries.ts';
import type { TopCommand } from './command-table.ts';
import { whole } from './options.ts';
import { type Row, rowTable, shown, shownTime } from './rows.ts';

const keysAndPeople = 'Keys and people:';
const providersAndTools = 'Providers and tools:';
const seeWhatHappens = 'See what happens:';
const keepData = 'Keep data:';

/**
 * Commands over the admin API, by subject. A subject of lists and of single calls is an entry here; one that does more
 * has a file, which is loaded when it is called.
 */
export const adminCommands: Readonly<Record<string, TopCommand>> = {
  keys: {
    group: keysAndPeople,
    description: 'create, list, change, rotate and revoke API keys, whether or not a server runs',
    load: async () => (await import('./commands/people/keys.ts')).keys,
  },
  accounts: {
    group: keysAndPeople,
    description: 'create, list and change accounts, which pay for requests under a plan',
    load: async () => (await import('./commands/people/accounts.ts')).accounts,
  },
  plans: {
    group: keysAndPeople,
    description: 'list, show, set and remove plans: what accounts may use',
    load: async () => (await import('./commands/people/plans.ts')).plans,
  },
  operators: {
    group: keysAndPeople,
    description: 'create, list and remove operators',
    load: async () => (await import('./commands/people/operators.ts')).operators,
  },
  invitations: {
    group: keysAndPeople,
    description: 'invite people by a link that works once, and list and withdraw invitations',
    load: async () => (await import('./commands/people/invitations.ts')).invitations,
  },
  members: {
    group: keysAndPeople,
    description: 'list, change and remove members, who manage only some accounts',
    load: async () => (await import('./commands/people/members.ts')).members,
  },
  dashboard: {
    group: seeWhatHappens,
    description: 'open the dashboard of the running server, logged in',
    load: async () => (await import('./commands/dashboard.ts')).dashboard,
  },
  providers: {
    group: providersAndTools,
    description: 'list, add, test and remove providers while servers run',
    load: async () => (await import('./commands/providers.ts')).providers,
  },
  'mcp-servers': {
    group: providersAndTools,
    description: 'list, add, test and remove MCP servers while servers run',
    load: async () => (await import('./commands/mcp-servers.ts')).mcpServers,
  },
  agents: {
    group: providersAndTools,
    description: 'list, add, test and remove agents that speak A2A while servers run',
    load: async () => (await import('./commands/agents.ts')).agents,
  },
  prompts: {
    group: providersAndTools,
    description: 'list, add, label and remove prompts and their versions',
    load: async () => (await import('./commands/prompts.ts')).prompts,
  },
  guards: {
    group: providersAndTools,
    description: 'list, set and delete guards while servers run',
    load: async () => (await import('./commands/guards.ts')).guards,
  },
  routes: {
    group: providersAndTools,
    description: 'list, set and delete rules for routes while servers run',
    load: async () => (await import('./commands/routes.ts')).routes,
  },
  hooks: {
    group: providersAndTools,
    description: 'write hooks, and try those of the configuration',
    load: async () => (await import('./commands/hooks/hooks.ts')).hooks,
  },
  config: {
    group: 'Start and configure:',
    description: 'export the configuration with what was set up at run time',
    load: async () => (await import('./commands/config.ts')).config,
  },
  alerts: {
    group: seeWhatHappens,
    description: 'list alerts and quota notices, and send a test message to the receivers of alerts',
    example: 'culvert alerts test',
    commands: {
      list: lists<{ kind?: string; limit: number }>({
        description: 'list alerts and quota notices of the last 30 days, newest first, and whether they arrived',
        options: [
          ['--kind <kind>', 'only alerts, quota notices or statements', { choices: ['alerts', 'quota', 'statement'] }],
          ['--limit <rows>', 'how many', { read: whole(1, 100_000), default: 100 }],
        ],
        example: 'culvert alerts list --kind alerts',
        path: '/notices',
        query: ({ kind }) => ({ kind }),
        rowsMax: ({ limit }) => limit,
        columns: [
          ['time', (row) => shownTime(row.created_at)],
          ['receiver', (row) => row.receiver],
          ['state', (row) => String(row.state).replace('_', ' ')],
          ['tries', (row) => row.tries],
          ['subject', (row) => row.subject],
          ['reason', (row) => row.reason],
        ],
        empty: 'No alert or notice was sent in the last 30 days.',
      }),
      test: calls<AlertsTriedReply>({
        description: 'send a test message to every receiver of telemetry.alerts.to',
        example: 'culvert alerts test',
        call: 'POST /alerts/test',
        describe: ({ data }) => data.map(({ name, message }) => `${name}: ${message ?? 'it arrived'}`),
        ok: ({ ok }) => ok,
      }),
    },
  },
  secret: {
    group: keepData,
    description: 'rotate the secret that seals stored credentials',
    load: async () => (await import('./commands/secret.ts')).secret,
  },
  audit: {
    group: seeWhatHappens,
    ...lists<{ actor?: string; action?: string; subject?: string; since?: string; until?: string; limit: number }>({
      description: 'show who changed accounts, keys and plans, newest first',
      options: [
        ['--actor <operator>', 'only what this operator did'],
        ['--action <action>', 'only this action, such as plan.update, or plan for all of them'],
        ['--subject <id>', 'only changes of the entry with this id'],
        ['--since <date>', 'a date or time, or how long ago such as 2h'],
        ['--until <date>', 'a date or time, or how long ago (default: now)'],
        ['--limit <rows>', 'how many', { read: whole(1, 100_000), default: 100 }],
      ],
      example: 'culvert audit --action key --since 7d',
      path: '/audit',
      query: ({ actor, action, subject, since, until }) => ({ actor, action, subject, since, until }),
      rowsMax: ({ limit }) => limit,
      columns: [
        ['time', (entry) => shownTime(entry.at)],
        ['who', (entry) => entry.actor],
        ['action', (entry) => entry.action],
        ['on', (entry) => entry.subject],
        ['change', (entry) => changeOf(objectIn(entry.before), objectIn(entry.after))],
      ],
      empty: 'There is no such change.',
    }),
  },
  usage: {
    group: seeWhatHappens,
    description: 'sum up requests, units, tokens and USD',
    load: async () => (await import('./commands/usage.ts')).usage,
  },
  statements: {
    group: seeWhatHappens,
    description: 'show, export and close monthly statements of accounts',
    load: async () => (await import('./commands/statements.ts')).statements,
  },
  attempts: {
    group: seeWhatHappens,
    ...lists<{ groupBy: string; provider?: string; model?: string; from: string }>({
      description: 'show which providers fail and which are slow: attempts, failures and times',
      options: [
        ['--group-by <group>', 'what the sums are grouped by', { choices: [...attemptGroups], default: 'provider' }],
        ['--provider <name>', 'only attempts at this provider'],
        ['--model <id>', 'only attempts for requests of this model'],
        ['--from <date>', 'a date or time, or how long ago such as 1h', { default: '24h' }],
      ],
      example: 'culvert attempts --group-by target --from 1h',
      path: '/attempts',
      query: ({ groupBy, provider, model, from }) => ({ group_by: groupBy, provider, model, from }),
      rowsMax: 10_000,
      columns: [
        ['of', (row) => row.group],
        ['attempts', (row) => row.attempts],
        ['failed', (row) => row.failed],
        ['retried', (row) => row.retried],
        ['hedges', (row) => row.hedges],
        ['first token p50 ≈ ms', (row) => row.first_token_p50_ms],
        ['p95 ≈', (row) => row.first_token_p95_ms],
        ['total p95 ≈ ms', (row) => row.total_p95_ms],
        ['tokens/s', (row) => row.tokens_per_s],
        ['failures', (row) => failuresOf(row)],
      ],
      empty: 'There were no attempts in this time.',
    }),
  },
  cluster: {
    group: seeWhatHappens,
    ...lists({
      description: 'list replicas and their workers: version, configuration, load, last heartbeat',
      example: 'culvert cluster',
      path: '/cluster',
      rowsMax: 10_000,
      columns: [
        ['host', (row) => row.host],
        ['pid', (row) => row.pid],
        ['worker', (row) => row.worker],
        ['state', (row) => row.state],
        ['version', (row) => differing(row, 'version')],
        ['configuration', (row) => differing(row, 'configuration')],
        ['started', (row) => shownTime(row.started_at)],
        ['requests', (row) => row.requests],
        ['busy %', (row) => (row.busy === null ? null : Math.round(Number(row.busy) * 100))],
        ['turn ms', (row) => row.loop_delay_ms],
        ['MB', (row) => (row.memory_bytes === null ? null : Math.round(Number(row.memory_bytes) / 1_000_000))],
        ['seen', (row) => shownTime(row.seen_at)],
      ],
      empty: 'No server has reported its state.',
    }),
  },
  replay: {
    group: seeWhatHappens,
    description: 'send kept requests to another model, and compare the answers',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  results: {
    group: seeWhatHappens,
    description: 'compare the variants of a model',
    load: async () => (await import('./commands/results.ts')).results,
  },
  bodies: {
    group: seeWhatHappens,
    description: 'keep requests and answers for a while, and search them',
    load: async () => (await import('./commands/bodies.ts')).bodies,
  },
  requests: {
    group: seeWhatHappens,
    description: 'list, explain and export single requests',
    load: async () => (await import('./commands/requests.ts')).requests,
  },
  cache: {
    group: keepData,
    description: 'show and remove cached answers to identical requests',
    example: 'culvert cache clear --model smart',
    commands: {
      stats: lists<{ by: string }>({
        description: 'show how many answers are cached',
        options: [['--by <what>', 'model or scope', { choices: ['model', 'scope'], default: 'model' }]],
        example: 'culvert cache stats --by scope',
        path: '/cache',
        query: ({ by }) => ({ group_by: by }),
        rowsMax: 10_000,
        columns: [
          ['model', ({ model }) => model],
          ['scope', ({ scope }) => scope ?? 'all'],
          ['answers', ({ entries }) => entries],
          ['MB', ({ bytes }) => (Number(bytes) / 1_000_000).toFixed(1)],
          ['oldest', ({ oldest }) => shownTime(oldest)],
        ],
        empty: 'No answer is cached.',
      }),
      days: calls<CacheReply, { model?: string; from: string }>({
        description: "show what providers' own caches read, wrote and saved, by day",
        options: [
          ['--model <name>', 'only requests of this model'],
          ['--from <date>', 'a date or time, or how long ago such as 7d', { default: '30d' }],
        ],
        example: 'culvert cache days --model smart',
        call: 'GET /cache',
        query: ({ model, from }) => ({ model, from, limit: 1 }),
        describe: ({ prompt_cache: days }) =>
          days.length === 0
            ? "No request read or wrote a provider's cache."
            : rowTable(days, [
                ['day', ({ day }) => day],
                ['requests', ({ requests }) => requests],
                ['tokens read', (row) => row.cached_input_tokens],
                ['tokens written', (row) => row.cache_write_tokens],
                ['saved USD', (row) => Number(row.saved_usd).toFixed(4)],
              ]),
      }),
      clear: calls<CacheClearedReply, { key?: string; model?: string; tag?: string }>({
        description: 'remove the answers that meet all options, or all answers',
        options: [
          ['--key <key>', 'only answers to requests of this key, by its id or account/name'],
          ['--model <name>', 'only answers of this model'],
          ['--tag <tag>', 'only answers to requests with this tag'],
        ],
        example: 'culvert cache clear --model smart',
        call: 'DELETE /cache',
        query: ({ key, model, tag }) => ({ key, model, tag }),
        describe: ({ cleared }) => (cleared === 1 ? 'Removed 1 answer.' : `Removed ${cleared} answers.`),
      }),
    },
  },
  vectors: {
    group: keepData,
    description: 'list, export, import, hand over and delete the vector data of tenants',
    load: async () => (await import('./commands/vectors/vectors.ts')).vectors,
  },
};

/** With a mark where it is not that of most processes. */
function differing(row: Row, of: 'version' | 'configuration'): unknown {
  return (row as ProcessRow).differs.includes(of) ? `${row[of]} (differs)` : row[of];
}

const changeCharsMax = 200;

/** Only the differences, each as `field: before → after`. */
function changeOf(was: Row, is: Row): string {
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changed = names.filter((name) => shown(was[name]) !== shown(is[name]));
  const text = changed.map((name) =>
    shown(was[name]) === '' ? `${name}: ${shown(is[name])}` : `${name}: ${shown(was[name])} → ${shown(is[name])}`,
  );
  return text.join(', ').slice(0, changeCharsMax);
}

/** `unreachable 3, rate_limited 1` */
function failuresOf(row: Row): string {
  return Object.entries(objectIn(row.failures))
    .map(([outcome, count]) => `${outcome} ${count}`)
    .join(', ');
}
