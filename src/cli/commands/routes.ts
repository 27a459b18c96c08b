import type { AgreementReply } from '../../admin/observed/agreement.ts';
import type { SavingsReply, SavingsSums } from '../../admin/observed/savings.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../admin-client.ts';
import { lists, overAdmin } from '../admin-entries.ts';
import type { CommandBody } from '../command-table.ts';
import { pastSpan } from '../instant-option.ts';
import { listOf, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printJson } from '../print.ts';
import type { Progress } from '../progress.ts';
import { originOf, rowTable } from '../rows.ts';
import { removesStored, setStored, showsSettings } from '../stored-settings.ts';

interface SavingsFlags extends AdminFlags, Partial<Record<'account' | 'from' | 'to' | 'judge', string>> {
  limit: number;
}

const routeSavings = overAdmin({
  description: 'what a rule that observes would have saved; with --judge also whether the answers would be as good',
  arguments: [['<name>', 'its name']],
  options: [
    ['--account <id>', 'only requests of this account'],
    ['--from <date>', 'a date or time, or how long ago such as 7d (default: 30d)'],
    ['--to <date>', 'a date or time, or how long ago (default: now)'],
    ['--judge <model>', 'ask kept requests again as the rule would have it; this model compares the answers'],
    ['--limit <requests>', 'how many of them; each costs three calls', { read: whole(1, 1_000), default: 20 }],
  ],
  example: 'culvert routes savings auto --from 7d --judge smart --limit 20',
  work: () => run,
});

/** Goes on call by call: each looks at some of the span. */
async function run(name: string, flags: SavingsFlags, parts: CliParts): Promise<number> {
  const { account, judge, limit } = flags;
  const span = pastSpan(flags);
  return withAdmin(flags, parts, async (admin, progress) => {
    const path = `/routes/${encodeURIComponent(name)}`;
    const savings = await allSavings(admin, `${path}/savings`, { account, ...span });
    const agreement =
      judge === undefined
        ? null
        : await compared(admin, progress, `${path}/agreement`, { account, ...span, judge, limit });
    if (listForm(flags) === 'json') printJson({ ...savings, agreement });
    else print([savingsText(savings), ...(agreement === null ? [] : [agreementText(agreement)])].join('\n\n'));
    return 0;
  });
}

async function allSavings(admin: AdminClient, path: string, query: Record<string, string | undefined>) {
  const call = async (more: object) =>
    (await admin.request('GET', path, { query: { ...query, ...more } })) as SavingsReply;
  let sum = await call({});
  while (sum.next_cursor !== null) {
    sum = joined(sum, await call({ from: sum.from, to: sum.to, cursor: sum.next_cursor }));
  }
  return sum;
}

const counts = ['requests', 'priced', 'same', 'unpriced', 'unanswered', 'was_usd', 'would_usd', 'saved_usd'] as const;

/** Two calls as one. */
function joined(one: SavingsReply, next: SavingsReply): SavingsReply {
  const add = <Sums extends SavingsSums>(a: Sums, b: SavingsSums): Sums => ({
    ...a,
    ...Object.fromEntries(counts.map((name) => [name, Math.round((a[name] + b[name]) * 1e9) / 1e9])),
  });
  const classes = new Map<string | null, SavingsReply['classes'][number]>(one.classes.map((row) => [row.model, row]));
  for (const row of next.classes) {
    const there = classes.get(row.model);
    const would = [...new Set([...(there?.would ?? []), ...row.would])];
    classes.set(row.model, there === undefined ? row : { ...add(there, row), would });
  }
  return {
    ...add(one, next),
    looked_at: one.looked_at + next.looked_at,
    classes: [...classes.values()],
    next_cursor: next.next_cursor,
  };
}

async function compared(
  admin: AdminClient,
  progress: Progress,
  path: string,
  { limit, ...body }: { limit: number; judge: string; account?: string | undefined } & Record<string, unknown>,
): Promise<AgreementReply> {
  const call = async (more: object, left: number) =>
    (await admin.request('POST', path, { body: { ...body, limit: Math.min(50, left), ...more } })) as AgreementReply;
  let sum = await call({}, limit);
  while (sum.next_cursor !== null && sum.requests.length < limit) {
    progress.count(sum.requests.length, 'requests asked again');
    const { from, to, next_cursor: cursor } = sum;
    sum = bothOf(sum, await call({ from, to, cursor }, limit - sum.requests.length));
  }
  progress.end();
  return sum;
}

const verdicts = ['compared', 'better', 'equal', 'worse', 'unclear', 'failed', 'not_kept', 'not_allowed'] as const;

function bothOf(one: AgreementReply, next: AgreementReply): AgreementReply {
  const sums = Object.fromEntries(verdicts.map((name) => [name, one[name] + next[name]]));
  const both = { ...one, ...sums, requests: [...one.requests, ...next.requests], next_cursor: next.next_cursor };
  const classes = new Map(one.classes.map((row) => [row.model, row]));
  for (const row of next.classes) {
    const { compared, better, equal, worse } = classes.get(row.model) ?? { compared: 0, better: 0, equal: 0, worse: 0 };
    classes.set(row.model, {
      ...row,
      compared: row.compared + compared,
      better: row.better + better,
      equal: row.equal + equal,
      worse: row.worse + worse,
    });
  }
  const agreement = both.compared === 0 ? null : (both.equal + both.better) / both.compared;
  return { ...both, agreement, classes: [...classes.values()] };
}

/** Sums by class, and what is left out of them. */
export function savingsText(reply: SavingsReply): string {
  const { rule, requests, saved_usd, was_usd, unpriced, unanswered, classes } = reply;
  if (requests === 0) return `Rule '${rule}' observed no request in this time.`;
  const lines = [
    rowTable(classes, [
      ['class', ({ model }) => model ?? 'none'],
      ['would answer', ({ would }) => (would as readonly string[]).join(', ')],
      ['requests', (row) => row.requests],
      ['USD', (row) => row.was_usd],
      ['would be', (row) => row.would_usd],
      ['saved', (row) => row.saved_usd],
    ]),
    `Rule '${rule}' would have saved $${saved_usd} of $${was_usd}, by the tokens of ${requests} requests.`,
  ];
  if (unpriced > 0) lines.push(`${unpriced} without a price are left out (docs/prices.md).`);
  if (unanswered > 0) lines.push(`${unanswered} that no model answered are left out.`);
  return lines.join('\n');
}

/** Verdicts of the judge, and what it could not compare. */
export function agreementText(sum: AgreementReply): string {
  const { judge, compared, better, equal, worse, agreement, unclear, failed, not_kept, not_allowed } = sum;
  const share = agreement === null ? '' : `: ${Math.round(agreement * 1_000) / 10}% are equal or better`;
  const left = [
    [unclear, 'the judge did not decide'],
    [failed, 'the other model gave no answer'],
    [not_kept, 'without a whole body on this server'],
    [not_allowed, 'of callers with data rules, or who are gone'],
  ] as const;
  return [
    `${compared} compared by '${judge}'${share} (${better} better, ${equal} equal, ${worse} worse).`,
    ...left.filter(([count]) => count > 0).map(([count, why]) => `${count} left out: ${why}.`),
  ].join('\n');
}

export const routes: CommandBody = {
  example: 'culvert routes list',
  commands: {
    list: lists({
      description: 'list rules for routes in the order in which they are tried',
      example: 'culvert routes list',
      path: '/routes',
      rowsMax: 1_000,
      columns: [
        ['rule', ({ name }) => name],
        ['from', originOf],
        ['order', ({ order }) => order],
        ['when', ({ when }) => when ?? 'always'],
        ['effects', ({ effects }) => (effects as string[]).join(', ')],
        ['', ({ enabled }) => (enabled === false ? 'off' : '')],
        ['problem', ({ problem }) => problem],
      ],
      empty: 'There is no rule.',
    }),
    show: showsSettings('/routes', 'a rule', 'culvert routes show night'),
    set: overAdmin({
      description: 'create a rule, or change settings of a stored one; it applies from the next request on',
      arguments: [['<name>', 'records and refusals name it so']],
      options: [
        ['--when <condition>', 'the condition in CEL; none: each request'],
        ['--model <model>', 'the model that answers'],
        ['--targets <targets>', 'targets that may answer', { read: listOf('openai/gpt-6.1-sol,azure') }],
        ['--tag <tag>', 'the tag by which its usage is grouped'],
        ['--refuse <message>', 'refuse the request with this message'],
        ['--order <number>', 'its place; lower ones come first', { read: whole(0, 10_000) }],
        ['--settings <json>', 'settings as in culvert.yaml, in JSON; other options come on top'],
      ],
      example: `culvert routes set long --when 'plan == "free" && tokens > 8000' --model cheap`,
      work: () => setRoute,
    }),
    savings: routeSavings,
    delete: removesStored('Rule', 'delete a stored rule', 'culvert routes delete night'),
  },
};

interface SetFlags extends Partial<Record<'when' | 'model' | 'tag' | 'refuse' | 'settings', string>> {
  targets?: string[];
  order?: number;
}

const storedRules = { path: '/routes', title: 'Rule', example: '{"continue":true,"tag":"night"}' };

function setRoute(name: string, flags: AdminFlags & SetFlags, parts: CliParts): Promise<number> {
  const { when, model, targets, tag, order, refuse: message } = flags;
  const refuse = message === undefined ? undefined : { message };
  return setStored(storedRules, name, flags, parts, { when, model, targets, tag, order, refuse });
}
