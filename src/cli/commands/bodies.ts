import type { BodiesRemovedReply } from '../../admin/bodies.ts';
import type { BodyRuleReply } from '../../admin/entries/body-rules.ts';
import { calls, lists } from '../admin-entries.ts';
import type { CommandBody } from '../command-table.ts';
import { whole } from '../options.ts';
import { shownTime } from '../rows.ts';

export const bodies: CommandBody = {
  example: 'culvert bodies list --text refund',
  commands: {
    list: lists<{ text?: string; account?: string; key?: string; model?: string; from?: string; limit: number }>({
      description: 'list kept requests and answers, or those with a text, newest first',
      options: [
        ['--text <words>', 'only those whose request or answer has these words'],
        ['--account <id>', 'only those of this account'],
        ['--key <key>', 'only those of this key, by its id or account/name'],
        ['--model <name>', 'only those of this model'],
        ['--from <date>', 'a date or time, or how long ago such as 24h'],
        ['--limit <rows>', 'how many', { read: whole(1, 100_000), default: 100 }],
      ],
      example: 'culvert bodies list --text refund --from 24h',
      path: '/bodies',
      query: ({ text, account, key, model, from }) => ({ text, account, key, model, from }),
      rowsMax: ({ limit }) => limit,
      columns: [
        ['time', (row) => shownTime(row.created_at)],
        ['request', (row) => row.request],
        ['key', (row) => row.key_label],
        ['model', (row) => row.model],
        ['status', (row) => row.status],
        ['words', (row) => row.excerpt],
      ],
      empty: 'No request is kept with these words.',
    }),
    rules: lists({
      description: 'list the rules that keep requests and answers',
      example: 'culvert bodies rules',
      path: '/body-rules',
      rowsMax: 10_000,
      columns: [
        ['rule', (rule) => rule.id],
        ['of', (rule) => rule.of],
        ['name', (rule) => rule.label],
        ['until', (rule) => shownTime(rule.until)],
        ['by', (rule) => rule.created_by],
        ['reason', (rule) => rule.reason],
      ],
      empty: 'No requests are being kept.',
    }),
    keep: calls<BodyRuleReply, { until: string; reason?: string }>({
      description: 'keep requests and answers of a key, an account or a model for a while',
      arguments: [
        ['<of>', 'key, account or model'],
        ['<name>', 'id or account/name of the key, id of the account, or name of the model'],
      ],
      options: [
        ['--reason <text>', 'why, for the audit log (required)'],
        ['--until <when>', 'at most 30 days ahead, such as 2h', { default: '1h' }],
      ],
      example: 'culvert bodies keep model smart --until 2h --reason "ticket 7"',
      call: 'POST /body-rules',
      body: ({ reason = '', until }, of, name) => ({ of, name, reason, until }),
      describe: ({ id, label, until }) => `Bodies of ${label} are kept until ${until} (${id}).`,
    }),
    stop: calls<BodyRuleReply>({
      description: 'stop keeping requests and answers under a rule',
      arguments: [['<id>', 'its id, as bodies rules shows it']],
      example: 'culvert bodies stop br_5fKq2hXw81Ls',
      call: 'DELETE /body-rules/{id}',
      describe: ({ label }) => `Bodies of ${label} are no longer kept.`,
    }),
    remove: calls<BodiesRemovedReply, { account?: string; key?: string; model?: string }>({
      description: 'remove kept requests and answers that meet all options, or all of them',
      options: [
        ['--account <id>', 'only those of this account'],
        ['--key <key>', 'only those of this key, by its id or account/name'],
        ['--model <name>', 'only those of this model'],
      ],
      example: 'culvert bodies remove --account dev',
      call: 'DELETE /bodies',
      query: ({ account, key, model }) => ({ account, key, model }),
      describe: ({ removed }) => (removed === 1 ? 'Removed 1 request.' : `Removed ${removed} requests.`),
    }),
  },
};
