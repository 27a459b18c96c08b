import type { GuardTestReply } from '../../admin/guard-tests.ts';
import { type Score, scoreOf, type TriedText } from '../../guards/score.ts';
import { type AdminClient, type AdminFlags, AdminRefused, withAdmin } from '../admin-client.ts';
import { lists, overAdmin } from '../admin-entries.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody, CommandEntry } from '../command-table.ts';
import { listOf } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, print, printExact, printJson } from '../print.ts';
import { originOf, type Row } from '../rows.ts';
import { removesStored, setStored, showsSettings } from '../stored-settings.ts';
import { table } from '../table.ts';
import { readText } from '../whole-file.ts';

const guardTest: CommandEntry = overAdmin({
  description: 'try guards on texts and requests: verdicts, precision and recall',
  arguments: [['[file]', 'lines of {"text", "request" or "answer", "expect": ["email"] or "masked"}']],
  options: [
    ['--guard <names...>', 'guards to try (default: all)'],
    ['--from <time>', 'try the kept bodies of requests since then, such as 7d'],
    ['--show', 'print the texts of lines that were not as expected'],
  ],
  example: 'culvert guards test labelled.jsonl --guard pii no-secrets',
  work: () => testGuards,
});

interface TestFlags extends AdminFlags {
  guard?: string[];
  from?: string;
  show?: boolean;
}

/** A line of the file, by its number. */
interface Line {
  line: number;
  content: Record<string, unknown>;
}

async function testGuards(file: string | undefined, flags: TestFlags, parts: CliParts): Promise<number> {
  if (file === undefined && flags.from === undefined) throw new CommandFailed('Name a file, or --from such as 7d.', 2);
  const lines = file === undefined ? [] : linesOf(file);
  const { results, kept, not_tried } = await withAdmin(flags, parts, (admin) => ask(admin, lines, flags));
  const tried = results.map(({ found, verdict }, at): TriedText => {
    const expected = lines[at]?.content.expect as TriedText['expected'] | undefined;
    return { expected: expected ?? null, found, verdict };
  });
  const score = scoreOf(tried);
  const rows = results.map((result, at) => ({ line: lines[at]?.line ?? null, ...result }));
  if (listForm(flags) === 'json') printJson({ ...score, not_tried, kept, results: rows });
  else {
    printScore(score, rows, kept, flags.show === true ? lines : []);
    if (not_tried.length > 0)
      print(
        `These guards ask a service outside, or read answers alone and got none, so they were not tried: ${not_tried.join(', ')}.`,
      );
  }
  return 0;
}

const batchCases = 500;
const batchChars = 400_000;

/** All lines in calls of bounded size, and then the kept requests. */
async function ask(
  admin: AdminClient,
  lines: readonly Line[],
  { guard, from }: TestFlags,
): Promise<Pick<GuardTestReply, 'not_tried' | 'results' | 'kept'>> {
  const results: GuardTestReply['results'] = [];
  const replies: GuardTestReply[] = [];
  const guards = guard?.flatMap((names) => names.split(','));
  const send = (body: object) =>
    admin.request('POST', '/guards/test', { body: { guards, ...body } }) as Promise<GuardTestReply>;
  for (let at = 0; at < lines.length; ) {
    const batch: Line[] = [];
    let chars = 0;
    while (at < lines.length && batch.length < batchCases) {
      const line = lines[at] as Line;
      const size = JSON.stringify(line.content).length;
      if (batch.length > 0 && chars + size > batchChars) break;
      chars += size;
      batch.push(line);
      at++;
    }
    const cases = batch.map(({ content }) => content);
    const reply = await send({ cases }).catch((error: unknown) => {
      throw ofLine(error, batch);
    });
    results.push(...reply.results);
    replies.push(reply);
  }
  const last = from === undefined ? null : await send({ from });
  if (last !== null) replies.push(last);
  const [first] = replies;
  // What one call has tried is tried.
  const not_tried = first?.not_tried.filter((name) => replies.every((one) => one.not_tried.includes(name))) ?? [];
  return { results: [...results, ...(last?.results ?? [])], kept: last?.kept ?? null, not_tried };
}

/** A refusal of a case, by the line of the file. */
function ofLine(error: unknown, batch: readonly Line[]): unknown {
  const place = error instanceof AdminRefused ? /^cases\[(\d+)\]/.exec(error.param ?? '') : null;
  const line = place === null ? undefined : batch[Number(place[1])]?.line;
  if (line === undefined || !(error instanceof AdminRefused)) return error;
  return new CommandFailed(`Line ${line}: ${error.message}`, 1, { status: error.status, param: error.param });
}

function linesOf(file: string): Line[] {
  return readText(file)
    .split('\n')
    .flatMap((written, at) => (written.trim() === '' ? [] : [{ line: at + 1, content: objectIn(written, at + 1) }]));
}

function objectIn(written: string, line: number): Record<string, unknown> {
  try {
    const read: unknown = JSON.parse(written);
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return { ...read };
  } catch {
    // The sentence below says it.
  }
  throw new CommandFailed(`Line ${line}: expected a JSON object with text, request or answer.`, 2);
}

function printScore(
  { kinds, precision, recall, judged, right, verdicts }: Score,
  rows: readonly (GuardTestReply['results'][number] & { line: number | null })[],
  stored: GuardTestReply['kept'],
  shown: readonly Line[],
): void {
  const share = (value: number | null) => (value === null ? '' : `${(value * 100).toFixed(1)} %`);
  if (kinds.length > 0) {
    const cells = kinds.map((row) => [
      row.kind,
      ...[row.expected, row.found, row.right].map(String),
      share(row.precision),
      share(row.recall),
    ]);
    const all = ['all', '', '', '', share(precision), share(recall)];
    print(table(['kind', 'expected', 'found', 'right', 'precision', 'recall'], [...cells, all]));
  }
  if (judged > 0) print(`${right} of ${judged} lines are as expected.`);
  print(
    `Verdicts: ${
      Object.entries(verdicts)
        .map(([verdict, count]) => `${verdict} ${count}`)
        .join(', ') || 'none'
    }`,
  );
  for (const { line, verdict, missed, extra, right: isRight } of rows) {
    if (line === null || isRight !== false) continue;
    const wrong = [
      ...(missed.length === 0 ? [] : [`missed ${missed.join(', ')}`]),
      ...(extra.length === 0 ? [] : [`not expected ${extra.join(', ')}`]),
    ];
    print(`Line ${line}: ${wrong.length === 0 ? `the verdict is ${verdict}` : wrong.join('; ')}`);
    const found = shown.find((one) => one.line === line)?.content;
    if (found !== undefined)
      printExact(
        `  ${[found.text, found.answer].find((text) => typeof text === 'string') ?? JSON.stringify(found.request)}`,
      );
  }
  if (stored === null) return;
  print(
    `${stored.tried} of ${stored.requests} requests in that time could be tried.${stored.note === null ? '' : ` ${stored.note}`}`,
  );
}

export const guards: CommandBody = {
  example: 'culvert guards list',
  commands: {
    list: lists({
      description: 'list guards with their origin and what names them',
      example: 'culvert guards list',
      path: '/guards',
      rowsMax: 1_000,
      columns: [
        ['guard', ({ name }) => name],
        ['from', originOf],
        ['check', ({ check }) => check],
        ['action', ({ action }) => action],
        ['mode', ({ mode }) => mode],
        ['used by', usersOf],
        ['problem', ({ problem }) => problem],
      ],
      empty: 'There is no guard.',
    }),
    show: showsSettings('/guards', 'a guard', 'culvert guards show pii'),
    set: overAdmin({
      description: 'create a guard, or change settings of a stored one; it applies from the next request on',
      arguments: [['<name>', 'models, plans, accounts and keys name it so']],
      options: [
        ['--check <check>', 'what it looks for, such as personal-data, secrets, patterns or words'],
        ['--action <action>', 'block, mask, flag or route'],
        ['--kinds <kinds>', 'kinds of personal data or secrets', { read: listOf('email,card') }],
        ['--pattern <pattern...>', 'a regular expression; may come several times'],
        ['--words <words>', 'words and phrases', { read: listOf('Project Falcon,Project Owl') }],
        ['--route-to <model>', 'the model that `route` asks'],
        ['--on <directions>', 'input, output or both', { read: listOf('input,output') }],
        ['--mode <mode>', 'enforce or observe'],
        ['--on-error <what>', 'deny or allow requests of which it cannot read a part'],
        ['--settings <json>', 'settings as in culvert.yaml, in JSON; other options come on top'],
      ],
      example: 'culvert guards set pii --check personal-data --kinds email,card --action mask',
      work: () => setGuard,
    }),
    test: guardTest,
    delete: removesStored('Guard', 'delete a stored guard that nothing names', 'culvert guards delete pii'),
  },
};

type SetFlags = Partial<
  Record<'check' | 'action' | 'routeTo' | 'mode' | 'onError' | 'settings', string> &
    Record<'kinds' | 'pattern' | 'words' | 'on', string[]>
>;

const storedGuards = { path: '/guards', title: 'Guard', example: '{"check":"secrets","action":"block"}' };

function setGuard(name: string, flags: AdminFlags & SetFlags, parts: CliParts): Promise<number> {
  const { check, action, kinds, pattern: patterns, words, routeTo: route_to, on, mode, onError: on_error } = flags;
  const given = { check, action, kinds, patterns, words, route_to, on, mode, on_error };
  return setStored(storedGuards, name, flags, parts, given);
}

function usersOf({ used_by }: Row): string {
  const { server, ...named } = used_by as { server: boolean } & Record<string, string[]>;
  const all = Object.values(named).flat();
  return [...(server ? ['all requests'] : []), ...all.slice(0, 5), ...(all.length > 5 ? ['…'] : [])].join(', ');
}
