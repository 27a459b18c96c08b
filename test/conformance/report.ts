import { beside, held, isTold } from './compare.ts';
import type { Conformance } from './conform.ts';
import type { SharedDialectId } from './formats.ts';
import { isEqual, type Replayed } from './replay-answer.ts';

/** A defect as its signature: what happened, without what only one recording has. */
interface Cause {
  count: number;
  cause: string;
  /** One recording that shows it. */
  example: string;
}

/** The tables for people: by service, then losses, most frequent first. */
export function report(result: Conformance, causesMax: number): string {
  const lines = [...table(result), '', ...totals(result), ''];
  lines.push(...listed('Lost of answers, or refused', answerCauses(result.answers), causesMax));
  lines.push(...listed('Lost beside them, and not told', besideCauses(result.answers), causesMax));
  lines.push(...listed('Requests refused though the service took them', refusals(result), causesMax));
  lines.push(...listed('Fields that did not reach the service as they were', changes(result), causesMax));
  lines.push(...listed('Errors whose words did not arrive', errorCauses(result), causesMax));
  if (result.unreadable.length > 0) lines.push(`${result.unreadable.length} files could not be read.`);
  const elsewhere = Object.values(result.elsewhere).reduce((sum, count) => sum + count, 0);
  lines.push(
    `Left out: ${elsewhere} exchanges of other kinds, ${result.unfinished.length} answers that are cut or empty.`,
  );
  return lines.join('\n');
}

function table({ answers, requests }: Conformance): string[] {
  const services = [...new Set(answers.map(({ service }) => service))].sort();
  const head = ['service', 'answers', 'equal in all', 'usage', 'ledger', 'requests', 'refused'];
  const rows = services.map((service) => {
    const own = [...byRecording(answers.filter((one) => one.service === service)).values()];
    const sent = requests.filter((one) => one.service === service);
    const without = (what: string) =>
      own.filter((one) => one.every((r) => !r.differences.some((d) => d.what === what)));
    return [
      service,
      own.length,
      own.filter((one) => one.every(isEqual)).length,
      without('usage').length,
      without('ledger').length,
      sent.length,
      sent.filter(({ refused }) => refused !== null).length,
    ].map(String);
  });
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]!.length)));
  return [head, ...rows].map((row) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  '),
  );
}

function totals({ answers, requests }: Conformance): string[] {
  const all = [...byRecording(answers).values()];
  const equal = all.filter((one) => one.every(isEqual)).length;
  const usage = all.filter((one) => one.every((r) => !r.differences.some(({ what }) => what === 'usage'))).length;
  const ledger = all.filter((one) => one.every((r) => !r.differences.some(({ what }) => what === 'ledger'))).length;
  const refused = requests.filter((one) => one.refused !== null).length;
  const share = (part: number) => (all.length === 0 ? '–' : `${((100 * part) / all.length).toFixed(2)} %`);
  return [
    `${all.length} recorded answers, each in four formats, whole and streamed: ${equal} (${share(equal)}) arrive with the same text, tools and finish in all eight; ${usage} (${share(usage)}) with the same usage; ${ledger} (${share(ledger)}) stand in the ledger as they were told.`,
    `${requests.length} recorded requests: ${refused} refused.`,
  ];
}

function byRecording(answers: readonly Replayed[]): Map<string, Replayed[]> {
  return Map.groupBy(answers, ({ from }) => from);
}

/** Causes of differences in parts that must be equal. */
export function answerCauses(answers: readonly Replayed[]): Cause[] {
  return byWay(
    answers.flatMap((one) => {
      if (one.alsoDirectly) return [];
      if (one.threw !== null) return [[plainly(one.threw.replace(/^\w+: (\d{3} )?/, '')), one] as const];
      const lost = one.differences.filter(
        ({ what }) => what === 'ledger' || (held as readonly string[]).includes(what),
      );
      return lost.map(({ what, said, heard }) => [`${what} ${change(what, said, heard)}`, one] as const);
    }),
  );
}

/** For parts that a format may lack: the route tells which format lacks it. */
export function besideCauses(answers: readonly Replayed[]): Cause[] {
  return byWay(
    answers.flatMap((one) =>
      one.differences
        .filter(({ what }) => !one.alsoDirectly && (beside as readonly string[]).includes(what))
        .filter(({ what }) => !isTold(what, one.dropped))
        .map(({ what }) => [what, one] as const),
    ),
  );
}

/** One cause of a service is one, however many callers meet it; they stand behind it. */
function byWay(found: readonly (readonly [what: string, one: Replayed])[]): Cause[] {
  const causes = Map.groupBy(found, ([what, one]) => `${one.service} ${short[one.upstream]} ${one.recorded}: ${what}`);
  return [...causes]
    .map(([cause, all]) => {
      const ways = Map.groupBy(all, ([, { caller }]) => short[caller]);
      const callers = [...ways].map(([caller, some]) => {
        const forms = new Set(some.map(([, { form }]) => form));
        return forms.size === 2 ? caller : `${caller} ${[...forms][0]}`;
      });
      return {
        count: new Set(all.map(([, { from }]) => from)).size,
        cause: `${cause}  → ${callers.length === 4 && callers.every((one) => !one.includes(' ')) ? 'all' : callers.join(', ')}`,
        example: all[0]![1].from,
      };
    })
    .sort((a, b) => b.count - a.count);
}

const short: Readonly<Record<SharedDialectId, string>> = {
  'openai-chat': 'chat',
  'openai-responses': 'responses',
  'anthropic-messages': 'messages',
  gemini: 'gemini',
};

function refusals({ requests }: Conformance): Cause[] {
  return counted(
    requests.flatMap(({ service, status, refused, from }) =>
      refused === null ? [] : [[`${service}: ${status} ${plainly(refused)}`, from] as const],
    ),
  );
}

function changes({ requests }: Conformance): Cause[] {
  return counted(
    requests.flatMap(({ service, changed, from }) => changed.map((path) => [`${service}: ${path}`, from] as const)),
  );
}

function errorCauses({ errors }: Conformance): Cause[] {
  return counted(
    errors.flatMap(({ service, caller, said, heard, told, from }) =>
      told ? [] : [[`${service} → ${caller}: ${plainly(said)} | ${plainly(heard)}`, from] as const],
    ),
  );
}

function change(what: string, said: string, heard: string): string {
  if (what === 'finish' || what === 'usage' || what === 'ledger') {
    return what === 'finish' ? `${said} → ${heard}` : `${plainly(said)} → ${plainly(heard)}`;
  }
  if (heard === '' || heard === '[]') return 'gone';
  return said === '' || said === '[]' ? 'added' : 'changed';
}

/** Without ids, numbers and names, so that the same defect counts as one. */
function plainly(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[A-Za-z0-9_-]*\d[A-Za-z0-9_-]{9,}/g, '…')
    .replace(/\d+/g, 'N')
    .slice(0, 220);
}

function counted(found: readonly (readonly [cause: string, from: string])[]): Cause[] {
  const causes = [...Map.groupBy(found, ([cause]) => cause)].map(([cause, all]) => ({
    count: all.length,
    cause,
    example: all[0]![1],
  }));
  return causes.sort((a, b) => b.count - a.count);
}

function listed(title: string, causes: readonly Cause[], causesMax: number): string[] {
  if (causes.length === 0) return [];
  const sum = causes.reduce((total, { count }) => total + count, 0);
  const rows = causes
    .slice(0, causesMax)
    .map(({ count, cause, example }) => `${String(count).padStart(5)}  ${cause}\n         ${example}`);
  const rest = causes.length > causesMax ? [`       and ${causes.length - causesMax} more; --causes=N shows N`] : [];
  return [`${title} (${sum}):`, ...rows, ...rest, ''];
}
